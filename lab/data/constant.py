"""The constant answer: what a model scores that says the same of every example."""

from __future__ import annotations

import torch
from torch import Tensor

from lab.data import measures


def constant_score(metric: str | measures.Function, learned: Tensor, targets: Tensor, classes: int = 0) -> float | None:
    """The score on `targets` of the constant answer that is best for `learned`: how often each class is there, the mean
    of values, or their median where the metric is "mae". Targets below 0 that should be classes are no examples.

    classes: how many there are; 0: targets are values. None where a metric of one's own cannot read such answers.

    >>> labels = torch.tensor([0, 0, 1])
    >>> round(constant_score("accuracy", labels, labels, 2), 3), constant_score("r2", labels.float(), labels.float())
    (0.667, 0.0)
    """
    if classes:
        shares = torch.bincount(learned[learned >= 0].flatten(), minlength=classes).double()
        answer = (shares / shares.sum()).clamp_min(1e-12).log()
    else:
        values = learned.double()
        answer = values.median(0).values if metric == "mae" else values.mean(0)
    said = answer.expand(1, *targets.shape[: targets.ndim - answer.ndim + bool(classes)], *answer.shape)
    try:
        return float(measures.scores(metric, said, targets if classes else targets.double(), last=True)[0])
    except Exception:  # a function of the user's own may want anything
        if isinstance(metric, str):
            raise
        return None
