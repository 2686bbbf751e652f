"""What Table 6 of the transformers paper prints: means of three seeds, of models of FineWeb, on a laptop's RTX 4090."""

from __future__ import annotations

from lab.papers.transformers.fineweb.settings import GELU, LINEAR, POLYNOMIAL, RELU, SPLINE

LAYERS = (2, 4, 8, 10, 12)
LOSSES = {  # on validation data
    LINEAR: (4.21, 4.05, 3.93, 3.90, 3.88),
    RELU: (4.01, 3.87, 3.78, 3.75, 3.73),
    GELU: (4.00, 3.89, 3.72, 3.75, 3.72),
    SPLINE: (4.00, 3.82, 3.72, 3.68, 3.69),
    POLYNOMIAL: (4.01, 3.82, 3.72, 3.70, 3.68),
}
SECONDS = {  # of training
    LINEAR: (1_440, 1_920, 2_940, 3_540, 19_680),
    RELU: (1_500, 1_980, 3_120, 13_080, 28_020),
    GELU: (1_440, 1_920, 3_090, 20_580, 34_020),
    SPLINE: (1_500, 2_070, 8_520, 26_700, 81_720),
    POLYNOMIAL: (1_440, 2_040, 3_180, 14_070, 29_100),
}
