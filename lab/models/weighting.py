"""What attention makes of dot products of queries and keys: softmax, and its substitutes in Table 3 of the transformers
paper.

softmax   softmax(s), s = QᵀK / √d, plus the bias of ALiBi where there is one
adaptive  softmax(β s) (Veličković et al. 2024): with H the entropy of softmax(s), in nats, β = max(1, p(H)) where
          H > 0.5, else 1, with the polynomial p of their Figure 5. They change trained models; here it is in training,
          too, and gradients pass through β: a guess.
norm      NormSoftmax (Jiang et al. 2023): softmax(QᵀK / min(σ, √d)), σ the standard deviation of QᵀK over the keys.
          Guesses: over those that the query sees, of the population, with EPSILON under the root.
p1, p3    (QᵀK)^p / √n (Saratchandran et al. 2024), neither normalized nor divided by √d, as the transformers paper
          prints it. Guesses: n is the longest input of the model, so that what a token receives does not depend on how
          many follow; ALiBi multiplies by exp(bias), as in kernel attention.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.errors import check_choice

POLYNOMIALS = {"p1": 1, "p3": 3}
WEIGHTINGS = ("softmax", "adaptive", "norm", *POLYNOMIALS)
INVERSE_TEMPERATURE = (-0.037, 0.481, -2.3, 4.917, -1.791)  # p, highest power first
EPSILON = 1e-5  # under the root of NormSoftmax: where a query sees one key, the deviation is 0


def weigh(name: str, dots: Tensor, width: int, length: int, hidden: Tensor, bias: Tensor | None = None) -> Tensor:
    """The weight of each key for each query, (…, query, key); 0 where `hidden`.

    name: one of WEIGHTINGS. dots (…, query, key): QᵀK. width: d, of a query. length: n. hidden (query, key): True
    where a query must not see a key. bias: what ALiBi adds, of a shape that fits.

    >>> hidden = torch.ones(3, 3, dtype=torch.bool).triu(1)
    >>> weigh("softmax", torch.zeros(3, 3), 4, 3, hidden)[1]
    tensor([0.5000, 0.5000, 0.0000])
    """
    check_choice("weighting", name, WEIGHTINGS)
    if name in POLYNOMIALS:
        weights = dots ** POLYNOMIALS[name] / length**0.5
        return (weights if bias is None else weights * bias.exp()).masked_fill(hidden, 0.0)
    return before_softmax(name, dots, width, hidden, bias).softmax(-1)


def before_softmax(name: str, dots: Tensor, width: int, hidden: Tensor, bias: Tensor | None = None) -> Tensor:
    """What the softmax of "softmax", "adaptive" or "norm" is taken of, -inf where `hidden`. As for `weigh`."""
    scale: Tensor | float = width**0.5
    if name == "norm":
        scale = _deviation(dots, hidden).clamp(max=scale)
    scores = dots / scale if bias is None else dots / scale + bias
    if name == "adaptive":  # multiplied before -inf comes in, which has no gradient times a number
        scores = scores * _sharpening(scores.masked_fill(hidden, -torch.inf))
    return scores.masked_fill(hidden, -torch.inf)


def _deviation(dots: Tensor, hidden: Tensor) -> Tensor:
    """Standard deviation over the keys that are seen, (…, query, 1)."""
    visible = ~hidden
    count = visible.sum(-1, keepdim=True)
    mean = (dots * visible).sum(-1, keepdim=True) / count
    return (((dots - mean) * visible).square().sum(-1, keepdim=True) / count + EPSILON).sqrt()


def _sharpening(scores: Tensor) -> Tensor:
    """β (…, query, 1) of the adaptive softmax."""
    logs = scores.log_softmax(-1)
    entropy = -(logs.exp() * logs.masked_fill(logs == -torch.inf, 0.0)).sum(-1, keepdim=True)
    inverse = torch.zeros_like(entropy)
    for coefficient in INVERSE_TEMPERATURE:
        inverse = inverse * entropy + coefficient
    return torch.where(entropy > 0.5, inverse.clamp(min=1.0), 1.0)
