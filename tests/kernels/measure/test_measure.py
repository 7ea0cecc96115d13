"""Contract: a measured row tells the truth about one job: its errors are the numpy reference's, it says
where it comes from, and what cannot be measured is refused in a sentence.
"""

import json

import numpy as np
import pytest
import torch

from fp8core.errors import rel_err
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import MATMULS, Side
from fp8core.philox import random_bits
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, Operand, OperandSpec
from fp8core.tiles import WHOLE, TileGrid
from kernels.device import DeviceKind, Unsupported, choose_backend, current_device
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.measure.exactness import errors
from kernels.measure.gemm import measure
from kernels.measure.jobs import Cache, GemmJob, Into
from kernels.measure.rows import Peer, Provenance, Row
from kernels.measure.timing import COLD_LAUNCHES
from kernels.quantize import quantize as device_quantize
from kernels.typed import from_data, to_data
from tests.kernels.cases import EVERY_GEMM, GEMMS, ON_GPU, WHERE
from tests.sweeps import distinct


def _comes_as(own: OperandSpec | None) -> object:
    """Equal for operands that a measurement handles alike."""
    if own is None:
        return None
    rule = own.scale_rule
    memory = own.format.packed_bits, rule.format.bits, rule.outer is not None, own.tile.k is WHOLE
    made = own.is_random, own.rotation is not None, own.saved_as is not None, bool(rule.history)
    return memory, made


GIVEN = distinct(
    EVERY_GEMM,
    lambda recipe, matmul: frozenset(_comes_as(recipe.spec(matmul).operand(side)) for side in Side),
)


WGRAD = RECIPES["deepseek_v3"].wgrad


def run(job: GemmJob, said: list | None = None) -> Row:
    said = [] if said is None else said
    how = {"stopped": lambda: False, "gives_first": False}
    return measure(job, progress=lambda *step: said.append(step), **how)


def job(recipe: str = "deepseek_v3", matmul: str = "wgrad", mnk=(70, 50, 200), **fields) -> GemmJob:
    m, n, k = mnk
    return GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k, **{"runs": 2, **fields})


@pytest.mark.parametrize(("recipe", "matmul"), GIVEN.values(), ids=GIVEN)
def test_errors_are_those_of_the_reference(recipe, matmul):
    row = run(job(recipe.name, matmul.name, input=InputKind.OUTLIER_CHANNELS, seed=3))
    layer = matmul.layer(70, 50, 200)
    drawn, exact = {}, {}
    for side in Side:
        tensor = matmul.operand(side)
        shape, seed = layer.of(tensor), 2 * 3 + (side is Side.B)
        x = draw_operand(InputKind.OUTLIER_CHANNELS, tensor, shape, seed, fan_in=layer.in_)
        x = torch.from_numpy(x).bfloat16().float().numpy()
        operand, turn = recipe.operand(matmul, side), matmul.k_is_rows(side)
        values = (
            x if operand is None else quantize(x, operand, random=bits(operand, shape, seed)).exact_values()
        )
        drawn[side] = (x.T if turn else x).astype(np.float64)
        exact[side] = (values.T if turn else values).astype(np.float64)
    truth, product = drawn[Side.A] @ drawn[Side.B].T, exact[Side.A] @ exact[Side.B].T
    assert row.errors.quantization_rel_err == pytest.approx(rel_err(product, truth), rel=1e-9)
    assert 0 < row.errors.kernel_rel_err < 3e-3
    assert row.errors.rel_err == pytest.approx(
        row.errors.quantization_rel_err, rel=0.1, abs=row.errors.kernel_rel_err
    )
    assert row.job.spec.out == recipe.spec(matmul).out
    worst = row.errors.worst[0]
    assert worst.truth == pytest.approx(truth[worst.m, worst.n], rel=1e-9)


def bits(operand: Operand, shape: tuple[int, int], seed: int) -> np.ndarray | None:
    """The random bits of a stored tensor that is rounded at random; None for another one."""
    if not operand.spec.is_random:
        return None
    drawn = random_bits(operand.stored(shape), seed)
    return np.ascontiguousarray(drawn.T) if operand.k_is_rows else drawn


def test_a_row_says_where_it_comes_from_and_travels_as_json():
    said: list = []
    row = run(job(), said)
    assert row.provenance is (Provenance.GPU if ON_GPU else Provenance.INTERPRETER)
    assert from_data(Row, json.loads(json.dumps(to_data(row), allow_nan=False))) == row
    assert [fraction for fraction, _ in said] == sorted(fraction for fraction, _ in said)
    assert said[-1][0] == 1.0
    plan = plan_gemm(WGRAD, (70, 50, 200), current_device(), Summation.RECIPE)
    assert row.why == plan.why != ""
    assert (row.plan, row.kernel) == (plan.record, plan.title)
    assert set(row.machine.versions) == {"python", "torch", "triton"}
    if ON_GPU:
        assert row.ours is not None
        assert row.ours.clock_mhz
    else:
        assert row.ours is None
        assert "interpreter" in row.note


@pytest.mark.parametrize("mnk", [(0, 5, 5), (5, 0, 5), (5, 5, 0), (1, 1, 1)], ids=str)
def test_the_smallest_jobs_give_rows(mnk):
    row = run(job(mnk=mnk))
    assert json.dumps(to_data(row), allow_nan=False)
    assert row.errors.rel_err < 0.1


def test_what_cannot_be_measured_is_said_in_a_sentence(monkeypatch):
    with pytest.raises(Unsupported, match="a scale here changes every 128 along K"):
        run(job(accumulation=Summation.FAST))
    if not ON_GPU:
        with pytest.raises(Unsupported, match=r"takes about 1024 × 1024 × 1024 at most, .*; got 8192"):
            run(job(mnk=(8192, 8192, 64)))

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 8 GiB.\nMore.")

    monkeypatch.setattr("kernels.measure.operands.draws", full)
    with pytest.raises(MemoryError, match=r"70 × 50 × 200 does not fit .* Tried to allocate 8 GiB\.$"):
        run(job())


def test_a_planted_error_is_found_where_it_is():
    recipe, matmul = RECIPES["rowwise"], MATMULS["fprop"]
    a, b = (torch.randn(rows, 40, dtype=torch.bfloat16, device=WHERE) for rows in (100, 70))
    pair = [
        device_quantize(x, TileGrid.over(tuple(x.shape), (1, None)), recipe.spec(matmul).operand(side))
        for side, x in ((Side.A, a), (Side.B, b))
    ]
    result = (a.double() @ b.double().T).float()
    result[63, 41] += 1000
    found = errors(result, a, b, *pair)
    assert (found.worst[0].m, found.worst[0].n) == (63, 41)
    largest = np.unravel_index(np.argmax(found.error_map), np.shape(found.error_map))
    assert tuple(map(int, largest)) == (63 // 4, 41 // 3)
    assert found.rel_err == pytest.approx(found.kernel_rel_err, rel=1e-2)
    assert found.rows == 100


def test_a_job_too_large_for_fp64_is_checked_in_bands(monkeypatch):
    monkeypatch.setattr("kernels.measure.exactness.CAREFUL_FLOP", 4 * 70 * 50 * 200 // 3 + 1)
    row = run(job())
    assert row.error_note == f"errors over {len(row.errors.error_map) * 3} of 70 rows of D, in bands"
    assert len(row.errors.error_map) == 8


@pytest.mark.gpu
@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_torch_agrees_where_it_has_the_operation(recipe, matmul):
    from kernels.gemm import gemm
    from kernels.measure.torch_peers import candidate_ops, scaled_ops
    from tests.kernels.cases import problem

    a, b, plan = problem(recipe, matmul, (256, 384, 512))
    ops = scaled_ops(a, b, plan)
    if isinstance(ops, str):
        assert "refuses" in ops or isinstance(candidate_ops(plan), str), ops
    else:
        own = gemm(a, b, plan).double()
        for op in ops:
            other = op.build(a, b)().double()
            assert ((own - other).norm() / own.norm()).item() < 3e-3, op.title


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.parametrize("cache", Cache, ids=lambda cache: cache.value)
def test_a_gpu_row_is_timed_hot_or_cold_and_says_against_which_op(cache):
    row = run(job("rowwise", "wgrad", mnk=(512, 512, 1024), cache=cache, into=Into.ACCUMULATE))
    assert row.ours.runs == (2 if cache is Cache.HOT else 2 * COLD_LAUNCHES)
    assert ", then D.add_ of it" in row.times[Peer.TORCH].op, "whichever of torch's ops is fastest"
    assert 0.1 < row.over(Peer.TORCH) < 10
    assert row.bytes == 2 * 512 * 1024 + 2 * 4 * 512 + 2 * 4 * 512 * 512


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
def test_without_a_gpu_nothing_is_interpreted_unasked(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(Unsupported, match="no CUDA GPU here; set TRITON_INTERPRET=1"):
        current_device()
    choose_backend()
    assert current_device().kind is DeviceKind.INTERPRETER
