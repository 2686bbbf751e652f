"""Figures of the activations paper: numbers are those of stored runs and of the printed table; settings the paper's."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lab import kinds
from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.data.sentence_sets import PARADIGMS, PHENOMENA
from lab.data.sentences import Pair
from lab.models.small_language import learned
from lab.nonlinearity.kan import KANLayer
from lab.papers.activations import functions, small_models
from lab.papers.activations.settings import FAMILIES, METHODS, TITLES, model
from lab.papers.activations.small_models import KINDS, above_chance, table1
from lab.papers.claims import ABSENT, HOLDS, ON_STAND_IN
from lab.scale import COMMON
from lab.spec import RunSpec, from_json, to_json
from tests.papers.activations.planted import NAMES, scores, without_blimp
from tests.papers.plans import planned_runs


@pytest.fixture(scope="module")
def made():
    """Both figures at smoke scale, in the store that tests share."""
    return {name: figure(name, "smoke", progress=False) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_has_all_that_it_promises(made, name):
    one = made[name]
    assert len(one.table) and one.plot.data and one.summary
    for word in ("Scale smoke", "Data: moby_dick (public domain)", "Departures from the paper:", "width 8 (paper 512)"):
        assert word in one.full_caption
    check(one.provenance)
    assert one.provenance["runs"].keys() == {run.key for _, run in planned_runs(name)} and one.provenance["guesses"]


def test_without_blimp_the_figure_says_so_and_shows_the_papers_scores(made):
    one = made["activations/table1"]
    assert one.table["blimp"].isna().all() and "BLiMP is not measured" in one.caption
    assert "GLUE" in one.caption and "BLiMP: the paper's scores alone" in one.full_caption
    printed = [trace for trace in one.plot.data if trace.name == "printed in the paper"]
    assert [list(trace.x) for trace in printed] == [
        [56.6, 57.0, 56.3, 53.7, 55.6, 56.782, 63.43],
        [58.5, 59.2, 58.3, 58.0, 49.1, 59.4, 56.69],
    ]


def test_where_blimp_is_here_every_phenomenon_is_scored(made, monkeypatch):
    every = [Pair(PARADIGMS[n], phenomenon, "it is so", "it so is") for n, phenomenon in enumerate(PHENOMENA)]
    monkeypatch.setattr(small_models, "pairs", lambda each: every[: 12 * each])
    runs = [planned_runs("activations/table1", family=family, method="gelu")[0] for family in FAMILIES]
    table = small_models.scores(runs)
    assert (table["pairs"] == 12).all() and table["blimp"].isin([0.0, 100.0]).all(), "all pairs are the same one"
    for name in PHENOMENA:
        assert table[name].equals(table["blimp"].rename(name))


def test_where_one_family_was_trained_the_other_has_no_panel(made):
    table = scores(True)
    assert len(list(table1(table[table["family"] == "gpt_neo"]).select_xaxes())) == len(small_models.PANELS)
    both = made["activations/fig_functions"]
    one = [rows[rows["family"] == "gpt_neo"] for rows in (both.table, both.extras["functions"])]
    assert not [trace for trace in functions.fig_functions(*one).data if "RoBERTa" in (trace.name or "")]


def test_a_step_is_timed_alone_and_drawn_where_it_is_known(made):
    table = made["activations/table1"].table
    assert (table["step_ms"] > 0).all() and (table.groupby(["family", "method"])["step_ms"].nunique() == 1).all()
    earlier = table1(scores(True))
    timed = table1(scores(True).assign(step_ms=30.0))
    assert len(list(timed.select_xaxes())) == len(list(earlier.select_xaxes())) + len(FAMILIES)


def test_parameters_are_those_of_the_models_and_one_a_channel(made):
    table = made["activations/fig_functions"].table
    for method in ("prelu", "learnable_geglu"):
        labels, run = planned_runs("activations/fig_functions", family="roberta", method=method)[1]
        own = table[(table["family"] == "roberta") & (table["method"] == method) & (table["seed"] == 1)]
        (values,) = learned(run.model())[0].values()
        assert own["value"].tolist() == pytest.approx(values[0].tolist(), abs=1e-6)
        assert len(own) == run.spec.model.hidden


def test_functions_are_those_that_the_models_apply(made):
    drawn = made["activations/fig_functions"].extras["functions"]
    x = np.unique(drawn["x"])
    labels, run = planned_runs("activations/fig_functions", family="gpt_neo", method="swish")[0]
    betas = np.concatenate(
        [learned(other.model())[0]["beta"][0] for _, other in planned_runs("activations/fig_functions", **labels)]
    )
    each = x * (1 / (1 + np.exp(-betas[:, None] * x)))
    lines = drawn[(drawn["family"] == "gpt_neo") & (drawn["method"] == "swish")].set_index("line")["value"]
    assert lines["median"].to_numpy() == pytest.approx(np.median(each, 0), abs=1e-5)
    assert lines["95 %"].to_numpy() == pytest.approx(np.quantile(each, 0.95, 0), abs=1e-5)
    assert lines["fixed"].to_numpy() == pytest.approx(F.silu(torch.tensor(x)).numpy(), abs=1e-5)


def test_the_edges_of_a_kan_sum_to_its_layer():
    spec = model("smoke", "gpt_neo", "kan_3_5")
    layer, x = KANLayer(spec.width, spec.hidden, spec.grid, spec.order), torch.linspace(-2, 2, 9)
    own = {f"up.{name}": value.detach()[None] for name, value in layer.named_parameters()}
    (edges,) = functions.edges(spec, [own], x)
    whole = edges.view(spec.hidden, spec.width, -1).sum(1).T  # every input is x
    torch.testing.assert_close(whole, layer(x[:, None].expand(-1, spec.width)).detach(), atol=1e-5, rtol=1e-4)


def test_models_at_scale_paper_are_those_of_the_names():
    for family, inner in (("gpt_neo", 256), ("roberta", 384)):
        plain, kan = model("paper", family, "gelu"), model("paper", family, "kan_3_5")
        assert (plain.layers, plain.heads, plain.width, plain.hidden) == (2, 4, 512, 1024)
        assert (kan.hidden, kan.grid, kan.order) == (inner, 3, 5)


@pytest.mark.parametrize("scale", COMMON)
def test_every_run_fits_together_and_only_the_activation_differs(scale):
    recipes = set()
    for _, spec in entry("activations/table1").plan(scale, 1):
        if scale != "paper":  # whose text is not here
            kinds.check_run(spec)
        assert isinstance(spec, RunSpec) and from_json(to_json(spec)) == spec and spec.evaluate == ("test",)
        recipes.add(spec.recipe)
    assert len(recipes) == 1, "one rate for all"
    shared = {spec for _, spec in entry("activations/fig_functions").plan(scale, 2)}
    assert shared <= {spec for _, spec in entry("activations/table1").plan(scale, 2)}
    assert set(METHODS[scale]) <= set(TITLES)


def test_scores_at_chance_or_absent_measure_no_claim_of_blimp():
    claims = {claim.name: claim for claim in entry("activations/table1").claims}
    table = scores(True)
    chance = table.assign(blimp=50 + np.tile([-1.0, 1.0], len(table) // 2))
    assert "at chance" in above_chance(chance, "paper") and above_chance(table, "paper") == ""
    for worse in (chance, without_blimp(True)):
        words = {name: claim.verdict(worse, "paper").word for name, claim in claims.items()}
        assert {name for name, word in words.items() if word == ABSENT} == {
            *("learnable-gelu-best", "learnable-gelu", "relu", "kan", "alike")
        }
        assert words["learnable"] == words["learnable-geglu"] == HOLDS
    one = table[table["family"] == "gpt_neo"].assign(parameters=189_248)
    found = claims["relu"].verdict(one, "overnight")
    assert found.word == ON_STAND_IN[HOLDS]
    assert (
        found.stand_in == "models of 0.19 million weights in place of the paper's 9, 2 MB of TinyStories, GPT-Neo alone"
    )
    assert claims["learnable-gelu-best"].verdict(one, "overnight").word == ABSENT, "it is about RoBERTa"
    small = table.assign(parameters=81_088)
    for name in ("learnable", "learnable-geglu"):
        found = claims[name].verdict(small, "laptop")
        assert found.word == ON_STAND_IN[HOLDS]
        assert found.stand_in == "models of 0.081 million weights in place of the paper's 9, Shakespeare's plays"


def test_means_and_whiskers_of_the_plot_are_the_tables():
    table = scores(True)
    table.loc[(table["method"] == "gelu") & (table["seed"] == 0), ["diverged", "loss"]] = [True, np.nan]
    drawn = [trace for trace in table1(table).data if trace.name in KINDS and trace.xaxis == "x"]
    means = table[(table["family"] == "gpt_neo") & ~table["diverged"]].groupby("method")["loss"].mean()
    found = {title: x for trace in drawn for title, x in zip(trace.customdata, trace.x, strict=True)}
    assert found == pytest.approx({TITLES[method]: loss for method, loss in means.items()})


def test_phenomena_are_drawn_where_blimp_was_read():
    table = scores(True)
    table.loc[table["method"] == "kan", "ellipsis"] = 90.0
    drawn = [trace for trace in table1(table).data if trace.name in KINDS and len(trace.x) == len(PHENOMENA)]
    assert len(drawn) == len(FAMILIES) * len(TITLES)
    easy_first = list(table[list(PHENOMENA)].mean().sort_values(ascending=False, kind="stable").index)
    means = table.groupby(["family", "method"])[easy_first].mean()
    for family, method in means.index:
        same = [trace for trace in drawn if trace.hovertemplate.startswith(f"{TITLES[method]}: ")]
        found = same[list(FAMILIES).index(family)]
        assert list(found.x) == pytest.approx(means.loc[family, method].to_list())
        assert found.x[easy_first.index("ellipsis")] == pytest.approx(90.0) or method != "kan"
        learnable = method in ("prelu", "swish", "learnable_gelu", "learnable_geglu")
        assert found.name == ("KAN" if "kan" in method else "learnable" if learnable else "fixed")
    assert {trace.name for trace in drawn} == set(KINDS)
    plain = table1(without_blimp(True)).data
    assert not [trace for trace in plain if trace.name in KINDS and len(trace.x) == len(PHENOMENA)]


def test_where_every_run_diverged_nothing_is_said_of_layers(made):
    table = made["activations/fig_functions"].table
    assert "The last layer" not in functions.summary(table.assign(diverged=True))
