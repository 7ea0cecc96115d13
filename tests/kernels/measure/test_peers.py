"""Contract: torch's ops are tried in each of their forms, and give our product of equal codes and scales."""

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.device import current_device
from kernels.gemm import gemm
from kernels.gemm.numerics import Arithmetic, Summation
from kernels.gemm.plan import plan_simple
from kernels.measure.jobs import CHECKED, STANDARD
from kernels.measure.records import quoted
from kernels.measure.torch_peers import candidate_ops, scaled_ops
from tests.kernels.cases import GEMMS, ON_GPU, problem


@pytest.mark.parametrize("matmul", ["fprop", "wgrad"])
def test_every_form_of_a_rowwise_op_gives_the_same_product(matmul):
    a, b, plan = problem(RECIPES["rowwise"], MATMULS[matmul], (32, 48, 64))
    own = gemm(a, b, plan).double()
    unit = [op for op in candidate_ops(plan) if "unit scales" in op.title]
    assert unit
    for op in unit if not ON_GPU else scaled_ops(a, b, plan):
        other = op.build(a, b)()
        assert other.dtype == gemm(a, b, plan).dtype
        assert ((own - other.double()).norm() / own.norm()).item() < 3e-3


@pytest.mark.parametrize(
    ("matmul", "mnk"), [("fprop", (13, 48, 200)), ("wgrad", (32, 45, 200)), ("fprop", (1, 16, 64))]
)
def test_rows_that_are_no_multiple_of_four_are_padded_and_cut_away(monkeypatch, matmul, mnk):
    """A stand-in of torch's op, which has no form for a CPU, multiplies what it gets by numpy's rules."""

    def op(left, right, a_scale, a_kind, b_scale, b_kind, *, output_dtype, use_fast_accum):
        for codes, scale, kind in ((left, a_scale, a_kind), (right.T, b_scale, b_kind)):
            rows, k = codes.shape
            if kind.name == "BlockWise1x128":
                assert rows % 4 == 0
                assert scale.shape == (rows, -(-k // 128))
                assert scale.stride(0) == 1
        return (spread(left, a_scale, a_kind) @ spread(right.T, b_scale, b_kind).T).to(output_dtype)

    def spread(codes, scale, kind):
        side = 1 if kind.name == "BlockWise1x128" else 128
        scale = scale if side == 1 else scale.T  # that of squares comes as [K / 128, mn / 128]
        wide = scale.repeat_interleave(side, 0)[: codes.shape[0]].repeat_interleave(128, 1)
        return codes.double() * wide[:, : codes.shape[1]].double()

    monkeypatch.setattr("torch.nn.functional.scaled_mm", op)
    a, b, plan = problem(RECIPES["deepseek_v3"], MATMULS[matmul], mnk)
    own = gemm(a, b, plan).double()
    for form in candidate_ops(plan):
        other = form.build(a, b)()
        assert tuple(other.shape) == mnk[:2]
        assert ((own - other.double()).norm() / own.norm()).item() < 3e-3


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


@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_an_op_counts_where_its_sum_is_at_least_as_exact(recipe, matmul):
    if any(operand.scale_rule.powers_of_two for operand in recipe.spec(matmul).quantized):
        pytest.skip("torch's answer names the GPU")
    for how in Summation:
        plan = plan_simple(recipe.spec(matmul), (64, 64, 256), current_device(), how)
        if isinstance(plan, Exception):
            continue
        ops = candidate_ops(plan)
        if isinstance(ops, str):
            tiles = [operand.tile for operand in recipe.spec(matmul).quantized]
            assert plan.numerics.arithmetic is not Arithmetic.FP8 or tiles[0] != tiles[1]
            continue
        titles = [op.title for op in ops]
        cuts_k = any(operand.tile.k is not WHOLE for operand in recipe.spec(matmul).quantized)
        fast = [title for title in titles if "use_fast_accum=True" in title]
        assert bool(fast) == (plan.numerics.promotion is WHOLE or cuts_k)
        assert len(titles) == (2 if fast else 1) * (2 if _per_row(recipe, matmul) else 1)
        assert len(set(titles)) == len(titles)


def _per_row(recipe, matmul):
    return all(operand.tile == TileShape(1, WHOLE) for operand in recipe.spec(matmul).quantized)
