"""Contract: a row of a quantizer counts least bytes, survives JSON, and is refused where it is impossible."""

from dataclasses import replace

import pytest

from kernels.bench.quantizers import QuantizerKernel, quantizer_path, read_quantizers, record_quantizer
from tests.kernels.bench.quantizers.made_up import JOB, row


def test_bytes_are_inputs_codes_and_scales_once_each():
    elements = JOB.rows * JOB.columns
    assert JOB.bytes == elements * (2 * 2 + 2) + 2 * 4 * elements // 128
    alone = replace(JOB, kernel=QuantizerKernel.QUANTIZE, matmuls=("fprop",), recipe="mxfp4")
    assert alone.bytes == elements * 2 + elements // 2 + elements // 32
    backward = replace(JOB, kernel=QuantizerKernel.SWIGLU_BACKWARD, tensor="dy", matmuls=("dgrad",))
    assert backward.bytes == elements * 3 + elements + 4 * elements // 128
    tensor = replace(alone, recipe="per_tensor")
    assert tensor.bytes == elements * 3 + 4


def test_a_row_comes_back_from_its_file(tmp_path):
    path = record_quantizer(row(), tmp_path)
    assert path == quantizer_path(tmp_path, "NVIDIA H200")
    found = read_quantizers(tmp_path)
    assert (found.rows, found.bad) == ((row(),), ())


def test_ratios_are_speeds():
    one = row()
    assert one.ratio == pytest.approx(JOB.bytes / 100 / 1e3 / 4000)
    assert (one.over_compiled, one.over_apart) == (2.0, 2.5)
    assert row(compiled=None).over_compiled is None
    assert row(moved_bytes=2 * JOB.bytes).moved_ratio == pytest.approx(2 * one.ratio)
