"""The shell of the explorers: errors show, the lock holds, stale work is dropped, gradients are off."""

import threading
import time

import ipywidgets as widgets
import torch

from lab.errors import LabError
from lab.widgets.explorer import Explorer


def explorer_of(redraw, control):
    shell = Explorer()
    shell.arrange([control])
    shell.watch(redraw, control)
    return shell


def test_an_error_shows_until_the_next_success():
    slider = widgets.IntSlider()

    def redraw():
        if slider.value == 1:
            raise LabError("no <such> thing; try another")
        if slider.value == 2:
            return 1 / 0

    shell = explorer_of(redraw, slider)
    slider.value = 1
    assert "no &lt;such&gt; thing; try another" in shell.error.value and "details" not in shell.error.value
    slider.value = 2
    assert "ZeroDivisionError" in shell.error.value and "test_explorer.py" in shell.error.value  # the lab's own mistake
    slider.value = 3
    assert shell.error.value == ""
    assert shell.error in shell.children


def test_an_error_of_a_button_shows():
    button = widgets.Button()
    shell = Explorer()
    shell.press(lambda: {}["key"], button)
    button.click()
    assert "KeyError" in shell.error.value


def test_an_error_shows_next_to_the_control_that_caused_it():
    shell, buttons = Explorer(), [widgets.Button() for _ in range(3)]
    plot = widgets.Output()
    shell.arrange([buttons[0]], plot, widgets.VBox([widgets.HBox([buttons[1]])]), [buttons[2]])
    for number, button in enumerate(buttons):
        shell.press(lambda number=number: {}[number], button)
    for number, row in enumerate((0, 2, 3)):
        buttons[number].click()
        shown = sorted(shell.children, key=lambda part: int(part.layout.order or 0))
        assert (
            shown.index(shell.error) == shown.index(shell.children[row]) + 1
            and f"KeyError: {number}" in shell.error.value
        )
        assert [part for part in shown if part is not shell.error] == [
            p for p in shell.children if p is not shell.error
        ]


def test_an_error_in_what_one_control_sets_off_is_not_cleared_by_the_other():
    first, second = widgets.IntSlider(), widgets.IntSlider()
    shell = Explorer()

    def follow():
        second.value = first.value

    shell.watch(follow, first)
    shell.watch(lambda: 1 / 0, second)
    first.value = 1
    assert "ZeroDivisionError" in shell.error.value


def test_controls_that_are_set_quietly_draw_nothing_and_hide_no_move_of_a_person():
    slider, drawn = widgets.IntSlider(), []
    shell = explorer_of(lambda: drawn.append(slider.value), slider)
    with shell.quietly():
        slider.value = 1
        thread = threading.Thread(target=setattr, args=(slider, "value", 2))  # a person, meanwhile
        thread.start()
        time.sleep(0.1)
        assert drawn == []
    thread.join(10)
    assert drawn == [2]
    slider.value = 3
    assert drawn == [2, 3]


def test_gradients_are_off_on_whatever_thread():
    slider, modes = widgets.IntSlider(), []
    explorer_of(lambda: modes.append(torch.is_grad_enabled()), slider)
    thread = threading.Thread(target=setattr, args=(slider, "value", 1))
    thread.start()
    thread.join()
    assert modes == [False]
    assert torch.is_grad_enabled()


def test_of_changes_that_wait_only_the_newest_is_drawn():
    slider, drawn, drawing, go_on = widgets.IntSlider(), [], threading.Event(), threading.Event()

    def redraw():
        drawn.append(slider.value)
        drawing.set()
        assert go_on.wait(10)

    explorer_of(redraw, slider)
    threads = []
    for value in (1, 2, 3, 4):
        threads.append(threading.Thread(target=setattr, args=(slider, "value", value)))
        threads[-1].start()
        assert drawing.wait(10)  # the first one is being drawn; the others wait for it
        end = time.monotonic() + 10
        while slider.value != value and time.monotonic() < end:
            time.sleep(0.01)
    time.sleep(0.1)  # until the last has reached the lock
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert drawn == [1, 4]
