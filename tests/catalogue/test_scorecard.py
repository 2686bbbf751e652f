"""The scorecard: rows of what is here and of what is not, as text, as JSON, as a table."""

import json
from math import isnan

import numpy as np
import pandas as pd
import pytest

import lab as package
from lab.catalogue import scorecard
from lab.catalogue.registry import entries, entry
from lab.catalogue.scorecard import as_markdown
from lab.errors import ArgumentError, LabError
from lab.gallery.pages import TEMPLATES
from lab.papers.claims import ABSENT, FAILS, HOLDS, NOT_HERE, ON_STAND_IN, OPEN, UNDECIDED, WORDS, agreement, spearman
from lab.papers.compatibility import delta
from lab.papers.hypernetwork.logic import PAPER
from lab.papers.transformers import matrix
from lab.places import RESULTS
from tests.papers.activations.planted import scores
from tests.papers.hypernetwork.planted import fractions, logic
from tests.papers.simplicity.planted import sines
from tests.papers.tables import matrix as runs
from tests.papers.test_claims import PLANTED
from tests.papers.transformers import planted as planted_transformers
from tests.papers.transformers.planted import curves
from tests.processes import ROOT

CLAIMS = sum(len(found.claims) for found in entries().values())
PRINTED = [name for name, found in entries().items() if found.printed]


def placed(folder, scale="laptop", **tables):
    """Tables where `lab figure` writes them; "_" in the names of entries stands for "/"."""
    for name, table in tables.items():
        place = folder / name.replace("_", "/") / scale
        place.mkdir(parents=True)
        table.to_csv(place / "table.csv", index=False)
    return folder


def verdicts(found, name):
    return [row["verdict"] for row in found["claims"] if row["entry"] == name]


def test_where_nothing_is_trained_nothing_is_measured(tmp_path):
    found = scorecard.score(results=tmp_path)
    assert [row["verdict"] for row in found["claims"]] == [ABSENT] * CLAIMS
    assert {row["reason"] for row in found["claims"]} == {"no results of this scale are here"}
    assert len({row["id"] for row in found["claims"]}) == CLAIMS
    assert [row["entry"] for row in found["numbers"]] == PRINTED
    assert not any(row["measured"] or row["cells"] for row in found["numbers"])
    none = ", ".join(f"{word} 0" for word in WORDS[:-1])
    assert f"{CLAIMS} claims: {none}, {ABSENT} {CLAIMS}." in " ".join(scorecard.as_text(found).split())


def test_a_claim_of_all_tasks_is_not_read_from_results_of_some(tmp_path):
    """The larger scale is read where it is the only one, or has all tasks."""
    placed(tmp_path, "paper", transformers_fig2=curves(False))
    facts = tmp_path / "transformers/fig2/paper/provenance.json"

    def scales():
        found = scorecard.score(results=tmp_path)["claims"]
        return {row["scale"] for row in found if row["entry"] == "transformers/fig2"}

    facts.write_text(json.dumps({"tasks": ["add"], "tables": {}}))
    assert scales() == {"paper"}
    placed(tmp_path, transformers_fig2=curves(True))
    assert scales() == {"laptop"}
    facts.write_text(json.dumps({"tables": {}}))
    assert scales() == {"paper"}
    facts.write_text("{")
    with pytest.raises(LabError, match="cannot be read"):
        scorecard.score(results=tmp_path)


def test_what_is_here_is_scored_and_the_rest_is_not(tmp_path):
    placed(tmp_path, transformers_fig2=curves(True), hypernetwork_tableA2=fractions(False))
    placed(tmp_path, "smoke", transformers_fig10=curves(True))
    found = scorecard.score(results=tmp_path)
    assert verdicts(found, "transformers/fig2") == [HOLDS] * 5
    assert verdicts(found, "hypernetwork/tableA2") == [FAILS, FAILS, FAILS]
    assert set(verdicts(found, "transformers/fig10")) == {ABSENT}, "numbers of smoke runs mean nothing"
    assert sum(row["verdict"] != ABSENT for row in found["claims"]) == 8
    assert set(verdicts(scorecard.score("smoke", tmp_path), "transformers/fig10")) != {ABSENT}


def test_the_papers_scale_goes_first(tmp_path):
    placed(tmp_path, transformers_fig2=curves(True))
    placed(tmp_path, "paper", transformers_fig2=curves(False))
    for scale, word in ((None, FAILS), ("paper", FAILS), ("laptop", HOLDS)):
        rows = [row for row in scorecard.score(scale, tmp_path)["claims"] if row["entry"] == "transformers/fig2"]
        assert [row["verdict"] for row in rows] == [word] * 5
        assert {row["scale"] for row in rows} == {scale or "paper"}


def test_json_says_what_the_rows_say(tmp_path):
    one, many = curves(True).query("seed == 0"), PLANTED["transformers/fig5"](True)
    placed(tmp_path, transformers_fig2=one, transformers_fig5=many)
    found = scorecard.score(results=tmp_path)
    again = json.loads(scorecard.as_json(found), parse_constant=pytest.fail)  # no NaN, no Infinity
    for kind, rows in found.items():
        assert len(again[kind]) == len(rows)
        for row, told in zip(rows, again[kind], strict=True):
            assert list(told) == list(row)
            for name, value in row.items():
                open_ = isinstance(value, float) and not np.isfinite(value)
                assert told[name] is None if open_ else told[name] == value
    one_seed = next(row for row in again["claims"] if row["entry"] == "transformers/fig2")
    assert one_seed["verdict"] == UNDECIDED and one_seed["low"] is None and one_seed["effect"] > 2


def test_what_would_decide_a_claim_is_said_of_open_ones_alone(tmp_path):
    found = scorecard.score(results=placed(tmp_path, transformers_fig2=curves(True)))
    for row in found["claims"]:
        open_ = row["verdict"] in OPEN
        assert open_ or not row["decides"] and isnan(row["hours"])
        assert bool(row["reason"]) == (row["verdict"] == ABSENT)
        assert row["decides"] or isnan(row["hours"]), "hours are of something"
    fast = scorecard.as_text(scorecard.score())
    assert "would decide it: ADDMOD with six searches (0.5 h)" in " ".join(fast.split())


def test_a_second_table_is_read_where_a_claim_is_about_functions(tmp_path):
    folder = placed(tmp_path, simplicity_fig12=pd.DataFrame({"task": []}))
    assert verdicts(scorecard.score(results=folder), "simplicity/fig12") == [ABSENT, ABSENT]
    sines(True).to_csv(folder / "simplicity/fig12/laptop/functions.csv", index=False)
    assert verdicts(scorecard.score(results=folder), "simplicity/fig12") == [HOLDS, HOLDS]


def test_a_stand_in_has_its_number_and_its_name_everywhere(tmp_path):
    plays = PLANTED["transformers/table7"](True).assign(task="shakespeare char")
    found = scorecard.score(results=placed(tmp_path, "paper", transformers_table7=plays))
    rows = [row for row in found["claims"] if row["entry"] == "transformers/table7"]
    assert rows and {row["verdict"] for row in rows} == {ON_STAND_IN[HOLDS]}
    counts = scorecard.total(found["claims"])
    assert ": holds 0, does not hold 0, " in counts and f"{ON_STAND_IN[HOLDS]} {len(rows)}," in counts
    told = {row["id"]: row for row in json.loads(scorecard.as_json(found))["claims"]}
    page, text = as_markdown(found), " ".join(scorecard.as_text(found).split())
    of_gallery = TEMPLATES.get_template("claims.html").module.claims_list(rows)
    assert of_gallery.count("measured on Shakespeare, char in place of FineWeb") == len(rows)
    for row in rows:
        assert row["stand_in"] == told[row["id"]]["stand_in"] == "Shakespeare, char in place of FineWeb"
        assert row["decides"] and np.isfinite(row["effect"])
        assert "Measured on Shakespeare, char in place of FineWeb. Would decide it: FineWeb" in page
        assert "measured on Shakespeare, char in place of FineWeb" in text
    assert not any(row["stand_in"] for row in found["claims"] if row["verdict"] == ABSENT)


def test_the_text_is_narrow_and_has_every_claim(tmp_path):
    placed(tmp_path, transformers_fig2=curves(True), transformers_fig5=PLANTED["transformers/fig5"](True))
    text = scorecard.as_text(scorecard.score(results=tmp_path))
    assert max(map(len, text.splitlines())) <= 98
    words = " ".join(text.split())
    for found in entries().values():
        for claim in found.claims:
            assert f"{found.name}/{claim.name}, laptop: {claim.says}" in words
    assert "the claim: above 2; the interval covers seeds, of one search" in words
    assert "6 seeds" in words and "over 64 cells" in words and "the interval at 99.9 % covers" in words, "of 49 cells"


def test_as_a_table_for_notebooks(tmp_path):
    card = package.scorecard("laptop", placed(tmp_path, transformers_fig2=curves(True)))
    assert len(card) == CLAIMS and card.loc[0, "entry"] == "transformers/fig2" and card.loc[0, "verdict"] == HOLDS
    assert card.loc[0, "low"] < card.loc[0, "effect"] < card.loc[0, "high"]


SHIPPED = [name for name, found in entries().items() if found.claims and (RESULTS / name / "laptop").is_dir()]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_results_are_scored(name):
    _, tables = scorecard._tables(entry(name), "laptop", RESULTS)
    for claim in entry(name).claims:
        found = claim.verdict(tables[claim.with_entry or ("functions" if claim.of_functions else "table")], "laptop")
        assert found.word in WORDS
        assert found.n >= 1 or found.word == ABSENT and found.reason
        assert isnan(found.low) or found.low <= found.effect <= found.high
        assert found.word in (HOLDS, FAILS) or claim.decides, "what is open says what would decide it"


def test_a_claim_of_two_figures_reads_both_and_is_not_measured_where_one_is_missing(tmp_path):
    both = planted_transformers.contrast(True)

    def contrast():
        return next(row for row in scorecard.score(results=tmp_path)["claims"] if row["id"].endswith("/contrast"))

    placed(tmp_path, transformers_fig9=both.query("entry == 'transformers/fig9'").drop(columns="entry"))
    assert contrast()["reason"] == NOT_HERE
    placed(tmp_path, "paper", transformers_fig5=both.query("entry == 'transformers/fig5'").drop(columns="entry"))
    assert (contrast()["verdict"], contrast()["scale"]) == (ON_STAND_IN[HOLDS], "laptop")


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(ArgumentError, match="unknown scale 'tiny'"):
        scorecard.score("tiny")
    with pytest.raises(ArgumentError, match="no folder .* with results; name one of `lab figure`, such as out"):
        scorecard.score(results=tmp_path / "nowhere")
    placed(tmp_path, transformers_fig2=pd.DataFrame({"colour": ["red"]}))
    with pytest.raises(LabError, match="does not fit transformers/fig2 .*make it again: lab figure transformers/fig2"):
        scorecard.score(results=tmp_path)
    (tmp_path / "transformers/fig2/laptop/table.csv").write_text("")
    with pytest.raises(LabError, match="cannot be read"):
        scorecard.score(results=tmp_path)


def test_the_readme_quotes_the_scorecard():
    """Where this fails, `lab scorecard` says what the README has to."""
    told = scorecard.as_text(scorecard.score()).rpartition("\n\n")[2].splitlines()[:-1]
    assert f"{CLAIMS} claims: " in told[0]
    assert "\n".join(f"    {line}" for line in told) in (ROOT / "README.md").read_text(encoding="utf-8")


# Printed numbers.


def test_the_papers_matrix_agrees_with_itself_and_not_with_its_negative():
    same = agreement(entry("transformers/fig5").printed(runs(matrix.PAPER)))
    assert (same.cells, same.signs) == (64, 1.0) and same.clear == (matrix.PAPER != 0).sum().sum()
    assert [same.low, same.spearman, same.high] == pytest.approx([1.0] * 3)
    turned = agreement(entry("transformers/fig5").printed(runs(-matrix.PAPER)))
    assert turned.signs == 0.0 and turned.spearman == pytest.approx(-1.0)


def test_it_agrees_with_the_comparison_of_figure_5():
    ours = runs(matrix.PAPER + np.random.default_rng(0).normal(0, 15, size=(8, 8)), noise=0.02)
    found, known = agreement(entry("transformers/fig5").printed(ours)), matrix.compare(delta(ours))
    assert (found.cells, found.clear, found.signs) == (known.cells, known.clear, known.signs)
    assert found.spearman == pytest.approx(known.spearman) and found.low < found.spearman < found.high
    assert (found.low, found.high) == (known.low, known.high), "one correlation has one interval"


def test_the_interval_of_a_correlation_holds_the_truth():
    """Independent cells: of 60 samples of 40 with correlation 0, about 95 % of the intervals hold 0."""
    rng, hits = np.random.default_rng(3), 0
    for seed in range(60):
        cells = pd.DataFrame({"task": map(str, range(40)), "ours": rng.normal(size=40), "theirs": rng.normal(size=40)})
        found = agreement(cells, seed)
        hits += found.low <= 0 <= found.high
    assert hits >= 52  # 95 % of 60 is 57; 51 or fewer come once in 200 times


def test_few_cells_have_no_interval_and_equal_ones_no_correlation():
    few = agreement(entry("hypernetwork/tableA2").printed(fractions(True)))
    assert few.cells == 3 and few.spearman == 1.0 and isnan(few.low) and isnan(few.signs)
    assert isnan(spearman(np.ones(3), np.arange(3.0)))
    assert agreement(pd.DataFrame({"task": [], "ours": [], "theirs": []})).cells == 0


def test_printed_numbers_that_nothing_here_is_next_to_are_not_measured(tmp_path):
    unread = scores(True).assign(blimp=np.nan)
    (row,) = (
        row
        for row in scorecard.score(results=placed(tmp_path, activations_table1=unread))["numbers"]
        if row["entry"] == "activations/table1"
    )
    assert not row["measured"] and scorecard.described(row).endswith(ABSENT)


def test_fuzzy_logic_is_compared_where_the_paper_prints_a_number():
    cells = entry("hypernetwork/fig2c").printed(logic(True))
    assert list(zip(cells["method"], cells["theirs"], strict=True)) == [(name, PAPER[name][0]) for name in PAPER]
    assert len(entry("hypernetwork/fig2c").printed(logic(True).query("length == 16"))) == 0
