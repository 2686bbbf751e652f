"""The table of precisions in docs/operations.md has the models that there are, and says what their specs allow."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
import torch

from lab import kinds
from lab.papers.hypernetwork.settings import sraven
from lab.papers.transformers.settings import setting
from lab.spec import Fit, ModuleSpec
from lab.training.descent_fleet import fleet_of
from tests.training.making import descent

DOCUMENT = Path(__file__).parents[1] / "docs" / "operations.md"
ROWS = dict(
    re.findall(r"^\| `(\w+)`[^|]*\| ([^|]+) \|", DOCUMENT.read_text().partition("## Precision")[2], re.MULTILINE)
)
MODELS = {kind.__name__: kind for kind in kinds.build.registry if kind is not object and kind.__module__[:4] == "lab."}


def test_it_has_every_model():
    assert set(ROWS) == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_can_compute_in_bfloat16_where_its_spec_has_a_precision(name):
    chosen = Fit if MODELS[name] is ModuleSpec else MODELS[name]
    assert ("bfloat16" in ROWS[name]) == ("precision" in {field.name for field in fields(chosen)})
    assert "float32" in ROWS[name]


def _fleets():
    token, vector = setting("memorize", "smoke").runs(1)[0], sraven("smoke", "hyla").runs(1)[0]
    yield fleet_of([token], [("gelu", "softmax")])
    yield fleet_of([vector], [("relu",) * len(vector.model.parts)])
    yield descent((0,))


def test_weights_outputs_gradients_and_moments_are_float32():
    for fleet in _fleets():
        seen = []
        fleet.model.register_forward_hook(lambda module, given, outputs, seen=seen: seen.append(outputs))
        batch = fleet.batch(0)
        fleet.watch(batch.loss(batch.outputs(fleet.model)), 0).backward()
        fleet.set_rates(0)
        fleet.optimizer.step()
        moments = [value for weight in fleet.weights for value in fleet.optimizer.state[weight].values()]
        found = {part.dtype for part in [*seen, *fleet.weights, *(w.grad for w in fleet.weights), *moments]}
        assert found == {torch.float32}
