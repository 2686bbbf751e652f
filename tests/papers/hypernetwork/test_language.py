"""Figure 6: what is said of HYLA's loss between those of softmax and linear attention."""

from lab.catalogue.registry import entry
from tests.papers.hypernetwork.planted import language


def test_the_gap_that_hyla_closes_has_an_interval_or_is_not_said():
    summary, table = entry("hypernetwork/fig6").summary, language(True).assign(task="shakespeare char")
    assert (
        summary(table).startswith("HYLA closes 8")
        and "% [" in summary(table)
        and "(Shakespeare, char)" in summary(table)
    )
    for some in (
        language(False),
        table[table["seed"] == 0],
        *(table[table["method"] != m] for m in ("softmax", "hyla")),
    ):
        assert summary(some).startswith("Loss at the end")
