"""Contract: pages offer refolding where scales fold, and say that what it gave is not bit-exact."""

from dataclasses import replace

import pytest

from kernels.gemm.numerics import Summation
from kernels.measure.jobs import GemmJob
from pages.kit.gemm.presets import refusal
from pages.live_gemm.words import error_sentence, geometry
from tests.pages.gemm_rows import gpu_row

PAGE = "pages/live_gemm.py"
PLAIN = GemmJob(recipe="mxfp8", matmul="fprop", m=4096, n=4096, k=4096)
REFOLDED = replace(PLAIN, accumulation=Summation.REFOLDED)


@pytest.mark.parametrize(("recipe", "folds"), [("mxfp8", True), ("mxfp8_square", False), ("rowwise", False)])
def test_it_is_offered_where_scales_fold(open_app, recipe, folds):
    at = open_app(PAGE, recipe=recipe, accumulation="refolded", m="256", n="256", k="256")
    assert not at.exception
    assert ("Refolded, not bit-exact" in at.selectbox(key="accumulation").options) is folds
    assert at.selectbox(key="accumulation").value == ("refolded" if folds else "recipe")
    job = replace(PLAIN, recipe=recipe, m=256, n=256, k=256)
    if folds:
        job = replace(job, accumulation=Summation.REFOLDED)
    assert at.button(key="run").disabled is (refusal(job, has_gpu=False) is not None)
    words = next(one.value for one in at.markdown if one.value.startswith("**A** is "))
    assert (
        "not bit-exact: first the scales are merged into one in fp32 for 1 × 128 of A and for" in words
    ) is folds
    assert not folds or words.endswith(" 2 rescales per output element.")


@pytest.mark.parametrize(
    ("matmul", "line"), [("fprop", "1 × 128"), ("dgrad", "1 × 128"), ("wgrad", "128 × 1")]
)
def test_it_is_said_what_shares_a_scale_then(matmul, line):
    words = geometry(replace(REFOLDED, matmul=matmul))
    assert f"for {line} of A and for 128 × 128 of B, and codes that become too small" in words


def test_the_kernel_s_share_of_the_error_is_said_to_have_refolding_in_it():
    plain, refolded = (error_sentence(gpu_row(job)) for job in (PLAIN, REFOLDED))
    assert refolded.replace("refolding, ", "") == plain != refolded
