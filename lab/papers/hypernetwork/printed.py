"""Numbers that the hypernetwork paper prints (Table A1), and ours in the same form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.models.hyper import METHODS
from lab.papers.hypernetwork.settings import FIGURE_METHODS

if TYPE_CHECKING:
    import pandas as pd

# In percent, with the standard error over 3 seeds. Logic: R² on unseen combinations with 32 tokens and 70 % held out.
# SRAVEN: accuracy on unseen combinations, 4 layers, 20 million problems.
PRINTED: dict[str, dict[str, tuple[float, float]]] = {
    "logic": {
        "softmax": (63.28, 2.31),
        "linear": (59.89, 5.22),
        "hyla": (81.13, 7.77),
        "linear_rms_head": (68.93, 5.10),
        "linear_rms_head_nonlinear": (56.91, 4.25),
        "hyla_no_rms_head": (81.27, 7.88),
        "hyla_linear": (84.54, 5.32),
        "hyla_linear_no_rms_head": (79.42, 7.43),
        "hyla_softmax": (70.98, 7.08),
        "hyla_deep": (87.65, 4.54),
        "softmax_experts": (63.83, 6.07),
        "linear_experts": (60.09, 6.16),
        "hyla_experts": (82.37, 6.55),
    },
    "sraven": {
        "softmax": (56.56, 1.05),
        "linear": (56.30, 1.11),
        "hyla": (69.13, 1.90),
        "linear_rms_head": (59.01, 2.50),
        "linear_rms_head_nonlinear": (55.38, 0.32),
        "hyla_no_rms_head": (62.53, 5.73),
        "hyla_linear": (56.54, 0.21),
        "hyla_linear_no_rms_head": (56.33, 1.41),
        "hyla_softmax": (38.21, 2.98),
        "hyla_deep": (66.59, 0.08),
        "softmax_experts": (57.68, 1.31),
        "linear_experts": (64.34, 4.3),
        "hyla_experts": (66.94, 3.94),
    },
}
PAPER = {method: PRINTED["logic"][method] for method in FIGURE_METHODS}  # Table A1
AT = (32, 0.7)  # tokens and fraction of these
PRINTED_AT = 32  # tokens of the printed column of fuzzy logic


def means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a task and method, in the order of Table A1, in percent: task, method, mean over seeds, error (standard
    error; NaN for one run), runs in the mean, lost (diverged), paper, paper_error.

    table: task, method, tokens (NaN where a task has none), seed, value (0 to 1), diverged, chosen, one row a run.
    """
    import pandas as pd

    table, rows = table[table["chosen"]], []
    for task in (task for task in PRINTED if task in set(table["task"])):
        for method in (method for method in METHODS if method in set(table["method"])):
            part = table[(table["task"] == task) & (table["method"] == method)]
            values = 100 * part["value"].to_numpy(float)
            values = values[np.isfinite(values)]
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            rows.append(
                {
                    "task": task,
                    "method": method,
                    "mean": values.mean() if len(values) else np.nan,
                    "error": error,
                    "runs": len(values),
                    "lost": int(part["diverged"].astype(bool).sum()),
                    **dict(zip(("paper", "paper_error"), PRINTED[task][method], strict=True)),
                }
            )
    return pd.DataFrame(rows)
