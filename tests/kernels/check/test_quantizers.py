"""Contract: casts and quantizers are compared bit for bit, whatever their operands come as, and one wrong bit
fails the line with its place.
"""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Recipe
from kernels.check import quantizers
from kernels.check.machine import Machine, host
from kernels.check.report import SHARE_OF_COPY, Verdict
from kernels.check.speed import time_quantizer
from kernels.check.steps import Findings
from kernels.device import current_device
from kernels.quantize.plan import plan_quantize
from tests.kernels.cases import OPERANDS
from tests.sweeps import distinct


def test_all_bf16_numbers_and_all_codes_are_cast():
    line = quantizers.check_casts(FORMATS["e4m3"], current_device())
    nans = 2 * 127
    assert line.figures[0].value == 256 + (1 << 16) - nans


def test_a_wrong_code_fails_the_cast(monkeypatch):
    real = quantizers.encoded

    def off_by_one(format_, x, device):
        codes = real(format_, x, device)
        codes[300] ^= 1
        return codes

    monkeypatch.setattr(quantizers, "encoded", off_by_one)
    line = quantizers.check_casts(FORMATS["e5m2"], current_device())
    assert line.verdict is Verdict.FAIL
    assert line.detail.startswith("1 numbers get another code")
    monkeypatch.setattr(quantizers, "encoded", real)
    monkeypatch.setattr(quantizers, "decoded", lambda format_, device: np.zeros(256))
    line = quantizers.check_casts(FORMATS["e5m2"], current_device())
    assert line.verdict is Verdict.FAIL
    assert "codes are misread" in line.detail


@pytest.mark.parametrize("part", ["codes", "scale"])
def test_a_wrong_bit_fails_the_quantizer(monkeypatch, part):
    real = quantizers.quantized

    def flipped(*arguments, **options):
        made = real(*arguments, **options)
        whole = getattr(made, part).clone(memory_format=torch.contiguous_format)
        whole.view(torch.uint8)[-1, -1] ^= 1
        return dataclasses.replace(made, **{part: whole})

    monkeypatch.setattr(quantizers, "quantized", flipped)
    fprop = (MATMULS["fprop"],)
    line = quantizers.check_quantizers(RECIPES["mxfp8"], fprop, {}, current_device())
    assert line.verdict is Verdict.FAIL
    assert "of 2 operands differ. Fprop, A: " in line.detail
    assert "the kernel says" in line.detail


def test_samples_are_bf16_numbers_with_what_is_hard():
    x = quantizers.sample("broken", (80, 144))
    assert np.array_equal(torch.from_numpy(x).bfloat16().float().numpy(), x, equal_nan=True)
    assert np.isnan(x).any()
    assert np.isinf(x).any()
    wide = quantizers.sample("wide", (80, 144))
    assert np.isfinite(wide).all()
    assert (wide[:, :36] == 0).all()
    assert (np.abs(wide[wide != 0]) < np.finfo(np.float32).tiny).any()


SHAPE = (8192, 8192)
GOAL = 0.8
ALONG_ROWS = distinct(OPERANDS, lambda *case: Recipe.operand(*case).spec)
"""One operand of each spec; here K runs along the rows of all of them."""


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.parametrize(("recipe", "matmul", "side"), ALONG_ROWS.values(), ids=ALONG_ROWS)
def test_rows_are_quantized_at_the_speed_of_memory(recipe, matmul, side):
    operand = replace(recipe.operand(matmul, side), k_is_rows=False)
    spec = operand.spec
    findings = Findings(host(), Machine().uuid(0))
    line = time_quantizer(recipe.name, operand, findings, current_device())
    assert line.verdict is Verdict.PASS, line.detail
    element = plan_quantize(spec, *SHAPE).only.element
    simple = spec.rotation is None and spec.saved_as is None and len(spec.scale_rule.search) == 1
    if simple and not element.is_random and element.encode_by != "table":
        share = next(figure.value for figure in line.figures if figure.name == SHARE_OF_COPY)
        assert share > GOAL, f"{line.detail} {spec.format.name} {spec.tile}, {element.encode_by}"
