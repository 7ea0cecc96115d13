"""Contract: the reasons that hold a clock down become a phrase; what the driver does not tell is unknown."""

import pytest

from kernels.check.reading import Reading, held_by, reading_of
from kernels.nvml import Gauges


@pytest.mark.parametrize(
    ("mask", "limit", "phrase"),
    [
        (0x0, 700.0, ""),
        (0x1, 700.0, ""),
        (0x4, 450.0, "power-capped at 450 W"),
        (0x4, None, "power-capped"),
        (0x20, None, "too hot"),
        (0x48, None, "too hot and slowed by the hardware"),
        (0x80 | 0x4, 700.0, "held by the server's power brake and power-capped at 700 W"),
        (0x2, None, "clocks fixed by a setting"),
        (0x10, None, "held to the clock of another GPU"),
    ],
)
def test_each_reason_is_a_phrase(mask, limit, phrase):
    assert held_by(mask, limit) == phrase


def test_a_reading_says_why_the_clock_was_held():
    busy = Gauges(clock_mhz=1100.0, power_w=449.0, power_limit_w=450.0, reasons=0x5)
    assert reading_of(busy) == Reading(
        clock_mhz=1100.0, power_w=449.0, power_limit_w=450.0, held_by="power-capped at 450 W"
    )
    assert reading_of(Gauges()) == Reading()
