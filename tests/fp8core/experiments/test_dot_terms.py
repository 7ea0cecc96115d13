"""Contract: terms of a sum have the signs and large ones that their kind names; a longer K goes on."""

import numpy as np
import pytest

from fp8core.experiments.dot_terms import GONE_AT, LARGE, LARGE_AT, TermKind, draw_terms

LAWS = (TermKind.ZERO_MEAN, TermKind.SAME_SIGN, TermKind.ONE_LARGE, TermKind.CANCELED)


@pytest.mark.parametrize("kind", LAWS)
def test_terms_are_what_their_kind_names(kind) -> None:
    a, b = draw_terms(kind, (3, 4), 256, 0)
    assert (a.shape, b.shape) == ((3, 256), (4, 256))
    products = a[:, None] * b[None]
    assert (products.min() >= 0) is np.bool_(kind is TermKind.SAME_SIGN)
    large = [at for at in range(256) if (np.abs(products[..., at]) >= LARGE**2).all()]
    wanted = {TermKind.ONE_LARGE: [LARGE_AT], TermKind.CANCELED: sorted([LARGE_AT, GONE_AT])}
    assert large == wanted.get(kind, [])
    if kind is TermKind.CANCELED:
        assert (products[..., LARGE_AT] == -products[..., GONE_AT]).all()


@pytest.mark.parametrize("kind", LAWS)
def test_a_longer_sum_begins_with_a_shorter_one(kind) -> None:
    for long, short in zip(draw_terms(kind, (2, 2), 256, 5), draw_terms(kind, (2, 2), 160, 5), strict=True):
        np.testing.assert_array_equal(long[:, :160], short)
