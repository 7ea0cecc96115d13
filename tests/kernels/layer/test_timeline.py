"""Contract: a step is told kernel by kernel, every way makes the same step, rows come back."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from kernels.device import Unsupported, current_device
from kernels.layer.timeline import (
    Block,
    Phase,
    Role,
    TimelineJob,
    Way,
    casts,
    peers,
    read_timelines,
    record_timeline,
)
from kernels.layer.timeline.block import Step, Tensors
from kernels.layer.timeline.labels import Label, Piece, Told, bytes_of, silent
from kernels.layer.timeline.ours import Layers
from kernels.layer.timeline.peers import Bf16, TorchCasts, eager
from kernels.layer.timeline.trace import Ran, labelled, timed
from kernels.layer.timeline.ways import ready
from kernels.paths import LAYER_RECORDS
from tests.kernels.cases import WHERE
from tests.kernels.layer.by_hand import sqnr_db
from tests.kernels.layer.timeline.made_up import JOB, ROW, without_graph


def test_a_gpu_s_row_comes_back_from_its_file(tmp_path):
    path = record_timeline(ROW, tmp_path)
    assert path.name == "nvidia_h200.jsonl"
    record_timeline(without_graph(), tmp_path)
    found = read_timelines(tmp_path)
    assert found.rows == (ROW, without_graph())
    assert not found.bad


@pytest.mark.parametrize(
    "wrong", [{"recipe": "fp9"}, {"tokens": 0}, {"out": 1 << 30}, {"rounds": 0}, {"turn_ms": 0}]
)
def test_a_job_out_of_range_is_refused_in_a_sentence(wrong):
    fields = {"block": JOB.block, "recipe": JOB.recipe, "tokens": 1, "in_": 1, "out": 1}
    with pytest.raises(ValueError, match=r"got|there are"):
        TimelineJob(**(fields | wrong))


_MOST_GB_S = 12_000
FOUND = read_timelines(LAYER_RECORDS)


def test_every_line_is_read():
    assert not FOUND.bad


@pytest.mark.skipif(not FOUND.rows, reason="no timeline is recorded")
def test_kernels_fill_the_step_that_they_are_of():
    for row in FOUND.rows:
        assert row.busy_us + row.gaps_us == pytest.approx(row.span_us, rel=1e-3, abs=0.1)
        assert row.commit
        # The L2 hands out what the memory cannot; nothing hands out more.
        assert max(kernel.gb_s or 0.0 for kernel in row.kernels) < _MOST_GB_S
        if row.in_graph and row.way is not Way.NAIVE:
            assert row.span_us == pytest.approx(row.step_us, rel=0.15)


def event(name, start, time, cat="kernel", **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": time, "args": args}


def told(*labels):
    return Told(pieces=[Piece(label) for label in labels])


def mark(number, start, time):
    return event(f"fp8 explorer, piece {number}", start, time, "user_annotation")


def of(role, *events, **rest):
    """What a piece's kernels become: it runs from 0 to 100, within a half of the step."""
    half = Label(what="forward", role=Role.OTHER, phase=Phase.BACKWARD)
    label = Label(what="piece", role=role, phase=Phase.BACKWARD, **rest)
    trace = {"traceEvents": [mark(0, -50, 200), mark(1, 0, 100), *events, event("x", 3, 3, "cpu_op")]}
    return labelled(trace, told(half, label))


def steps(*names):
    found = []
    for number, name in enumerate(names):
        found.append(
            Ran(name=name, start_us=100.0 * number, time_us=2.0 + number, is_kernel=name != "Memset")
        )
    return found


def test_a_tape_keeps_the_amax_of_two_tensors_by_one_kernel_at_the_end():
    """Labelled, each piece keeps its own; a tape notes both, and keeps them together."""
    names = ["quantize_kernel", "record_kernel", "quantize_kernel", "record_kernel", "gemm_kernel"]
    labels = of(Role.QUANTIZE, *(event(name, 10 * at, 5) for at, name in enumerate(names)))
    taped = ["quantize_kernel", "quantize_kernel", "record_kernel", "gemm_kernel"]
    found = timed(labels, steps(*taped * 3), 3)
    assert [run.name for run in found] == taped
    assert found[2].role is Role.QUANTIZE
    assert found[2].bytes is None, "that is one tensor's"
    forward = [replace(label, phase=Phase.FORWARD) for label in labels[:2]]
    halves = timed([*forward, *labels[2:]], steps(*taped * 3), 3)
    assert [run.phase for run in halves] == [Phase.FORWARD, *[Phase.BACKWARD] * 3]
    for other in (taped[1:], [*taped, "gemm_kernel"], ["record_kernel"], taped[:2]):
        assert timed(labels, steps(*other * 3), 3) is None
    assert timed(labels[:1], steps("gemm_kernel"), 1) is None


pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
STEP = TimelineJob(block=Block.MLP, recipe="deepseek_v3", tokens=128, in_=128, out=128)
SMALL = replace(STEP, tokens=16, in_=32, out=16)
"""The interpreter is quick at it; casts by torch want whole tiles."""
WHOLE = {"deepseek_v3": STEP}
"""Steps of whole tiles, by recipe, where 32 rows and columns are too few."""


class Kept:
    """An arithmetic, and the products that it gave."""

    def __init__(self, own):
        self.own, self.products = own, []
        self.copies, self.swiglu = own.copies, own.swiglu

    def multiply(self, *given):
        self.products.append(self.own.multiply(*given))
        return self.products[-1]


def products(job, arithmetic, tensors):
    kept = Kept(arithmetic)
    Step(job.block, tensors, kept)(silent)
    return kept.products


def in_bf16(job, tensors):
    return products(job, Bf16(job.recipe_data), tensors)


def torch_casts(job, compiled, tensors):
    last = tensors.x.abs().amax().float().view(1)
    return TorchCasts(job.recipe_data, current_device(), compiled, last)


compiled = partial(torch.compile, backend="eager", fullgraph=True, dynamic=False)


EAGER = ("per_tensor", "per_tensor_delayed", "rowwise_hp_wgrad", "deepseek_v3", "mxfp8")


@pytest.mark.parametrize(
    ("block", "recipe", "by"),
    [
        *(pytest.param(Block.MLP, name, eager, id=f"mlp-{name}-eager") for name in EAGER),
        pytest.param(Block.MLP, "deepseek_v3", compiled, id="mlp-deepseek_v3-compiled"),
        pytest.param(Block.LINEAR, "deepseek_v3", eager, id="linear-deepseek_v3-eager"),
    ],
)
def test_casts_by_torch_come_close_to_bf16(block, recipe, by, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(peers, "_swiglu", casts.swiglu)
    monkeypatch.setattr(peers, "_swiglu_backward", casts.swiglu_backward)
    whole = WHOLE.get(recipe, replace(STEP, tokens=32, in_=32, out=32))
    job = replace(whole, recipe=recipe, block=block)
    tensors = Tensors.of(job, WHERE)
    truth = in_bf16(job, tensors)
    found = products(job, torch_casts(job, by, tensors), tensors)
    assert len(found) == len(truth) == (3 if block is Block.LINEAR else 6)
    least = 10 if recipe == "per_tensor_delayed" else 20  # every tensor has the amax of x there
    for own, wanted in zip(found, truth, strict=True):
        assert own.shape == wanted.shape
        assert own.dtype == torch.bfloat16
        assert sqnr_db(own, wanted) > least


@pytest.mark.parametrize("recipe", ["per_tensor_hifloat8", "nvfp4", "mxfp4", "deepseek_v3_pow2"])
def test_what_torch_has_no_cast_for_is_left_out_with_a_sentence(recipe):
    job = replace(STEP, recipe=recipe)
    tensors = Tensors.of(job, WHERE)
    with pytest.raises(Unsupported, match="torch has no cast for"):
        products(job, torch_casts(job, eager, tensors), tensors)


def test_a_layer_holds_what_held_bytes_says():
    for block in Block:
        job = replace(SMALL, block=block, recipe="rowwise_hp_wgrad")
        tensors, device = Tensors.of(job, WHERE), current_device()
        held = {way: ready(way, job, tensors, device).held() for way in (Way.OURS, Way.OURS_KEPT)}
        layers = Layers.of(job, tensors, keeps=False).layers
        inner = 4 * job.tokens * job.out if block is Block.MLP else 0  # gate_up
        assert held[Way.OURS] == inner + sum(layer.held_bytes(job.tokens).total for layer in layers)
        assert held[Way.OURS_KEPT] == inner + sum(layer.held_bytes(job.tokens).x for layer in layers)
        plain = Step(block, tensors, Bf16(job.recipe_data)).forward(silent)
        wanted = 2 * job.tokens * (job.in_ + (3 * job.out if block is Block.MLP else 0))
        assert bytes_of(list(plain)) - bytes_of(tensors.weights) == wanted
