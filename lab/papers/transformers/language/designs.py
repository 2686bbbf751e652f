"""Table 3: designs of the literature in the place of GELU and of softmax, and what the paper prints for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import Any

from lab.papers.transformers.settings import MLP

GELU, GLU, GLU_OURS = "GELU", "GLU/Swish", "GLU/ours"
ALONE, TOGETHER = "ours, M = 1", "ours, M = 6"
MODELS = {ALONE: 1, TOGETHER: 6}  # M of stage I, in Table 5
TABLE_5 = {  # printed training perplexity, and accuracy in %, by layers
    2: {"Linear": (1.78, 59.9), GELU: (1.58, 63.7), ALONE: (1.59, 63.8), TOGETHER: (1.57, 64.3)},
    4: {"Linear": (1.73, 60.8), GELU: (1.53, 65.1), ALONE: (1.53, 65.3), TOGETHER: (1.52, 65.4)},
}


@dataclass(frozen=True)
class Design:
    """One column of the table.

    changes: to the baseline's model. learned: its MLP's function is searched for. perplexity, accuracy: printed
    (training; % on validation data), NaN where the columns of the printed table cannot be told apart.
    """

    name: str
    changes: dict[str, Any] = field(default_factory=dict)
    learned: bool = False
    perplexity: float = nan
    accuracy: float = nan


# The printed table has 13 numbers in a row for 14 designs. The first eight are those of the text and of Table 5; which
# five of the other six the rest belong to is not to be seen, and none is guessed.
DESIGNS = (
    Design("Linear", {"mlp": "identity"}, perplexity=1.78, accuracy=59.9),
    Design(GELU, perplexity=1.58, accuracy=63.7),
    Design(MLP, learned=True, perplexity=1.57, accuracy=64.4),
    Design(GLU, {"mlp": "silu", "gated": True}, perplexity=1.59, accuracy=63.7),
    Design(GLU_OURS, {"gated": True}, learned=True, perplexity=1.58, accuracy=64.0),
    Design("ReLU", {"mlp": "relu"}, perplexity=1.60, accuracy=63.5),
    Design("ReLU²", {"mlp": "relu2"}, perplexity=1.60, accuracy=63.6),
    Design("TanH", {"mlp": "tanh"}, perplexity=1.71, accuracy=61.2),
    Design("Sinc", {"mlp": "sinc"}),
    Design("Gaussian", {"mlp": "gaussian"}),
    Design("P1", {"weighting": "p1"}),
    Design("P3", {"weighting": "p3"}),
    Design("adaptive softmax", {"weighting": "adaptive"}),
    Design("NormSoftmax", {"weighting": "norm"}),
)
