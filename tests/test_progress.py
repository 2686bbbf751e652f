"""What is said of a training under way: of what so many steps are, how long it takes, and how long is left."""

import re
from types import SimpleNamespace

import pytest
from torch import nn

import lab
from lab import engine, progress
from lab.jobs.job import in_words
from lab.papers.simplicity.settings import of_table
from lab.papers.transformers.settings import setting
from lab.progress import Progress
from lab.spec import needs
from lab.store import Store
from lab.tasks import Operation
from tests.training import own

RUNS = [setting("memorize", "smoke").runs(3), setting("addmod", "smoke").runs(2)]
SEARCHES = [setting(task, "smoke").search(("mlp",)) for task in ("memorize", "addmod")]
EPISODES = of_table(Operation("a+b", modulus=5), "smoke").search("shared", 0, "episodes")
WORDS = {
    "memorize: 1 run": RUNS[0][:1],
    "memorize: 3 runs": RUNS[0],
    "5 runs": RUNS[0] + RUNS[1],
    f"memorize: 1 search of {SEARCHES[0].models} models": SEARCHES[:1],
    f"2 searches of {SEARCHES[0].models} models each": SEARCHES,
    f"memorize: 1 search of {SEARCHES[0].models} models and 3 runs": [SEARCHES[0], *RUNS[0]],
    "a+b mod 5: 1 search by episodes": [EPISODES],
}


@pytest.mark.parametrize("words", WORDS)
def test_what_is_trained_is_said_in_words(words):
    assert in_words(WORDS[words]) == words


def test_steps_are_those_of_what_is_named(store_folder, monkeypatch):
    """Three runs that are trained one after the other are three runs, and their steps are counted together."""
    monkeypatch.setattr("lab.jobs.trainers.fleet_size", lambda *given: 1)
    said = []
    learned = setting("memorize", "smoke").runs(1, SEARCHES[0])
    engine.complete([*RUNS[0], *learned], Store(), "cpu", 1, lambda *told: said.append(told))
    search = needs(learned[0])[0]
    whole = sum(spec.recipe.last for spec in (*RUNS[0], *learned)) + search.recipe.last * search.models
    assert {total for _, total, _ in said} == {whole} and said[-1][0] == whole
    assert {what for _, _, what in said} == {f"memorize: 1 search of {search.models} models and 4 runs"}
    assert [done for done, _, _ in said] == sorted(done for done, _, _ in said)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "LONG", 15.0)  # tests/conftest.py has another
    monkeypatch.setattr(progress.time, "monotonic", lambda: made.now)
    return made


def lines(clock, capsys, seconds, before=0, **given):
    """What is printed during a training of 1,000 steps at an even pace, `before` of which were done: (second, line)."""
    said, start = [], clock.now
    with Progress(**given) as report:
        for step in range(before, 1001):
            clock.now = start + seconds * (step - before) / (1000 - before)
            report(step, 1000, "memorize: 6 runs")
            said += [(clock.now - start, line) for line in capsys.readouterr().err.splitlines()]
    return said


@pytest.mark.parametrize(("seconds", "words"), [(40, "40 seconds"), (240, "4 minutes"), (36_000, "10 hours")])
@pytest.mark.parametrize("before", [0, 600])
def test_a_long_training_says_first_how_long_it_takes(clock, capsys, seconds, words, before):
    (at, first), *others = lines(clock, capsys, seconds, before)
    assert at <= max(6, 2.5 * seconds / 400) and first == f"memorize: 6 runs: 1,000 steps, about {words} here"
    assert len(others) == seconds // 60 or seconds > 10_000
    for _, line in others:
        assert re.fullmatch(r"memorize: 6 runs: [\d,]+ of 1,000 steps(, about .+ left)?", line)
    if seconds == 240:
        assert others[0][1].endswith("about 3 minutes left")


@pytest.mark.parametrize("slow", [1, 2, 3])
def test_a_machine_that_is_busy_at_first_is_waited_for(clock, capsys, slow):
    """A tenth of the pace for some seconds, or while one process of several has started; then 4 minutes."""
    start, said, done = clock.now, "", 0.0
    with Progress() as report:
        while not said:
            clock.now += 0.25
            done += 0.25 * 1000 / 240 / (10 if clock.now - start < slow else 1)
            report(int(done), 1000, "memorize: 6 runs")
            said = capsys.readouterr().err
    assert clock.now - start <= 15 and float(re.search(r"about (\d+) minutes here", said)[1]) <= 6


@pytest.mark.parametrize(("seconds", "given"), [(10, {}), (55, {"announce": False})])
def test_a_short_training_and_one_that_was_announced_say_nothing(clock, capsys, seconds, given):
    assert lines(clock, capsys, seconds, **given) == []


PAIRS = [(a, b) for a in range(9) for b in range(9)]
SUMS = lab.Task.from_pairs([f"{a}+{b}" for a, b in PAIRS], [str(a + b) for a, b in PAIRS], "sums")
LONG = {
    "train": lambda: lab.train(SUMS, seeds=2, scale="smoke"),
    "search": lambda: lab.search(SUMS, scale="smoke"),
    "table": lambda: lab.search("ab mod 5", scale="smoke", by="two_loss"),
    "compare": lambda: lab.compare(own.signs(), own.mlp, nn.GELU, {"GELU": None}, seeds=2, steps=6),
    "model": lambda: lab.search(own.signs(), model=own.mlp, replace=nn.GELU, models=2, steps=6),
}


@pytest.mark.parametrize("name", LONG)
def test_every_call_that_trains_says_how_long_it_takes(name, store_folder, monkeypatch, capsys):
    monkeypatch.setattr(progress, "LONG", 0.0)
    monkeypatch.setattr(progress, "MEASURED", 0.0)
    LONG[name]()
    assert re.search(r"(runs|search of \d models): [\d,]+ steps, about \d+ seconds? here", capsys.readouterr().err)
