"""Contract: each way to encode gives the codes of fp8core.formats, for every format and rounding."""

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.rounding import Rounding
from kernels.device import DeviceKind, launching
from kernels.quantize.facts import element_facts
from kernels.quantize.tables import code_table
from tests.kernels.cases import WHERE
from tests.sweeps import label

CODES = tuple(format_ for format_ in FORMATS.values() if format_.bits in (4, 6, 8) and format_.signed)
ROUNDINGS = tuple(rounding for rounding in Rounding if rounding is not Rounding.STOCHASTIC)
BITS = [(format_, rounding, DeviceKind.INTERPRETER) for format_ in CODES for rounding in ROUNDINGS]
CASTS = [(FORMATS[name], Rounding.NEAREST_EVEN, DeviceKind.GPU) for name in ("e4m3", "e5m2", "e3m2", "e2m3")]
BLOCK = 1 << 12


def named(case: tuple) -> str:
    return f"{label(case[0])}-{case[1].name}"


def patterns(format_) -> np.ndarray:
    """float32: one bf16 number in three, and every code, tie between codes and limit with its neighbors."""
    every = (np.arange(0, 1 << 16, 3, dtype=np.uint32) << 16).view(np.float32)
    values = format_.values
    codes = np.unique(np.abs(values[np.isfinite(values)])).astype(np.float32)
    ties = (codes[1:] + codes[:-1]) / 2
    beyond = np.float32(format_.max) * np.array([1, 1.03, 1.04, 1.07, 1.2, 2], np.float32)
    marks = np.concatenate([codes, ties, beyond, [np.float32(np.inf)]])
    near = [np.nextafter(marks, np.float32(side)) for side in (-np.inf, np.inf)]
    marks = np.concatenate([marks, *near])
    x = np.concatenate([every, marks, -marks])
    return x[~np.isnan(x)]


@pytest.mark.parametrize(
    ("format_", "rounding", "kind"),
    [pytest.param(*case, id=named(case)) for case in BITS]
    + [pytest.param(*case, id=f"{named(case)}-cast", marks=pytest.mark.gpu) for case in CASTS],
)
def test_numbers_become_the_codes_of_the_format(format_, rounding, kind):
    from kernels.quantize.kernel import encode_kernel

    x, facts, table = patterns(format_), element_facts(format_, rounding, kind), None
    codes = torch.empty(x.size, dtype=torch.uint8, device=WHERE)
    if facts.encode_by == "table":
        table = torch.from_numpy(code_table(format_, rounding)).to(WHERE)
    with launching(codes):
        encode_kernel[(-(-x.size // BLOCK),)](
            torch.from_numpy(x).to(WHERE), codes, table, x.size, ELEMENT=facts, BLOCK=BLOCK
        )
    np.testing.assert_array_equal(codes.cpu().numpy(), format_.encode(x, rounding))


def test_every_way_to_encode_is_tried():
    ways = {element_facts(*case).encode_by for case in (*BITS, *CASTS)}
    assert ways == {"cast", "wide cast", "few binades", "binades", "integer", "table"}
