"""Problems of SRAVEN as symbols: what is drawn is what the task says, and its symbols can be read back."""

import re
from math import atan2, pi
from xml.etree import ElementTree

import pytest
import torch

from lab.plots.tasks import RADIUS, dial, draw_matrix, letters, rule_words
from lab.tasks import Sraven
from lab.tasks.sraven import RULES

SVG = "{http://www.w3.org/2000/svg}"


def problems(features=4, values=8, permute=True):
    task = Sraven(features=features, values=values, permute=permute)
    return task.sample("test", 30, torch.Generator().manual_seed(0), seed=0)


def turned(svg, values):
    """The values that the dials of a drawing show, from the angles of their sectors alone, in the order of drawing."""
    found = []
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        x, y, top, *_, right, low = map(float, re.findall(r"-?\d+(?:\.\d+)?", path.get("d")))
        assert y - top == RADIUS
        found.append(round(atan2(right - x, y - low) / (2 * pi) * values) % values)
    return found


def words(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(("features", "values"), [(1, 3), (2, 8), (4, 8), (3, 16)])
def test_dials_and_numbers_show_the_panels_row_by_row_and_no_answer(features, values):
    found = problems(features, values)
    for i in range(10):
        drawn, shown = draw_matrix(found, i, values), found.latents["panels"][i].flatten(0, 1)[:-1].flatten().tolist()
        assert turned(drawn, values) == shown
        assert words(drawn) == [*map(str, shown), *["?"] * features]


def test_an_answer_is_judged_place_by_place():
    found = problems()
    right = found.targets[0].tolist()
    given = [right[0], (right[1] + 1) % 8, None, right[3]]
    drawn = draw_matrix(found, 0, 8, answer=given, judged=True)
    assert turned(drawn, 8)[-3:] == [value for value in given if value is not None]
    assert words(drawn)[-7:] == [str(right[0]), "✓", str(given[1]), f"✗ {right[1]}", "?", str(right[3]), "✓"]
    assert "✓" not in draw_matrix(found, 0, 8, answer=right)


def test_places_of_one_letter_follow_one_rule():
    found = problems()
    for i in range(30):
        panels, names = found.latents["panels"][i], letters(found, i)
        assert all(sorted(column) == list("ABCD") for column in names)
        for place, said in enumerate(rule_words(found, i)):
            letter = "ABCD"[place]
            rows = panels[:, torch.arange(3), [column.index(letter) for column in names]].tolist()
            assert said == f"{letter}: {RULES[found.latents['answer_rules'][i, place]]}, " + "; ".join(
                " ".join(map(str, row)) for row in rows
            )
    drawn = words(draw_matrix(found, 0, 8, solved=True))
    assert [text for text in drawn if text in "ABCD"] == [
        name for _ in range(3) for column in letters(found, 0) for name in column
    ]


def test_without_permutations_a_feature_has_its_letter_everywhere():
    assert letters(problems(permute=False), 0) == [list("ABCD")] * 3


def test_one_symbol_alone():
    assert [turned(dial(value, 8), 8) for value in range(8)] == [[value] for value in range(8)]
    assert words(dial(5, 8)) == ["5"] and words(dial(None, 8)) == ["?"]
