"""Claims on tables with a planted answer: the paper is right, the paper is wrong, nobody can know."""

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.registry import entries, entry
from lab.papers import claims
from lab.papers.claims import FAILS, HOLDS, UNDECIDED, Claim, Verdict, all_of, any_of, mean, per_seed, ratio, speed_up
from lab.papers.simplicity.shortcut.claims import steering
from lab.papers.transformers.compatibility import matrix
from tests.papers.hypernetwork import planted as planted_hypernetwork
from tests.papers.simplicity import planted as planted_simplicity
from tests.papers.transformers import planted as planted_transformers

PLANTED = planted_transformers.PLANTED | planted_hypernetwork.PLANTED | planted_simplicity.PLANTED
CASES = [pytest.param(name, claim, id=f"{name}: {claim.says}") for name in PLANTED for claim in entry(name).claims]
COUNTED = ("hypernetwork/figA9", "hypernetwork/tableA2")


def test_every_claim_of_the_catalogue_has_planted_tables():
    assert {name for name, found in entries().items() if found.claims} == set(PLANTED)
    says = [claim.says for found in entries().values() for claim in found.claims]
    assert all(text[0].isupper() and not text.endswith(".") and len(text) < 90 for text in says)


@pytest.mark.parametrize(("name", "claim"), CASES)
def test_a_claim_holds_where_the_paper_is_right_and_fails_where_it_is_wrong(name, claim):
    before = PLANTED[name](True)
    table = before.copy()
    found = claim.measure(table)
    assert found.word == HOLDS, found
    assert table.equals(before), "measuring changes nothing"
    found = claim.measure(PLANTED[name](False))
    if "by chance" in claim.says:  # of 8 tasks, a third of all draws by chance has none on the diagonal
        assert found.word == UNDECIDED and found.effect == 0, found
    else:
        assert found.word == FAILS, found


@pytest.mark.parametrize(("name", "claim"), [case for case in CASES if case.values[0] not in COUNTED])
def test_nothing_is_decided_where_no_run_has_a_number(name, claim):
    table = PLANTED[name](True)
    for column in ("accuracy", "value", "similarity", "accuracy_ood"):
        if column in table:
            table[column] = np.nan
    table[[column for column in table if column.startswith("r2")]] = np.nan
    if "diverged" in table:
        table["diverged"] = True
    if name == "transformers/fig5" and "chance" in claim.says:
        assert claim.measure(table).word != HOLDS  # no column has a best
    else:
        assert claim.measure(table).word == UNDECIDED


OVER_SEEDS = ("transformers/fig3", "hypernetwork/fig2c", "hypernetwork/fig5f")


@pytest.mark.parametrize(("name", "claim"), [case for case in CASES if case.values[0] in OVER_SEEDS])
def test_one_seed_decides_nothing(name, claim):
    table = PLANTED[name](True)
    found = claim.measure(table[table["seed"] == 0])
    assert (found.word, found.n) == (UNDECIDED, 1) and np.isnan(found.low)


# The statistics.


def test_an_effect_that_is_not_there_holds_once_in_forty():
    """Student's t is exact for normal values: of 2,000 samples of three, 2.5 % lie wholly above the truth."""
    samples = np.random.default_rng(0).normal(size=(2000, 3))
    words = [mean(sample, above=0.0).word for sample in samples]
    assert abs(words.count(HOLDS) / 2000 - 0.025) < 0.012  # 3.4 standard errors
    assert abs(words.count(FAILS) / 2000 - 0.025) < 0.012


def test_of_many_cases_without_effect_hardly_one_is_found():
    """Bonferroni: at most 2.5 % of 500 times, where one case alone at 95 % would be found in a fifth of them."""
    rng = np.random.default_rng(1)
    found = [any_of({str(i): rng.normal(size=4) for i in range(8)}, above=0.0).word for _ in range(500)]
    assert found.count(HOLDS) / 500 < 0.025 + 0.02


def test_the_verdict_is_where_the_interval_lies():
    def word(low, high, **claimed):
        return Verdict((low + high) / 2, low, high, 5, "seeds", **claimed).word

    assert word(0.1, 2, above=0.0) == HOLDS and word(-2, -0.1, above=0.0) == FAILS
    assert word(-0.1, 2, above=0.0) == UNDECIDED
    assert word(0, 0, above=0.0) == FAILS, "no effect at all is not above nothing"
    assert word(-2, -0.1, below=0.0) == HOLDS and word(0.1, 2, below=0.0) == FAILS
    assert word(0.6, 1.9, above=0.5, below=2.0) == HOLDS and word(0.6, 2.1, above=0.5, below=2.0) == UNDECIDED
    assert word(2.0, 9.0, above=0.5, below=2.0) == FAILS
    assert word(np.nan, np.nan, above=0.0) == UNDECIDED


def test_several_cases():
    yes, no, open_ = ([5.0, 5.1, 5.2], [-5.0, -5.1, -5.2], [-9.0, 0.0, 10.0])

    def both(*cases):
        return all_of(mean(case, above=0.0) for case in cases).word

    assert (both(yes, yes), both(yes, open_), both(open_, no), both(no, yes)) == (HOLDS, UNDECIDED, FAILS, FAILS)

    def some(*cases):
        return any_of({str(i): case for i, case in enumerate(cases)}, above=0.0).word

    assert (some(yes, no), some(no, open_), some(no, no)) == (HOLDS, UNDECIDED, FAILS)
    assert both() == some() == UNDECIDED


def test_a_ratio_is_the_same_both_ways():
    values = np.log([1.5, 2.0, 2.5])
    there, back = ratio(values), ratio(-values)
    np.testing.assert_allclose([there.effect, there.low, there.high], [1 / back.effect, 1 / back.high, 1 / back.low])


def test_where_neither_generalizes_nothing_is_decided():
    """At one of the amounts of data no run gets there: that is no proof that both are as slow."""
    table, (claim,) = planted_simplicity.arrivals(True), entry("simplicity/fig13").claims
    table.loc[table["fraction"] == 0.4, "step"] = np.nan
    found = claim.measure(table)
    assert (found.word, found.n, found.case) == (UNDECIDED, 0, "40 %, width 256: none reaches 95 %")


def test_a_speed_up_is_the_ratio_of_slopes():
    def line(full, seeds=3):
        return pd.DataFrame([(s, step, min(step / (full * (1 + s)), 1)) for s in range(seeds)
                             for step in range(10, 1001, 10)], columns=["seed", "step", "accuracy"])  # fmt: skip

    found = speed_up(line(300), line(97))
    assert found.effect == pytest.approx(300 / 97) and found.n == 3
    never = line(300).assign(accuracy=0.1)
    assert speed_up(never, line(100, 1)).effect == pytest.approx(20), "step 1000 at least, against 50"
    assert speed_up(never, never).word == UNDECIDED and "none reaches 50 %" in speed_up(never, never).case
    lost = line(300).assign(diverged=True, accuracy=0.1)
    assert speed_up(line(300), lost).n == 0, "a run that diverged first says nothing"


def test_a_diverged_run_is_left_out_whole():
    table = pd.DataFrame({"seed": [0, 0, 1, 1], "method": "a", "accuracy": [0.5, np.nan, 0.2, 0.4],
                          "diverged": [True, True, False, False]})  # fmt: skip
    assert per_seed(table, "method")["a"].round(9).tolist()[-1] == 30.0
    assert mean(per_seed(table, "method")["a"]).n == 1


def test_stopping_early_for_a_tile_is_not_steering():
    """Three runs alike, whose easy tile is best halfway, and the hard one at the end."""
    course = {0: (0.1, 0.1), 10: (0.5, 0.2), 20: (0.4, 0.4)}
    methods = ("ReLU", "learned for easy", "learned for hard")
    rows = [(True, method, seed, step, *pair, *pair, False) for method in methods for seed in range(3)
            for step, pair in course.items()]  # fmt: skip
    names = ["spectral", "method", "seed", "step", "easy", "hard", "val_easy", "val_hard", "diverged"]
    assert steering(pd.DataFrame(rows, columns=names)).tolist() == [0.0, 0.0, 0.0]


def test_the_claims_of_an_entry_are_values():
    claim = Claim("x", lambda table: claims.exact(1.0, 1, above=0.0))
    assert claim.measure(pd.DataFrame()).word == HOLDS
    with pytest.raises(AttributeError):
        claim.says = "y"


def test_the_papers_own_matrix_agrees_with_its_claims():
    """The gains that the paper prints, taken as runs without noise, put half of the best on the diagonal."""
    rows = [("MLP", t, a, s, 100, 0.5 + (matrix.PAPER.loc[a, t] / 100 if a != "baseline" else 0))
            for t in matrix.PAPER for a in ("baseline", *matrix.PAPER.index) for s in range(3)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["part", "task", "architecture", "seed", "step", "accuracy"])
    chance, own, transfer = (claim.measure(table) for claim in entry("transformers/fig5").claims)
    assert chance.effect == 50.0 and chance.word == HOLDS
    assert own.effect > 0 and transfer.word == HOLDS
