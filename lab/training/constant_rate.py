"""Optimizers of `ConstantRate`, with those that are said to end grokking: what they do to gradients, AdamW steps on."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_choice, check_whole
from lab.kinds import batch_key, check, optimizer
from lab.spec import ConstantRate, RunSpec, replace
from lab.training.optimizers import RULES, RunAdamW, RunDescent, decaying, orthogonal, trainable

KEEPS = ("best", "last")
MOMENTUM, RMS = 0.95, 0.2  # of Muon beside AdamW, as in torch: of gradients, and of what an Adam step is like
SLOW, ADDED = 0.98, 2.0  # of Grokfast: how long its mean of gradients remembers, and how many times it is added


class RunMuon(RunAdamW):
    """Muon (Jordan et al. 2024) for matrices, AdamW for all else, with one rate: steps are as long as AdamW's (Liu et
    al. 2025). Of one run it is `torch.optim.Muon` with adjust_lr_fn="match_rms_adamw", not cut to bfloat16."""

    def move(self, targets: Sequence[Tensor], rate: float) -> None:
        for weight, target, decays in zip(self.weights, targets, self.decaying, strict=True):
            if weight.grad is not None and decays and weight.dim() == 3 and min(weight.shape[1:]) > 1:
                gradient, weight.grad = weight.grad, None  # and so Adam leaves it alone
                mean = self.moment(weight, "exp_avg").lerp_(gradient, 1 - MOMENTUM)
                size = RMS * max(weight.shape[1:]) ** 0.5
                target.sub_(orthogonal(gradient.lerp(mean, MOMENTUM)), alpha=rate * size)
        super().move(targets, rate)


class RunGrokfast(RunAdamW):
    """AdamW, of gradients to which `ADDED` times their own running mean is added: Grokfast-EMA (Lee et al. 2024)."""

    def move(self, targets: Sequence[Tensor], rate: float) -> None:
        for weight in self.weights:
            if weight.grad is not None:
                state = self.state[weight]
                slow = state.setdefault("slow", weight.grad.clone()).lerp_(weight.grad, 1 - SLOW)  # it begins with one
                weight.grad.add_(slow, alpha=ADDED)
        super().move(targets, rate)


class RunPerpGrad(RunAdamW):
    """AdamW, of gradients without what is along the weights, tensor by tensor: ⊥Grad (Prieto et al. 2025). Their code,
    not their formula, gives gradients their old length again, which Adam all but undoes: it is left out."""

    def move(self, targets: Sequence[Tensor], rate: float) -> None:
        for weight in self.weights:
            if weight.grad is not None:
                within = tuple(range(1, weight.dim()))
                along, square = ((weight * other).sum(within, keepdim=True) for other in (weight.grad, weight))
                weight.grad.sub_(weight * (along / square.clamp_min(torch.finfo(weight.dtype).tiny)))
        super().move(targets, rate)


OF_ADAMW = {"adam": RunAdamW, "muon": RunMuon, "grokfast": RunGrokfast, "perpgrad": RunPerpGrad}
OPTIMIZERS = tuple(dict.fromkeys((*RULES, *OF_ADAMW)))  # what a `ConstantRate` may have


@optimizer.register(ConstantRate)
def _(recipe: ConstantRate, recipes: Sequence[ConstantRate], model: nn.Module) -> RunAdamW | RunDescent:
    weights = trainable(model)
    if made := OF_ADAMW.get(recipe.optimizer):
        return made(weights, [each.decay for each in recipes], decaying(model))
    return RunDescent(weights, len(recipes), recipe.optimizer == "rmsprop")


batch_key.register(ConstantRate, lambda recipe, spec: replace(recipe, rate=0.0, decay=0.0))


@check.register(ConstantRate)
def _(recipe: ConstantRate, spec: RunSpec) -> None:
    check_choice("optimizer", recipe.optimizer, OPTIMIZERS)
    if recipe.decay and recipe.optimizer not in OF_ADAMW:
        raise ArgumentError(f"decay={recipe.decay} has no effect with {recipe.optimizer}; give {', '.join(OF_ADAMW)}")
    if recipe.keep not in KEEPS:
        raise ArgumentError(f"keep={recipe.keep!r}; give {' or '.join(KEEPS)}")
    check_whole("average", recipe.average)
