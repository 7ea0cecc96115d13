"""Contract: a quoted speed is of a GEMM that is recorded here too, and says who measured it."""

import pytest

from kernels.bench.peers.quoted import quoted
from kernels.bench.shapes import CHECKED, STANDARD


def test_every_quoted_speed_is_of_a_standard_shape_beside_torch_s_op():
    found = quoted()
    assert {one.library for one in found} == {"DeepGEMM"}
    assert len({one.job for one in found}) == len(found)
    for one in found:
        assert (one.job.m, one.job.n, one.job.k) in STANDARD
        assert 1.0 < one.ratio < 1.2
        assert "measured by this project" in one.source
    (checked,) = [one for one in found if (one.job.m, one.job.k, one.job.matmul) == (*CHECKED[::2], "fprop")]
    assert checked.ratio == pytest.approx(1.148, abs=1e-3)
