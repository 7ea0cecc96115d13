"""Contract: rounding to a format's values needs no codes and gives what encoding and decoding do."""

import numpy as np
import pytest

from fp8core.formats import FORMATS


@pytest.mark.parametrize("format_", FORMATS.values(), ids=FORMATS)
def test_rounding_to_values_is_encoding_and_decoding(format_) -> None:
    codes = np.arange(1 << format_.bits, dtype=np.uint32) if format_.bits <= 16 else _some_codes(format_)
    values = format_.decode(codes)
    values = np.unique(values[np.isfinite(values)])
    ties = (values[1:] + values[:-1]) / 2
    beyond = format_.max + format_.gap_beyond / 2 * np.array([-1.0, 0.5, 1.0, 1.5, 3.0])
    x = np.concatenate([values, ties, beyond, [0.0, 5e-324, 1e308, np.inf]])
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    x = np.concatenate([x, -x]) if format_.signed else x[x >= 0]
    np.testing.assert_array_equal(format_.rounded(x), format_.decode(format_.encode(x)))
    assert np.isnan(format_.rounded([np.nan, 1.0])).tolist() == [True, False]
    assert format_.rounded(1.25) == format_.rounded([1.25])[0]


def test_rounding_leaves_what_it_is_given_as_it_was() -> None:
    x = np.array([1.3, -2.7, 1e9])
    FORMATS["e4m3"].rounded(x)
    assert x.tolist() == [1.3, -2.7, 1e9]


def _some_codes(format_) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 1 << format_.bits, 4000, np.uint32)
