"""Specs: what they say survives JSON, equal specs have equal keys, and every field is part of the key."""

import hashlib
import json
import os
import string
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.spec import (
    AdamTrapezoid,
    AdamWCosine,
    Coefficients,
    ConstantRate,
    EpisodeSpec,
    HyperModel,
    Knots,
    KnotTable,
    Learned,
    ModelSpec,
    Perceptron,
    Restart,
    RunSpec,
    SearchSpec,
    Shaped,
    as_printed,
    from_json,
    key,
    needs,
    to_json,
)
from lab.tasks import Logic, Operation, Sraven, TableTask

ROOT = Path(__file__).resolve().parent.parent
HAT = Knots(-1.0, 1.0, (0.0, 1.0, 0.0))
SEARCH = SearchSpec("addmod", ModelSpec(width=8), AdamTrapezoid(100, 0.003, 64), learn=("mlp", "attention"))
NESTED = RunSpec(
    "mano",
    ModelSpec(mlp=Learned(SEARCH), attention=Learned(SEARCH, "attention")),
    AdamTrapezoid(400, 0.002, 16, stop=30),
    seed=3,
)
FRESH = RunSpec(
    Logic(length=16, held_out=0.5),
    HyperModel(phi=Learned(SEARCH), mlp=HAT),
    AdamWCosine(400, 0.002, 16, stop=30),
    seed=3,
    evaluate=("ood",),
)

EPISODES = EpisodeSpec(
    Operation("a+b", 13), Perceptron(phi=HAT), ConstantRate(40, 1.0, 64), ConstantRate(90, 2.0), episodes=30
)
TABLE = RunSpec(
    Operation("aba", group="S4"),
    Perceptron(layers=2, phi=Learned(EPISODES, "phi"), inputs=KnotTable(-1.0, 1.0, ((0.0, 1.0), (1.0, 0.5)))),
    ConstantRate(400, 0.02, stop=30),
    seed=3,
)
POLYNOMIAL = Shaped(Learned(SEARCH), "polynomial", 18)
RESHAPED = replace(
    NESTED, model=ModelSpec(mlp=POLYNOMIAL, attention=Shaped(Learned(SEARCH, "attention"), "symmetrized"))
)

numbers = st.floats(allow_nan=False, allow_infinity=False)
knots = st.builds(Knots, numbers, numbers, st.lists(numbers, min_size=2, max_size=5).map(tuple))
names = st.text(string.ascii_lowercase, min_size=1, max_size=8)
counts = st.integers(0, 10**6)
recipes = st.builds(AdamTrapezoid, counts, numbers, counts, st.tuples(numbers, numbers), stop=st.none() | counts)


def models(parts):
    return st.builds(
        ModelSpec,
        layers=counts,
        positions=names,
        canon=st.booleans(),
        tied=st.booleans(),
        mlp=parts,
        attention=parts,
    )


searches = st.builds(SearchSpec, names, models(names), recipes, low=numbers, high=numbers, seed=counts)
polynomials = st.builds(Coefficients, numbers, numbers, st.lists(numbers, min_size=1).map(tuple), names)
learned = st.builds(Learned, searches, names)
parts = names | knots | polynomials | learned | st.builds(Shaped, learned, names, st.none() | counts)
runs = st.builds(RunSpec, names, models(parts), recipes, counts)


@given(runs)
def test_json_gives_the_same_spec_back(spec):
    assert from_json(to_json(spec)) == spec
    assert hash(from_json(to_json(spec))) == hash(spec)
    assert key(from_json(to_json(spec))) == key(spec)


def test_json_is_canonical():
    """Sorted names: a field that moves to another line of its class changes no key."""
    text = to_json(NESTED)
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_nested_searches_survive_json_as_themselves():
    back = from_json(to_json(NESTED))
    assert isinstance(back.model.mlp, Learned) and isinstance(back.model.mlp.search, SearchSpec)
    assert back.model.mlp.search == SEARCH
    assert needs(back) == [SEARCH, SEARCH]
    assert needs(SEARCH) == []
    assert needs(from_json(to_json(RESHAPED))) == [SEARCH, SEARCH], "a shape needs the search of what it is made from"


@pytest.mark.parametrize(
    "same",
    [
        replace(NESTED, recipe=replace(NESTED.recipe, betas=(0.90, 0.999))),
        replace(NESTED, model=ModelSpec(mlp=Learned(replace(SEARCH)), attention=Learned(SEARCH, "attention"))),
    ],
)
def test_equal_specs_have_equal_keys(same):
    assert same == NESTED and same is not NESTED
    assert key(same) == key(NESTED)


def test_a_whole_number_in_a_real_field_is_the_same_real_number():
    """Python says that -20 == -20.0 and 0.0 == -0.0, so that the specs are equal; their keys must be, too."""
    whole, real = replace(SEARCH, low=-20, high=20), replace(SEARCH, low=-20.0, high=20.0)
    assert whole == real and key(whole) == key(real)
    whole, real = AdamTrapezoid(9, rate=1, batch=1, betas=(0, 1)), AdamTrapezoid(9, rate=1.0, batch=1, betas=(0.0, 1.0))
    assert whole == real and key(whole) == key(real)
    assert key(Knots(-1, 1, (0, 1, 0))) == key(Knots(-1.0, 1.0, (-0.0, 1.0, 0.0))) == key(HAT)


def other(value):
    """A value of the same kind that is not `value`."""
    match value:
        case bool():
            return not value
        case float() if value < 1:  # a rate, a fraction
            return value / 2 + 0.2
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case None:
            return 7
        case tuple():
            return (*value, value[-1])
    raise TypeError(value)


_STRUCTURES = (
    ModelSpec,
    HyperModel,
    Perceptron,
    AdamTrapezoid,
    AdamWCosine,
    ConstantRate,
    SearchSpec,
    EpisodeSpec,
    Logic,
)


def changes(spec):
    """Every spec that differs from `spec` in one field, at any depth, with the path of that field."""
    for field in fields(spec):
        value = getattr(spec, field.name)
        if is_dataclass(value) and not isinstance(value, TableTask):  # which checks its own values
            for path, changed in changes(value):
                yield f"{field.name}.{path}", replace(spec, **{field.name: changed})
            if not isinstance(value, _STRUCTURES):
                yield field.name, replace(spec, **{field.name: "gelu"})
        elif isinstance(value, TableTask):
            yield field.name, replace(spec, **{field.name: replace(value, modulus=11)})
        else:
            yield field.name, replace(spec, **{field.name: other(value)})


@pytest.mark.parametrize("spec", [NESTED, RESHAPED, replace(NESTED, model=ModelSpec(mlp=HAT)), SEARCH, FRESH, EPISODES])
def test_every_field_is_part_of_the_key(spec):
    seen = {key(spec): "unchanged"}
    for path, changed in changes(spec):
        assert changed != spec
        assert key(changed) not in seen, f"{path} has the key of {seen[key(changed)]}"
        seen[key(changed)] = path
    assert len(seen) > len(fields(spec))


def test_types_are_part_of_the_key():
    """A search and its result, or two parts of one search, are not the same thing."""
    distinct = [
        SEARCH,
        Learned(SEARCH),
        Learned(SEARCH, "attention"),
        POLYNOMIAL,
        replace(POLYNOMIAL, shape="chebyshev"),
        replace(POLYNOMIAL, degree=6),
        replace(POLYNOMIAL, degree=None),
        Coefficients(-1.0, 1.0, (0.0, 1.0, 0.0), "powers"),
        Coefficients(-1.0, 1.0, (0.0, 1.0, 0.0), "chebyshev"),
        NESTED,
        NESTED.model,
        NESTED.recipe,
        HAT,
    ]
    assert len({key(spec) for spec in distinct}) == len(distinct)


def test_a_key_is_a_sha256_that_another_process_computes_too():
    """Python's own hashes change with PYTHONHASHSEED; with a key that did, no store would find a run."""
    script = f"from lab.spec import *; print(key(from_json({to_json(NESTED)!r})))"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == key(NESTED)
    assert len(key(NESTED)) == 64 and set(key(NESTED)) <= set(string.hexdigits.lower())


def test_numbers_that_json_cannot_say_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        key(Knots(-1.0, 1.0, (0.0, float("nan"))))


def test_a_run_stops_at_its_stop_or_at_the_end_of_its_schedule():
    assert AdamTrapezoid(100, 0.1, 1).last == 100
    assert AdamTrapezoid(100, 0.1, 1, stop=30).last == 30
    assert AdamTrapezoid(100, 0.1, 1, stop=300).last == 100


def test_fresh_tasks_and_their_models_survive_json():
    for task in (FRESH.task, Sraven(features=2, permute=False)):
        spec = replace(FRESH, task=task)
        assert from_json(to_json(spec)) == spec and key(from_json(to_json(spec))) == key(spec)
        assert spec.task_name == task.name
    assert needs(FRESH) == [SEARCH]


def test_keys_of_runs_that_were_shipped_stay_theirs():
    """Computed before there was more than one kind of model: results under these names are in data/results."""
    spec = RunSpec("addmod", ModelSpec(width=32), AdamTrapezoid(steps=100, rate=0.003, batch=64), seed=0)
    assert key(spec) == "21ef9f51e0fa571d086b2639e4378978c7f84f90e10a277069cf6fec91d94f89"


def test_runs_whose_relative_positions_changed_have_other_keys():
    """The buckets of an odd number of tokens divided by ln 2 once: what was trained so is not taken for today's."""
    by_features = {features: replace(FRESH, task=Sraven(features=features)) for features in (1, 2, 3, 4)}
    for features, spec in by_features.items():
        once = hashlib.sha256(f"1\n{to_json(spec)}".encode()).hexdigest()
        assert spec.task.length % 2 == features % 2
        assert (key(spec) == once) == (spec.task.length % 2 == 0), "an even number of tokens has the same buckets"
    for length in (15, 16):
        spec = replace(FRESH, task=Logic(length=length))
        once = hashlib.sha256(f"1\n{to_json(spec)}".encode()).hexdigest()
        assert (key(spec) == once) == (length == 16)


def test_the_model_as_the_paper_prints_it():
    """Each head as wide as Table A3's kqv_dim: 16 for fuzzy logic, 64 for SRAVEN."""
    for heads, width in ((8, 16), (16, 64)):
        model = as_printed(HyperModel(heads=heads, key_width=width))
        assert model.key_width // model.heads == width and model.causal and model.dropout == 0


def test_runs_on_tables_and_their_searches_survive_json():
    layered = replace(TABLE, model=Perceptron(layers=2, phi=(Learned(EPISODES, "phi@0"), "tanh")))
    several = replace(EPISODES, task=(Operation("a+b", 5), Operation("ab", 7)), restarts=(Restart(), Restart(3, 0.1)))
    for spec in (TABLE, layered, EPISODES, several, replace(TABLE, model=Perceptron(phi=Learned(several, "phi")))):
        back = from_json(to_json(spec))
        assert back == spec and key(back) == key(spec) and hash(back) == hash(spec)
    assert needs(TABLE) == needs(layered) == [EPISODES] and TABLE.task_name == "aba in S4"
    assert several.task_name == "a+b mod 5, ab mod 7"


def test_every_field_of_a_run_on_a_table_is_part_of_its_key():
    run = replace(TABLE, model=replace(TABLE.model, phi="relu", inputs=None))
    models = [replace(run.model, **{name: value}) for name, value in PERCEPTRON.items()]
    recipes = [replace(run.recipe, **{name: value}) for name, value in DESCENT.items()]
    assert set(PERCEPTRON) == {f.name for f in fields(Perceptron)} and set(DESCENT) == {
        f.name for f in fields(ConstantRate)
    }
    specs = [run, *(replace(run, model=m) for m in models), *(replace(run, recipe=r) for r in recipes)]
    assert len({key(spec) for spec in specs}) == len(specs)


PERCEPTRON = {
    "layers": 3,
    "width": 9,
    "phi": "tanh",
    "prefactor": 2.0,
    "inputs": "tanh",
    "residual": True,
    "scale": 0.5,
    "spectral": True,
}
DESCENT = {
    "steps": 9,
    "rate": 0.5,
    "batch": 7,
    "optimizer": "adam",
    "decay": 0.1,
    "average": 1,
    "keep": "last",
    "watch": "test",
    "patience": 2,
    "trajectory": 5,
    "stop": 3,
    "every": 4,
}
