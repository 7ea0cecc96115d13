"""Contract: a drawn GEMM is plain data, its ratio is torch's time over ours, and a file keeps it."""

from dataclasses import replace

import pytest

from kernels.bench.any_shape import (
    any_shape_path,
    percentile,
    read_any_shape,
    record_any_shape,
    spread,
)
from kernels.bench.ceilings.limits import Impossible
from kernels.bench.lines import Kept
from kernels.bench.records import read_records
from tests.kernels.bench.any_shape.made_up import ROW


def test_a_ratio_above_one_is_faster_than_torch():
    assert ROW.ratio == 1.5
    assert ROW.intensity == 32.0
    assert ROW.tflop_s == pytest.approx(2 * 256 * 128 * 512 / 2e-6 / 1e12)
    assert ROW.mnk == (256, 128, 512)
    assert ROW.is_against_bf16
    assert not replace(ROW, peer="torch._scaled_mm").is_against_bf16


def test_rows_come_back_from_their_file_and_a_line_that_is_none_is_named(tmp_path):
    assert read_any_shape(tmp_path) == Kept(rows=(), bad=())
    other = replace(ROW, regret=None, commit="abc1234+", clock_mhz=1500.0)
    path = record_any_shape(ROW, tmp_path)
    assert record_any_shape(other, tmp_path) == path == any_shape_path(tmp_path, "A GPU")
    path.write_bytes(path.read_bytes() + b"{}\n")
    found = read_any_shape(tmp_path)
    assert found.rows == (ROW, other)
    assert [(bad.file, bad.line) for bad in found.bad] == [("a_gpu.jsonl", 3)]
    records = read_records(tmp_path)
    assert (records.rows, records.any_shape, records.bad) == ((), (ROW, other), found.bad)


def test_a_time_that_no_gpu_reaches_is_not_kept(tmp_path):
    fast = replace(ROW, gpu="NVIDIA H200", peer_us=1e-3)
    with pytest.raises(Impossible, match=r"^bf16 torch\.mm: .* TFLOP/s"):
        record_any_shape(fast, tmp_path)


def test_a_draw_is_summed_up_by_its_percentiles():
    found = spread([4.0, 1.0, 2.0])
    assert (found.count, found.worst, found.median, found.best) == (3, 1.0, 2.0, 4.0)
    assert found.p10 == pytest.approx(1.2)
    assert found.geometric_mean == pytest.approx(2.0)
    assert spread([]) is None
    assert [percentile([5, 0, 10], part) for part in (0, 0.25, 0.5, 1)] == [0, 2.5, 5, 10]
    for values, part in (([], 0.5), ([1], 1.5)):
        with pytest.raises(ValueError, match="a percentile needs"):
            percentile(values, part)
