"""lab.search and lab.compare with a model of one's own: what they say, what they keep, what they cannot use."""

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab.jobs import job
from lab.nonlinearity.functions import TABLE
from lab.own.compare import choice
from lab.search_results import gain_in_words
from lab.spec import key
from lab.store import Store
from tests.training import own

SHORT = {"steps": 6, "batch": 32, "progress": False}


def compare(functions=None, data=None, make=own.mlp, replace=nn.GELU, **given):
    functions = {"GELU": None, "ReLU": nn.ReLU()} if functions is None else functions
    return lab.compare(
        own.signs() if data is None else data, make, replace, functions, **{**SHORT, "seeds": 2, **given}
    )


def search(**given):
    data = given.pop("data", None) or own.signs()
    return lab.search(data, **{"model": own.mlp, "replace": nn.GELU, "models": 2, **SHORT, **given})


def test_a_comparison_says_what_its_interval_covers():
    found = search()
    result = compare({"GELU": "gelu", "learned": found.spline}, searches=3, seeds=2)
    table = result.table
    assert list(table.columns) == ["function", "search", "seed", "rate", "step", "accuracy", "loss", "diverged"]
    assert table.groupby("function", sort=False).size().to_dict() == {"GELU": 2, "learned": 6}
    difference = result.difference("learned", "GELU")
    assert (difference.n, difference.over, difference.covers) == (3, "searches", "searches and seeds")
    means = table[table["function"] == "learned"].groupby("search")["accuracy"].mean()
    base = table[table["function"] == "GELU"]["accuracy"]
    assert difference.mean == pytest.approx(100 * (means.mean() - base.mean())) and difference.unit == "points"
    back = result.difference("GELU", "learned")
    assert (back.mean, back.low, back.high) == pytest.approx((-difference.mean, -difference.high, -difference.low))
    report = result.report()
    assert f"[{difference.low:+.4g}, {difference.high:+.4g}]" in report and "(6 runs of 3 searches)" in report
    assert "Welch's t, the mean of each search is one value; p " in report and "; n = 3 searches" in report
    assert "6 steps" in report and "More is better" in report
    once = compare({"GELU": "gelu", "learned": found}, seeds=2)
    assert once.difference("learned", "GELU").covers == "seeds, of one search"
    assert compare(seeds=2).difference("ReLU", "GELU").covers == "seeds"


def test_one_seed_has_no_interval_and_it_is_said():
    result = compare(seeds=1)
    difference = result.difference("ReLU", "GELU")
    assert np.isnan(difference.low) and "no interval" in str(difference) and "one seed has no interval" in repr(result)


def test_several_searches_are_the_searches_of_several_seeds():
    way = {"side_by_side": "loop"}  # the other one rounds otherwise, and a search amplifies that
    result = compare({"GELU": None, "learned": search(**way)}, searches=2, seeds=1, **way)
    other = search(seed=1, **way).spline
    phi = result.model("learned", seed=0, search=1)[1]
    assert torch.equal(phi.values, other.values) and not torch.equal(other.values, search(**way).spline.values)


def test_rates_are_chosen_on_val_by_seeds_that_are_not_reported():
    easy = lab.Data.from_arrays(own.NUMBERS, own.NUMBERS[:, 0] > 0, metrics=["cross_entropy", "accuracy"])
    result = compare(data=easy, rates=[1e-6, 1e-2], steps=40)
    assert result.rates == {"GELU": 1e-2, "ReLU": 1e-2}
    tuning = result.tuning
    assert set(tuning["seed"]).isdisjoint(result.table["seed"]) and set(result.table["rate"]) == {1e-2}
    by_rate = tuning.groupby(["function", "rate"])["cross_entropy"].mean().unstack()
    assert (by_rate[1e-2] < by_rate[1e-6]).all()
    assert "the best rate of GELU, ReLU is at an end of the grid" in repr(result)


def test_rates_that_validation_cannot_tell_apart_are_chosen_by_the_loss():
    """One example of 180 in one of two runs says nothing; many do, and so does a metric without noise."""
    losses = {1e-3: [0.117, 0.120], 3e-3: [0.074, 0.072]}
    near, far = {1e-3: [0.9833, 0.9833], 3e-3: [0.9778, 0.9833]}, {1e-3: [0.98, 0.98], 3e-3: [0.9, 0.9]}
    assert choice(near, losses, 180) == 3e-3 and choice(far, losses, 180) == 1e-3
    assert choice({1e-3: [0.98], 3e-3: [0.97]}, losses) == 1e-3
    assert choice({1e-3: [np.nan, 0.9], 3e-3: [0.1, 0.1]}, losses, 180) == 3e-3
    nothing = {1e-3: [np.nan], 3e-3: [np.nan]}
    assert choice(nothing, nothing, 180) == 1e-3


def test_the_rate_of_each_function_is_said(monkeypatch):
    rates = iter([1e-3, 1e-2])
    monkeypatch.setattr("lab.own.compare.best_rate", lambda runs, data, store: next(rates))
    said = repr(compare(rates=[1e-3, 1e-2]))
    assert "GELU (rate 0.001), ReLU (rate 0.01); 4 runs" in said and "functions have different rates" in said
    assert "different rates" not in repr(compare())


def test_a_trained_model_is_the_users_own_and_answers_as_measured():
    data = own.images()
    result = compare({"GELU": None, "hat": lab.Spline([0.0, 1.0, 0.0], -2, 2)}, data, own.norms, seeds=2)
    x, y = data.split("test")
    for name in ("GELU", "hat"):
        model = result.model(name, seed=1)
        assert isinstance(model, nn.Sequential) and not model.training
        accuracy = float((model(x).argmax(1) == y).float().mean())
        row = result.table.query("function == @name and seed == 1")
        assert accuracy == pytest.approx(float(row["accuracy"].iloc[0]))


def test_values_are_predicted_too_and_measures_may_be_functions():
    y = own.NUMBERS[:, 0] * own.NUMBERS[:, 1]

    def tenth(outputs, targets):
        return ((outputs - targets).abs() < 0.1).float().mean()

    data = lab.Data.from_arrays(
        own.NUMBERS, y, metrics={"close": tenth, "r2": "r2"}, loss=lambda o, t: (o - t).abs().mean()
    )
    result = compare(data=data, make=lambda seed: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 1)))
    x, y = data.split("test")
    with torch.no_grad():
        outputs = result.model("ReLU")(x)[:, 0]
    row = result.table[result.table["function"] == "ReLU"].iloc[0]
    assert row["r2"] == pytest.approx(float(1 - (outputs - y).square().sum() / (y - y.mean()).square().sum()), abs=1e-5)
    assert row["loss"] == pytest.approx(float((outputs - y).abs().mean()), abs=1e-5)
    assert row["close"] == pytest.approx(float(((outputs - y).abs() < 0.1).float().mean()), abs=1e-5)


def to_one(seed):
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 1))


def test_a_loss_of_ones_own_gets_outputs_in_the_shape_of_the_targets():
    """torch's loss as an object gives what it gives by name, though the model's last axis has one number."""
    y = own.NUMBERS[:, 0] * own.NUMBERS[:, 1]
    ends = [
        compare(data=lab.Data.from_arrays(own.NUMBERS, y, loss=loss), make=to_one).table["r2"]
        for loss in ("mse", nn.MSELoss())
    ]
    assert ends[0].to_list() == pytest.approx(ends[1].to_list(), abs=1e-6)


def test_two_classes_may_have_one_output():
    def right(outputs, targets):
        return ((outputs > 0) == (targets > 0)).float().mean()

    data = own.signs(loss=nn.BCEWithLogitsLoss(), metrics={"right": right})
    result = compare(data=data, make=to_one)
    x, y = data.split("test")
    with torch.no_grad():
        share = float(((result.model("ReLU")(x)[:, 0] > 0) == (y > 0)).float().mean())
    assert result.table.query("function == 'ReLU'")["right"].iloc[0] == pytest.approx(share)


def test_nothing_is_trained_twice_under_a_name_and_nothing_is_kept_without(store_folder):
    first = compare(name="mine")
    notes = [lab.Run(run.spec, first.store).notes for run in first.runs]
    again = compare(name="mine")
    assert [lab.Run(run.spec, again.store).notes for run in again.runs] == notes
    assert len(list(Store().results())) == 4
    compare(name="other", functions={"GELU": None})
    compare(functions={"GELU": None})
    assert len(list(Store().results())) == 6
    assert Store().verify() == [] and "not part of a result's identity" in repr(first)


def test_identity_is_of_data_shapes_settings_and_name():
    def one(**given):
        result = compare(functions={"GELU": None}, seeds=1, **given)
        return key(result.runs[0].spec)

    def wider(seed):
        return nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.Linear(9, 2))

    def other_slope(seed):
        return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 8), nn.LeakyReLU(0.3), nn.Linear(8, 2))

    def another_slope(seed):
        return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 8), nn.LeakyReLU(0.2), nn.Linear(8, 2))

    keys = [
        one(),
        one(data=own.signs(seed=1)),
        one(make=wider),
        one(make=other_slope),
        one(make=another_slope),
        one(steps=7),
        one(rate=0.1),
        one(optimizer="sgd"),
    ]
    assert len(set(keys)) == len(keys) and one() == keys[0]


@pytest.mark.parametrize("make", [own.mlp, own.dropout, own.annealed])
def test_a_killed_comparison_goes_on_where_it_was(make, store_folder, monkeypatch):
    """The loss of the user's raises as a kill would, in the search and then in the runs."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", -1.0)
    calls, killed_at = [0], [10**9]

    def loss(outputs, targets):
        calls[0] += 1
        if calls[0] == killed_at[0]:
            raise KeyboardInterrupt
        return nn.functional.cross_entropy(outputs, targets)

    data = own.signs(loss=loss)

    def everything():
        found = search(data=data, model=make, name="mine", side_by_side="loop")
        return compare({"GELU": None, "learned": found}, data, make, name="mine", side_by_side="loop")

    def bits(result):
        return [Store(result.store.folder).load(run.spec)[1] for run in result.runs]

    monkeypatch.setenv("LAB_STORE", str(store_folder / "whole"))
    whole = bits(everything())
    needed = calls[0]
    monkeypatch.setenv("LAB_STORE", str(store_folder / "killed"))
    kills = 0
    for share in (0.2, 0.3, 0.3, 0.3):
        calls[0], killed_at[0] = 0, int(share * needed)
        try:
            everything()
        except KeyboardInterrupt:
            kills += 1
        assert Store().verify() == []
    calls[0], killed_at[0] = 0, 10**9
    again = bits(everything())
    assert kills >= 3
    for one, other in zip(whole, again, strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_learnable_functions_learn_in_every_model():
    result = compare({"PReLU": nn.PReLU(), "spline": lab.Spline(torch.linspace(-1, 1, 5), -2, 2, learnable=True)})
    models = [result.model("PReLU", seed) for seed in (0, 1)]
    slopes = [float(m.weight.detach()) for model in models for m in model.modules() if isinstance(m, nn.PReLU)]
    assert len(set(slopes)) == 4 and all(slope != 0.25 for slope in slopes)
    assert not torch.equal(result.model("spline")[1].values, torch.linspace(-1, 1, 5))


@pytest.mark.parametrize("name", ["xielu", "rational", "bspline", "mish", "polynorm"])
def test_a_named_function_is_compared_and_what_it_has_learns_in_every_model(name):
    result = compare({"GELU": None, "named": name})
    both = [result.model("named", seed)[1] for seed in (0, 1)]
    for (number, one), (_, other) in zip(*(phi.named_parameters() for phi in both), strict=True):
        start = TABLE[name].make().get_parameter(number)
        assert one.shape == start.shape and not torch.equal(one, other) and not torch.equal(one, start)


def test_runs_that_diverge_are_left_out_and_said():
    result = compare({"GELU": None, "square": torch.square}, rate=50.0, steps=30, optimizer="sgd")
    assert result.table.query("function == 'square'")["diverged"].any() and "diverged" in repr(result)


def test_a_function_whose_runs_all_diverged_has_no_difference():
    result = compare({"GELU": None, "nothing": lambda x: x * float("nan")})
    said = "accuracy on test, nothing minus GELU at the end: none, for all runs of nothing diverged; give a lower rate"
    assert said in repr(result) and np.isnan(result.difference("GELU", "nothing").mean)


LOSSES = {  # what was measured, and the words
    (-9.26, -17.1, -0.9): "a loss of 9.26 points [-17.1, -0.9] at the end",
    (9.26, 0.9, 17.1): "a gain of 9.26 points [0.9, 17.1] at the end",
    (-0.5, -2.0, 1.0): "a loss of 0.5 points [-2, 1] at the end, which seeds alone would explain",
    (0.0, -1.0, 1.0): "no difference of 0 points [-1, 1] at the end, which seeds alone would explain",
    (3.0, None, None): "a gain of 3 points without an interval at the end",
}


@pytest.mark.parametrize(("numbers", "words"), LOSSES.items())
def test_what_a_published_function_loses_is_said(numbers, words):
    gain = {f"{name}_end": value for name, value in zip(("gain", "low", "high"), numbers, strict=True)}
    assert gain_in_words(gain | {"unit": "points", "measured": "accuracy"}) == f"accuracy: {words}"


def test_a_loss_has_its_sign_in_the_zoo(store_folder, capsys):
    """An error that is larger, and an R² that is smaller, are losses."""

    def make(seed):
        return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 1))

    for metric in ("mse", "r2"):
        data = lab.Data.from_arrays(own.NUMBERS, own.NUMBERS[:, 0] ** 2, name=metric, metrics=[metric])
        found = search(data=data, model=make)
        result = compare({"square": torch.square, "learned": found}, data, make, steps=60, rate=0.02)
        sign = -1 if metric == "mse" else 1
        difference = result.difference("learned", "square")
        found.publish(metric, result)
        gain = lab.zoo().gain_end[f"mine/{metric}"]
        assert gain == pytest.approx(sign * difference.mean, abs=1e-3) and gain < 0
        assert "a loss of" in capsys.readouterr().out


def test_what_was_found_is_published_with_its_gain(store_folder, capsys):
    """In the zoo of the store's folder: mine/digits-cnn, and what the comparison said of it."""
    found = search()
    result = compare({"GELU": None, "learned": found})
    assert found.publish("digits-cnn", result) == ["mine/digits-cnn"]
    said = capsys.readouterr().out
    assert said.startswith("mine/digits-cnn: accuracy on signs, over GELU: ") and " points" in said
    assert torch.equal(lab.zoo("mine/digits-cnn").values, found.spline.values)
    row, difference = lab.zoo().loc["mine/digits-cnn"], result.difference("learned", "GELU")
    assert (row.gain_end, row.low_end, row.high_end) == pytest.approx(
        (difference.mean, difference.low, difference.high), abs=1e-3
    )
    mean = result.difference("learned", "GELU", at="mean")
    assert (row.gain_mean, row.low_mean, row.high_mean) == pytest.approx((mean.mean, mean.low, mean.high), abs=1e-3)
    assert (row.task, row.seeds, row.steps, row.measured) == ("signs", 2, 6, "accuracy on signs, over GELU")
    search(seed=1).publish("alone")
    assert lab.zoo().isna().gain_end["mine/alone"] and "problem" not in lab.zoo()
    again = compare({"GELU": None, "published": "mine/digits-cnn"})
    assert again.difference("published", "GELU").mean == pytest.approx(difference.mean)
    with pytest.raises(lab.ArgumentError, match="measured has no runs both with this function and without it"):
        search(seed=1).publish("other", result)
    with pytest.raises(lab.ArgumentError, match="give letters"):
        found.publish("../other")
    with pytest.raises(lab.ArgumentError, match="digits-cnn.json is there, and not of this search; give another name"):
        search(seed=1).publish("digits-cnn")
    assert found.publish("digits-cnn") == ["mine/digits-cnn"], "its own"
    looped = {"seed": 1, "side_by_side": "loop"}  # else which way is faster is timed, and ways differ in rounding
    assert search(**looped).publish("digits-cnn", replace=True) == ["mine/digits-cnn"]
    assert torch.equal(lab.zoo("mine/digits-cnn").values, search(**looped).spline.values)
    assert not any("replace" in str(one) for one in lab.zoo().loc["mine/digits-cnn"])


def test_every_search_has_the_same_interface():
    for found in (
        search(),
        lab.search("memorize", scale="smoke", progress=False),
        lab.search("ab mod 5", scale="smoke", progress=False),
        lab.search("ab mod 5", scale="smoke", by="two_loss", progress=False),
    ):
        assert isinstance(found, (lab.SearchResult, lab.EpisodeResult))
        first = next(iter(found.splines.values()))
        assert torch.equal(found.spline.values, first.values) and len(found.history) and "key" in found.provenance


def test_training_takes_rate_batch_depth_and_optimizer():
    short = {"seeds": 1, "scale": "smoke", "progress": False, "steps": 2}
    run = lab.train("memorize", rate=0.02, batch=7, layers=3, **short)[0].spec
    assert (run.recipe.rate, run.recipe.batch, run.model.layers, run.recipe.stop) == (0.02, 7, 3, 2)
    assert lab.train("ab mod 5", optimizer="adam", layers=2, **short)[0].spec.recipe.optimizer == "adam"
    with pytest.raises(lab.ArgumentError, match="trained with Adam alone"):
        lab.train("memorize", optimizer="sgd", **short)


def test_a_comparison_draws_what_was_measured():
    result = compare({"GELU": None, "learned": search()}, searches=2, seeds=2)
    figure = result.plot()
    lines = {trace.name: trace for trace in figure.data}
    curves = result.curves.groupby(["function", "step"])["accuracy"].mean()
    for name in ("GELU", "learned"):
        assert lines[name].y == pytest.approx(100 * curves[name].to_numpy())
        ends = result.table[result.table["function"] == name]
        assert lines[f"{name}, runs"].y == pytest.approx(100 * ends["accuracy"].to_numpy())
        assert lines[f"{name}, mean"].y == pytest.approx([100 * ends["accuracy"].mean()])
    assert list(lines["learned, runs"].customdata[:, 0]) == [0, 0, 1, 1]


def letters(causal, classes_last=True):
    data = own.song()
    return compare({"GELU": None}, data, lambda seed: own.Letters(len(data.classes), causal, classes_last), seeds=1)


@pytest.mark.parametrize("classes_last", [True, False])
def test_a_model_of_text_that_sees_no_later_token_is_trained(classes_last):
    assert len(letters(True, classes_last).table) == 1


def test_a_comparison_says_where_models_have_blown_up():
    result = compare(rate=1e4, steps=20)
    assert not result.table["diverged"].any()
    assert any("4 of 4 runs ended with more than twice the training loss of a guess" in note for note in result.notes)
    assert not any("guess among" in note for note in compare(steps=20).notes)


def test_equal_scores_are_no_interval_of_width_zero():
    """On two easy rows every seed is right, which says nothing of how much seeds differ."""
    rare = lab.Data.from_arrays(own.NUMBERS, np.arange(240) < 12, splits={"test": [100, 101]})
    result = compare(data=rare, steps=100, rate=0.05)
    difference = result.difference("ReLU", "GELU")
    assert result.table["accuracy"].tolist() == [1.0] * 4 and np.isnan([difference.low, difference.high]).all()
    assert "no interval (2 seeds; scores do not differ; give more seeds, or more examples to test)" in str(difference)
    assert np.isfinite(result.difference("ReLU", "GELU", "loss").low)


class Wrong(nn.Module):
    """Its answer has another shape for three examples."""

    def __init__(self):
        super().__init__()
        self.layer, self.act = nn.Linear(6, 2), nn.GELU()

    def forward(self, x):
        return self.act(self.layer(x)) if len(x) < 3 else self.layer(x)[:, :1]


def same(seed):
    torch.manual_seed(7)
    return own.mlp(seed)


def narrow(seed):
    return nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 1))


def wide(seed):
    return nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 3))


@pytest.mark.parametrize("level", [0, 1, -0.5, 95])
def test_a_level_leaves_room_on_both_sides(level):
    with pytest.raises(lab.ArgumentError, match="level=.*above 0 and below 1, such as 0.95"):
        compare(seeds=2).difference("ReLU", "GELU", level=level)


def test_a_model_of_text_may_know_more_tokens_than_the_text_has():
    data = own.song()
    made = compare({"GELU": None}, data, lambda seed: own.Letters(len(data.classes) + 3, True), seeds=1)
    assert len(made.table) == 1


NET = own.mlp(0)
THREE = lab.Data.from_arrays(own.NUMBERS, np.arange(240) % 3)
WRONG = {
    "model ignores its seed": lambda: compare(make=same),
    "its activations are torch.nn.modules.activation.GELU (1, 3)": lambda: compare(replace=nn.SiLU),
    "replace=a list of 1, no tuple": lambda: compare(replace=[nn.GELU]),
    "replace=GELU(approximate='none') is a module; give its class": lambda: compare(replace=nn.GELU()),
    "model is a Sequential; give a function": lambda: compare(make=NET),
    "model is the class Wrong; give a function that makes one from a seed: lambda seed: Wrong()": lambda: compare(
        make=Wrong
    ),
    "model(0) fails with TypeError": lambda: compare(make=lambda: NET),
    "model(0) gives 3": lambda: compare(make=lambda seed: 3),
    "gives shape (2, 2) for 2 examples and (3, 1) for 3": lambda: compare(make=lambda seed: Wrong()),
    "gives 1 logits for 2 classes": lambda: compare(make=narrow),
    "gives 2 logits for 3 classes": lambda: compare(data=THREE),
    "gives 3 logits for 2 classes; give it 2 outputs, or data with every class": lambda: compare(make=wide),
    "the model fails on X (2, 5) int64": lambda: compare(data=own.sequences()),
    "the loss gives shape (4,)": lambda: compare(
        data=own.signs(loss=lambda o, t: nn.functional.cross_entropy(o, t, reduction="none"))
    ),
    "gives one output, and accuracy needs one for each class": lambda: compare(
        data=own.signs(loss=nn.BCEWithLogitsLoss()), make=narrow
    ),
    "the loss fails on outputs (4, 2) float32 and targets (4,) int64 with ValueError": lambda: compare(
        data=own.signs(loss=nn.BCELoss())
    ),
    "the metric 'gap' fails on outputs (3,)": lambda: compare(
        data=lab.Data.from_arrays(own.NUMBERS, own.NUMBERS[:, 0], metrics={"gap": lambda o, t: o[:, 0] - t}),
        make=narrow,
    ),
    "or say kind='classification' of the data": lambda: compare(
        data=lab.Data.from_arrays(own.NUMBERS, np.arange(240) % 2.0)
    ),
    "the model fails with functions['glu']: RuntimeError (": lambda: compare({"GELU": None, "glu": lambda x: x[:, :4]}),
    "with functions['sum'] the model gives shape (2, 1) for (2, 2)": lambda: compare(
        {"sum": lambda x: x.sum(1, keepdim=True)}, make=lambda seed: nn.Sequential(nn.Linear(6, 2), nn.GELU())
    ),
    "let model(seed) return net.float(), since X is float32": lambda: compare(make=lambda seed: own.mlp(seed).double()),
    "has no split 'test'": lambda: compare(data=own.signs(splits={"val": 0.2})),
    "has no split 'val'": lambda: compare(data=own.signs(splits={"test": 0.2}), rates=[1e-3, 1e-2]),
    "has no split 'search'": lambda: search(data=own.signs(splits={"test": 0.2})),
    "functions['own']=": lambda: compare({"own": nn.GELU}),
    "give GELU()": lambda: compare({"own": nn.GELU}),
    "functions['own']: the search has the functions phi0, phi1; give one of its .splines": lambda: compare(
        {"own": lab.search(own.signs(), learn="layers", scale="smoke", progress=False)}
    ),
    "unknown functions['own'] 'gleu'": lambda: compare({"own": "gleu"}),
    "functions['soft']='softmax': softmax is no function of one number; give a name": lambda: compare(
        {"soft": "softmax"}
    ),
    "functions['two']: this spline has 2 functions; give one of them": lambda: compare(
        {"two": lab.Spline(torch.zeros(2, 5))}
    ),
    "functions['two']: phi has 2 functions; give one of them": lambda: compare(
        {"two": lab.Spline(torch.zeros(2, 5), learnable=True)}
    ),
    "functions={}": lambda: compare({}),
    "searches=3, and no function is what lab.search found for this data and model": lambda: compare(searches=3),
    "rates=0.1": lambda: compare(rates=0.1),
    "optimizer='lion'": lambda: compare(optimizer="lion"),
    "seeds=0": lambda: compare(seeds=0),
    "steps=0": lambda: compare(steps=0),
    "unknown a 'Swish'; known: GELU, ReLU": lambda: compare(seeds=1).difference("Swish", "GELU"),
    "a and b are both 'GELU'; name two functions": lambda: compare(seeds=1).difference("GELU", "GELU"),
    "measured is a Difference; give the lab.Comparison": lambda: search().publish(
        "signs", compare().difference("GELU", "ReLU")
    ),
    "the model is not causal: its answers change with a later token": lambda: letters(causal=False),
    "seeds 0": lambda: compare(seeds=1).model("GELU", seed=4),
    "give a lab.Data": lambda: lab.search("memorize", model=own.mlp, replace=nn.GELU),
    "rate=0: give a number above 0": lambda: compare(rate=0),
    "rates=-1: give a number above 0": lambda: compare(rates=[1e-3, -1]),
    "spline_rate=0: give a number above 0": lambda: search(spline_rate=0),
    "low=2, high=1: low must be below high": lambda: search(low=2, high=1),
    "low=-1e+39: give a finite number, -3e+38 to 3e+38": lambda: search(low=-1e39),
    "high=3e+38: low must be below high, by 3e+38 at most": lambda: search(low=-3e38, high=3e38),
    "knots=1000000000: give a whole number, 2 to 16777216": lambda: search(knots=10**9),
    "steps is for a search with model= and replace=; without": lambda: lab.search(own.signs(), steps=10),
    "give model=make and replace": lambda: lab.search(own.signs(), model=own.mlp),
    "name is not": lambda: compare(store=Store("nowhere")),
    "cannot be computed at once": lambda: compare(make=own.dropout, side_by_side="vmap"),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_used_is_said_in_one_line(said):
    with pytest.raises(lab.ArgumentError) as error:
        WRONG[said]()
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("usual", "meant"), [("lr", "rate"), ("epochs", "steps, a number of batches"), ("batch_size", "batch")]
)
def test_an_argument_that_there_is_not_is_named(usual, meant):
    known = f"unexpected argument '{usual}'; of training there are steps, rate, batch, .*; did you mean {meant}[?]"
    for call in (compare, search):
        with pytest.raises(TypeError, match=known):
            call(**{usual: 1})
