"""Contract: every split of eight bits is measured, and a mantissa pays more than range under a scale."""

from fp8core.formats import FORMATS
from pages.formats.splits import BITS, KINDS, split, split_rows, words


def test_every_split_of_every_kind_has_a_row():
    rows = split_rows()
    assert len(rows) == len(KINDS) * (BITS - 1)
    assert {split(bits).bits for bits in range(1, BITS)} == {BITS}
    assert split(4).min_normal == FORMATS["e4m3"].min_normal


def test_the_upper_half_of_bf16_is_the_worst_on_gaussian_numbers():
    gaussian = {row["split"]: row["sqnr"] for row in split_rows()[: BITS - 1]}
    assert min(gaussian, key=gaussian.__getitem__) == "E7M0"
    assert gaussian["E4M3"] > gaussian["E5M2"] + 5
    assert f"{gaussian['E7M0']:.1f} dB of SQNR" in words()
