"""The loss that a landscape shows is torch's own, for tables, images, tokens and what a tokenizer returns."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from tests.models.making import VOCABULARY, decoder


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


IMAGES = torch.rand(30, 1, 6, 6, generator=seeded())
CLASSES = torch.randint(0, 3, (30,), generator=seeded(1))
TOKENS = torch.randint(1, VOCABULARY, (30, 7), generator=seeded(2))


def convolution():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3)).requires_grad_(False)


class Language(nn.Module):
    """Token ids (B, T), and a mask as tokenizers give it → an object with logits (B, T, V)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.head = nn.Embedding(VOCABULARY, 4), nn.Linear(4, VOCABULARY)
        self.requires_grad_(False)

    def forward(self, input_ids, attention_mask=None):
        x = self.table(input_ids).cumsum(1)
        if attention_mask is not None:
            x = x * attention_mask[..., None]
        return type("Output", (), {"logits": self.head(x)})()


def test_images():
    net = convolution()
    assert probes.Loss(IMAGES, CLASSES)(net) == pytest.approx(F.cross_entropy(net(IMAGES), CLASSES).item())
    found = probes.landscape(net, {"loss": probes.Loss(IMAGES, CLASSES)}, "random", grid=2)
    at = found.at(found.x[1], found.y[0])
    assert found.values["loss"][0, 1] == pytest.approx(F.cross_entropy(at(IMAGES), CLASSES).item(), rel=1e-5)


@pytest.mark.parametrize("ignored", [0, 60])
def test_a_class_for_each_token(ignored):
    model, targets = Language(), torch.roll(TOKENS, -1, 1)
    targets.view(-1)[:ignored] = -100  # many in the first examples: not all batches have as many
    expected = F.cross_entropy(model(TOKENS).logits.flatten(0, 1), targets.flatten()).item()
    assert probes.Loss(TOKENS, targets)(model) == pytest.approx(expected)
    many = TOKENS.repeat(99, 1), targets.repeat(99, 1)  # more than are read at once
    for loss in (None, lambda outputs, targets: F.cross_entropy(outputs[0].mT, targets[0])):
        assert probes.Loss(*many, loss=loss)(model) == pytest.approx(expected, rel=1e-5)


def test_a_loss_of_its_own_is_a_mean_over_what_counts():
    x, targets = torch.rand(9000, 3, generator=seeded()), torch.randint(0, 2, (9000,), generator=seeded(1))
    net = nn.Linear(3, 2).requires_grad_(False)
    for ignored in (8000, 8500):  # nearly all, and all, of what is read first
        targets[:ignored] = -100
        measure = probes.Loss(x, targets, loss=lambda outputs, targets: F.cross_entropy(outputs[0], targets[0]))
        assert measure(net) == pytest.approx(F.cross_entropy(net(x), targets).item(), rel=1e-5)
    with pytest.raises(ArgumentError, match="no target counts"):
        probes.Loss(x, torch.full_like(targets, -100), loss=measure.loss)


def test_what_a_tokenizer_returns():
    model, mask = Language(), torch.ones_like(TOKENS)
    mask[:, -2:] = 0
    inputs, targets = {"input_ids": TOKENS, "attention_mask": mask}, TOKENS.roll(-1, 1)
    logits = model(**inputs).logits
    counted = targets.masked_fill(mask == 0, -100)  # padding is no example
    expected = pytest.approx(F.cross_entropy(logits.mT, counted).item())
    assert probes.Loss(inputs, targets)(model) == probes.Loss(inputs, counted)(model) == expected
    with pytest.raises(ArgumentError, match="no target counts"):
        probes.Loss(inputs, targets.masked_fill(mask == 1, -100))
    with pytest.raises(ArgumentError, match="give one target an input"):
        probes.Loss(inputs | {"attention_mask": mask[1:]}, targets)


@pytest.mark.parametrize("runs", [1, 3])
def test_a_decoder_of_the_lab_with_its_run_axis(runs):
    model, _ = decoder(runs)
    targets = TOKENS.roll(-1, 1)
    logits = model(TOKENS.expand(runs, -1, -1))
    expected = torch.stack([F.cross_entropy(one.mT, targets) for one in logits])
    torch.testing.assert_close(probes.Loss(TOKENS, targets)(model.requires_grad_(False)), expected)


def test_values_of_any_shape():
    net = nn.Conv2d(1, 1, 3, padding=1).requires_grad_(False)
    assert probes.Loss(IMAGES, IMAGES)(net) == pytest.approx(F.mse_loss(net(IMAGES), IMAGES).item())


def test_shapes_that_do_not_fit_are_not_stretched():
    """A column of targets against two outputs was once the error of the first, or of each."""
    net, x = nn.Linear(3, 2), torch.rand(9, 3)
    for targets in (x[:, 0], x[:, :1], x):
        with pytest.raises(ArgumentError, match=r"for outputs \(9, 2\)"):
            probes.Loss(x, targets)(net)
    with pytest.raises(ArgumentError, match=r"give one class for each of \(30, 7\)"):
        probes.Loss(TOKENS, CLASSES)(Language())


def test_a_data_loader_is_told_how():
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(IMAGES, CLASSES))
    with pytest.raises(ArgumentError, match="torch.cat its batches"):
        probes.Loss(loader, CLASSES)


def test_a_loss_of_its_own_gives_a_number_for_each_run():
    model, _ = decoder(3)
    model.requires_grad_(False)
    targets = TOKENS.roll(-1, 1)

    def over_all(outputs, targets):
        return F.cross_entropy(outputs.flatten(0, -2), targets.flatten())

    with pytest.raises(ArgumentError, match=r"one mean for each run, \(3,\)"):
        probes.Loss(TOKENS, targets, loss=over_all)(model)
    alone, _ = decoder(1)
    alone.requires_grad_(False)
    same = probes.Loss(TOKENS, targets)(alone)
    torch.testing.assert_close(probes.Loss(TOKENS, targets, loss=over_all)(alone), same)


WEIGHTS = torch.tensor([1.0, 9.0, 3.0])
PARTLY = torch.where(torch.arange(30) < 7, -100, CLASSES)
OF_TORCH = {
    "cross_entropy": (F.cross_entropy, CLASSES, 3),
    "weights of classes": (nn.CrossEntropyLoss(weight=WEIGHTS), PARTLY, 3),
    "weights of margins": (nn.MultiMarginLoss(weight=WEIGHTS), CLASSES, 3),  # over examples, whatever they weigh
    "smoothing": (nn.CrossEntropyLoss(label_smoothing=0.1), CLASSES, 3),
    "mse, a vector": (F.mse_loss, torch.randn(30, generator=seeded(3)), 1),
    "weights given to a function": (partial(F.cross_entropy, weight=WEIGHTS, reduction="mean"), PARTLY, 3),
    "l1": (nn.L1Loss(), torch.randn(30, 2, generator=seeded(3)), 2),
    "sigmoid": (nn.BCEWithLogitsLoss(), (CLASSES > 0).float(), 1),
}


@pytest.mark.parametrize("name", OF_TORCH)
def test_losses_of_torch_are_what_torch_computes_of_all_at_once(name, monkeypatch):
    """In parts of seven rows, which weigh by what counts; a column for a vector is not broadcast."""
    for most in ("ROWS", "ROWS_BACKWARD"):  # the second where derivatives are kept
        monkeypatch.setattr(f"lab.probes.loss.{most}", 7)
    loss, targets, size = OF_TORCH[name]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, size))
    with torch.no_grad():
        outputs = model(IMAGES)
        expected = loss(outputs.reshape(targets.shape) if size == 1 else outputs, targets)
    assert probes.Loss(IMAGES, targets, loss)(model) == pytest.approx(float(expected), rel=1e-5)
    assert probes.Loss(IMAGES, targets, loss).differentiable(model).item() == pytest.approx(float(expected), rel=1e-5)


def test_losses_of_torch_know_where_classes_of_tokens_are():
    targets = torch.randint(VOCABULARY, TOKENS.shape, generator=seeded(4))
    expected = float(F.cross_entropy(Language()(TOKENS).logits.movedim(-1, 1), targets))
    assert probes.Loss(TOKENS, targets, F.cross_entropy)(Language()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("how", ["sum", "none"])
def test_what_is_no_mean_is_refused(how):
    with pytest.raises(ArgumentError, match=f"reduction='{how}'"):
        probes.Loss(IMAGES, CLASSES, nn.CrossEntropyLoss(reduction=how))
    with pytest.raises(ArgumentError, match=f"reduction='{how}'"):
        probes.Loss(IMAGES, CLASSES, partial(F.cross_entropy, reduction=how))
