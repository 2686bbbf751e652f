"""ALiBi: the slopes its paper prints, and the bias by a literal loop. Buckets: the formula in whole numbers."""

import pytest
import torch

from lab.models.hyper import relative_buckets
from lab.models.transformer import alibi_bias, alibi_slopes


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


def buckets(length):
    """h + ⌊ln(n / h) / ln(S / h) · (S − h)⌋ for n ≥ h = ⌊S / 2⌋, without a logarithm: the largest j for which
    (S / h)^j ≤ (n / h)^(S − h), which no larger n has smaller."""
    half = length // 2
    step, left, right = 0, length, half  # S^(j + 1) and h^(j + 1)
    for n in range(half, length):
        while left * half ** (length - half) <= n ** (length - half) * right:
            step, left, right = step + 1, left * length, right * half
        yield min(half + step, length - 1)


@pytest.mark.parametrize("length", range(2, 201))
def test_buckets_of_every_length_follow_the_formula(length):
    found = relative_buckets(length)[-1].flip(0).tolist()
    assert found == [*range(length // 2), *buckets(length)]


def test_buckets_of_sraven_with_three_features():
    """Worked out by hand from the reference code's formula: 17 of 27 is never used."""
    assert relative_buckets(27)[-1].flip(0).tolist() == [*range(17), *range(18, 24), 23, 24, 25, 26]
