"""What tells two groups of problems apart, in words and a table for LatentExplorer."""

from __future__ import annotations

import html

import numpy as np

from lab.probes.contrast import Contrast
from lab.widgets.problems import CELL, TABLE


def difference(result: Contrast, names: list[str], trait: str, sizes: tuple[int, int], layer: int) -> str:
    """What tells A from B, as HTML."""
    order = np.argsort(-abs(result.share_a - result.share_b), kind="stable")
    rows = [
        f"<tr><td>{html.escape(names[c])}</td><td {CELL}>{100 * result.share_a[c]:.0f} %</td>"
        f"<td {CELL}>{100 * result.share_b[c]:.0f} %</td></tr>"
        for c in order
        if result.share_a[c] or result.share_b[c]
    ]
    best, score = names[result.widest], result.decoding.accuracy
    shares = [f"{100 * part[result.widest]:.0f} %" for part in (result.share_a, result.share_b)]
    note = "" if result.unseen else ", of combinations that it learned from: there are too few to keep some back"
    numbers = [f"{100 * float(value):.0f} %" for value in (score.value, score.chance, score.shuffled.mean())]
    count, wider = len(result.gaps), int((result.gaps >= result.gap).sum())
    low, high = (f"{100 * share:.0f}" for share in np.quantile(result.elsewhere, (0.05, 0.95)))
    usual = (result.elsewhere >= float(score.value)).mean() > 0.05
    return paragraph(
        f"A has {sizes[0]} problems, B {sizes[1]}. The {trait} that separates them: <b>{html.escape(best)}</b>,"
        f" {shares[0]} of A and {shares[1]} of B; {wider} of {count} pairs of other regions of this map, as large and"
        f" about as far apart, differ as much in a {trait}. A logistic regression of the codes in layer {layer} tells A"
        f" from B in {numbers[0]} of problems that it did not learn from{note}; the other regions in {low} to {high} %"
        f"{': regions of a map differ, so this says nothing of A and B' if usual else ''}. A constant answer is right"
        f" in {numbers[1]}, one that learned shuffled labels in {numbers[2]}."
        f"<table {TABLE}><tr><th>{trait}</th><th {CELL}>A</th><th {CELL}>B</th></tr>{''.join(rows)}</table>"
    )


def paragraph(content: str) -> str:
    """Text of a readable width, as HTML."""
    return f'<div class="lab-difference" style="line-height: 1.4; max-width: 50rem">{content}</div>'
