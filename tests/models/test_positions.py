"""ALiBi: the slopes its paper prints, and the bias by a literal loop."""

import pytest
import torch

from lab.models.positions import alibi_bias, alibi_slopes


def test_slopes_of_eight_heads_are_those_of_the_paper():
    """Press et al. 2021, Section 3: "for 8 heads, the slopes are 1/2, 1/4, …, 1/256"."""
    assert alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


def test_slopes_of_sixteen_heads_have_the_ratio_of_a_square_root():
    wanted = torch.tensor([2 ** (-0.5 * (h + 1)) for h in range(16)])
    torch.testing.assert_close(alibi_slopes(16), wanted)


@pytest.mark.parametrize(("heads", "length"), [(1, 1), (2, 5), (4, 7)])
def test_bias_is_minus_slope_times_distance(heads, length):
    bias, slopes = alibi_bias(heads, length), alibi_slopes(heads)
    assert bias.shape == (heads, length, length)
    for head in range(heads):
        for query in range(length):
            for key in range(query + 1):
                assert bias[head, query, key] == -slopes[head] * (query - key)
