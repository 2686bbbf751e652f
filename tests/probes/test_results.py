"""What probes return prints in a line, and what a reader of the notebooks tried works or says what to do."""

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab import probes


class Own(nn.Module):
    """Attention code of one's own that knows normalized scores alone."""

    def attention_scores(self, inputs):
        return [torch.full((len(inputs), 2, 5, 5), 0.2)]


@pytest.mark.parametrize(
    "result",
    [
        probes.latent_codes(Own(), torch.zeros(600, 5, 3)),
        probes.decode(np.eye(3).repeat(200, 0), np.arange(3).repeat(200), shuffles=2, resamples=10),
        probes.slice_1d(lambda x: x.sum(1), [0.0], [1.0], samples=2000),
        lab.tasks.Sraven(features=2).sample("ood", 300, torch.Generator().manual_seed(0), 0),
    ],
    ids=lambda result: type(result).__name__,
)
def test_a_result_prints_in_a_line(result):
    assert "\n" not in repr(result) and len(repr(result)) < 400 and "of shape (" in repr(result)


def test_scores_of_ones_own_need_no_word_about_normalization():
    assert probes.latent_codes(Own(), torch.zeros(6, 5, 3)).codes.shape == (6, 2)
    with pytest.raises(lab.ArgumentError, match="Own tells no scores before normalization"):
        probes.latent_codes(Own(), torch.zeros(6, 5, 3), normalized=False)


def test_targets_that_look_like_classes_and_are_taken_as_values_are_said():
    x, model = torch.randn(4, 3), nn.Linear(3, 1)
    with pytest.warns(lab.LabWarning, match=r"taken as values for the mean squared error.*targets\.long\(\)"):
        probes.Loss(x, torch.tensor([0.0, 1.0, 1.0, 0.0]))
    probes.Loss(x, torch.tensor([0, 1, 1, 0]))(model)  # no warning
    probes.Loss(x, torch.tensor([0.0, 1.0, 0.5, 0.0]))(model)


@pytest.mark.parametrize(
    "scores",
    [
        torch.rand(6, 2, 5, 5),
        None,
        [],
        {"0": torch.rand(6, 2, 5, 5)},
        [torch.rand(6, 5, 5)],
        [torch.rand(1, 2, 5, 5)],
        [torch.ones(6, 2, 5, 5, dtype=torch.int64)],
    ],
)
def test_scores_of_another_form_are_refused(scores):
    model = Own()
    model.attention_scores = lambda inputs: scores
    with pytest.raises(lab.ArgumentError, match="attention_scores gives"):
        probes.latent_codes(model, torch.zeros(6, 5, 3))
