"""Table 3: designs of the literature in the place of GELU and of softmax, and what the paper prints for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import Any

from lab.papers.transformers.settings import MLP

GELU, GLU, GLU_OURS = "GELU", "GLU/Swish", "GLU/ours"


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


# The printed table has 13 numbers in a row for 14 designs; the first eight are those of the text and of Table 5.
DESIGNS = (
    Design("Linear", {"mlp": "identity"}, perplexity=1.78, accuracy=59.9),
    Design(GELU, perplexity=1.58, accuracy=63.7),
    Design(MLP, learned=True, perplexity=1.57, accuracy=64.4),
    Design("ReLU", {"mlp": "relu"}, perplexity=1.60, accuracy=63.5),
    Design("TanH", {"mlp": "tanh"}, perplexity=1.71, accuracy=61.2),
)
