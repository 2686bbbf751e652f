"""Training a decoder from elsewhere, a Hugging Face GPT-2 or a module of your own, on one of the lab's tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from lab.spec import AdamTrapezoid
from lab.tasks.task import Split, Task
from lab.training.defaults import torch_defaults
from lab.training.schedules import factor
from lab.training.sequences import Batch, Data, Order

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = 1000  # of a split, at most: accuracies and losses of an evaluation


@torch_defaults()
def fit(model: nn.Module, task: Task, recipe: AdamTrapezoid, seed: int = 0, split: str = "test") -> pd.DataFrame:
    """Train a model where it is, with Adam, by the recipe; one row an evaluation.

    model: tokens (batch, length) int64 → logits (batch, length, vocabulary), or an object that has them as `logits`. It
        must be causal: sequences are padded on the right, without a mask. What is frozen stays so.
    seed: of the order of examples: with the same seed two models see the same batches as the lab's own models do.

    Columns: seed, step, loss (nats a token, on `split`), accuracy (there, 0 to 1), diverged. Training ends where a
    training loss is not finite; all rows then say diverged. The model comes back in the mode it was in.

    >>> from lab import tasks
    >>> class Guess(nn.Embedding):  # the next token from the last one alone
    ...     pass
    >>> task = tasks.load("memorize")
    >>> size = len(task.vocabulary)
    >>> table = fit(Guess(size, size), task, AdamTrapezoid(steps=4, rate=0.01, batch=8, every=2))
    >>> table["step"].tolist(), table["diverged"].any().item()
    ([2, 4], False)
    """
    import pandas as pd

    weights = [weight for weight in model.parameters() if weight.requires_grad]
    device, training = next(model.parameters()).device, model.training
    optimizer = torch.optim.Adam(weights, lr=recipe.rate, betas=recipe.betas)
    data, evaluation = Data(task.training, device), Data(_first(task.splits[split]), device)
    whole = evaluation.at(torch.arange(len(evaluation), device=device)[None])
    order = Order([seed], len(data), recipe.batch)
    rows, diverged = [], False
    for step in range(recipe.last):
        optimizer.param_groups[0]["lr"] = recipe.rate * factor(step, recipe)
        batch = data.at(order.at(step).to(device))
        loss = batch.loss(_logits(model.train(), batch))
        diverged = not bool(loss.isfinite())
        if diverged:
            break
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        if (step + 1) % recipe.every == 0 or step + 1 == recipe.last:
            rows.append({"seed": seed, "step": step + 1} | _measured(model.eval(), whole, task.metric))
    model.train(training)
    return pd.DataFrame(rows, columns=["seed", "step", "loss", "accuracy"]).assign(diverged=diverged)


def _first(split: Split) -> Split:
    return Split(split.tokens[:EXAMPLES], split.output[:EXAMPLES])


def _logits(model: nn.Module, batch: Batch) -> Tensor:
    """Logits of the output tokens, (1, batch, K, vocabulary)."""
    output = model(batch.tokens[0])
    output = getattr(output, "logits", output)
    return output.gather(1, batch.positions[0, ..., None].expand(-1, -1, output.shape[-1]))[None]


@torch.no_grad()
def _measured(model: nn.Module, batch: Batch, metric: str) -> dict[str, float]:
    logits = _logits(model, batch)
    hits, weights = batch.hits(logits)[0], batch.weights[0]
    right = hits.all(-1).float().mean() if metric == "sequence" else (hits * weights).sum() / weights.sum()
    return {"loss": float(batch.loss(logits)), "accuracy": float(right)}
