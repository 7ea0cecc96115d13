"""Contract: a step is told kernel by kernel, every way makes the same step, rows come back."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from kernels.device import Unsupported, current_device
from kernels.layer import Float8Linear, SwigluMlp
from kernels.layer.timeline import casts, measure
from kernels.layer.timeline.row import TIMELINES, Block, LeftOut, Phase, Role, TimelineJob, Way
from kernels.layer.timeline.trace import Piece, Pieces, labelled
from kernels.layer.timeline.ways import BF16, Ready, Step, Tensors, TorchCasts, eager, ready
from kernels.paths import LAYER_RECORDS
from tests.kernels.cases import WHERE
from tests.kernels.layer.by_hand import sqnr_db
from tests.kernels.layer.timeline.made_up import JOB
from tests.kernels.layer.timeline.steps import layer_row


@pytest.mark.parametrize(
    "wrong", [{"recipe": "fp9"}, {"tokens": 0}, {"out": 1 << 30}, {"rounds": 0}, {"turn_ms": 0}]
)
def test_a_job_out_of_range_is_refused_in_a_sentence(wrong):
    fields = {"block": JOB.block, "recipe": JOB.recipe, "tokens": 1, "in_": 1, "out": 1}
    with pytest.raises(ValueError, match=r"got|there are"):
        TimelineJob(**(fields | wrong))


_MOST_GB_S = 12_000
FOUND = TIMELINES.read(LAYER_RECORDS)


def test_every_line_is_read():
    assert not FOUND.bad


@pytest.mark.skipif(not FOUND.rows, reason="no timeline is recorded")
def test_kernels_fill_the_step_that_they_are_of():
    for row in FOUND.rows:
        busy_us = sum(kernel.time_us for kernel in row.kernels)
        assert busy_us + row.gaps_us == pytest.approx(row.span_us, rel=1e-3, abs=0.1)
        assert row.commit
        # The L2 hands out what the memory cannot; nothing hands out more.
        assert max(kernel.gb_s or 0.0 for kernel in row.kernels) < _MOST_GB_S
        if row.in_graph and row.way is not Way.NAIVE:
            assert row.span_us == pytest.approx(row.step_us, rel=0.15)


pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
STEP = TimelineJob(block=Block.MLP, recipe="deepseek_v3", tokens=128, in_=128, out=128)
SMALL = replace(STEP, tokens=16, in_=32, out=16)
"""The interpreter is quick at it; casts by torch want whole tiles."""
WHOLE = {"deepseek_v3": STEP}
"""Steps of whole tiles, by recipe, where 32 rows and columns are too few."""


def products(job, calls, tensors, activation=Role.ACTIVATION):
    """What each matmul of a step gives."""
    results = []

    def multiply(*inputs):
        results.append(calls.multiply(*inputs))
        return results[-1]

    Step(job, tensors, calls._replace(multiply=multiply), activation)(None)
    return results


compiled = partial(torch.compile, backend="eager", fullgraph=True, dynamic=False)


def bf16_swiglu(gate_up, dh, *rest):
    return [[casts.swiglu(gate_up) if dh is None else casts.swiglu_backward(dh, gate_up)]]


EAGER = ("per_tensor", "rowwise_hp_wgrad", "deepseek_v3", "mxfp8")


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
    whole = WHOLE.get(recipe, replace(STEP, tokens=32, in_=32, out=32))
    job = replace(whole, recipe=recipe, block=block)
    tensors = Tensors(job, WHERE)
    truth = products(job, BF16._replace(swiglu=bf16_swiglu), tensors)
    torch_casts = TorchCasts(current_device(), by)
    activation = Role.ACTIVATION if by is eager else Role.FUSED
    results = products(job, torch_casts.calls, tensors, activation)
    assert len(results) == len(truth) == (3 if block is Block.LINEAR else 6)
    for own, expected in zip(results, truth, strict=True):
        assert own.shape == expected.shape
        assert own.dtype == torch.bfloat16
        assert sqnr_db(own, expected) > 20


@pytest.mark.parametrize("recipe", ["per_tensor_hifloat8", "nvfp4", "mxfp4", "deepseek_v3_pow2"])
def test_what_torch_has_no_cast_for_is_left_out_with_a_sentence(recipe):
    job = replace(STEP, recipe=recipe)
    tensors = Tensors(job, WHERE)
    with pytest.raises(Unsupported, match="torch has no cast for"):
        products(job, TorchCasts(current_device(), eager).calls, tensors)


@pytest.mark.parametrize("way", [Way.BF16, Way.OURS, Way.BOUND])
def test_the_pieces_of_a_step_say_what_they_do(way):
    job = replace(SMALL, recipe="rowwise_hp_wgrad")
    one, pieces = ready(way, job, Tensors(job, WHERE), current_device()), Pieces()
    one.run()
    one.marked(pieces)
    every = pieces.every
    flop = sum(piece.flop for piece in every if piece.role is Role.MATMUL)
    assert flop == job.flop
    halves = [piece.what for piece in every if piece.role is Role.OTHER]
    assert halves == ["forward", "backward"]
    assert [piece.what for piece in every if piece.phase is Phase.FORWARD][-1] == "Fprop 16 × 32 × 16"
    swiglu = Role.ACTIVATION if way is Way.BF16 else Role.FUSED
    assert [piece.role for piece in every if "SwiGLU" in piece.what] == [swiglu] * 2
    assert all(piece.bytes for piece in every if piece.role is not Role.OTHER)


def test_a_layer_holds_what_held_bytes_says():
    for block in Block:
        job = replace(SMALL, block=block, recipe="rowwise_hp_wgrad")
        tensors, device = Tensors(job, WHERE), current_device()
        ways = (Way.OURS, Way.OURS_KEPT, Way.BF16)
        held = {way: ready(way, job, tensors, device).held() for way in ways}
        kind, numbers = (Float8Linear, 0) if block is Block.LINEAR else (SwigluMlp, 3 * job.out)
        own = kind(job.in_, job.out, device="meta", recipe=job.recipe).held_bytes(job.tokens)
        assert held[Way.OURS] == own.total
        assert held[Way.OURS_KEPT] == own.x
        assert held[Way.BF16] == 2 * job.tokens * (job.in_ + numbers)


def test_kernels_of_a_profile_get_the_words_and_the_bytes_of_their_piece():
    def event(name, start, time, cat="kernel"):
        return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": time}

    pieces = Pieces()
    pieces.every = [
        Piece(what="backward", role=Role.OTHER, phase=Phase.BACKWARD),
        Piece(what="Wgrad", role=Role.MATMUL, phase=Phase.BACKWARD, read=6, written=2, flop=40),
        Piece(what="quantize x", role=Role.QUANTIZE, phase=Phase.BACKWARD, read=4, written=2),
    ]
    marks = (("0", -50, 300), ("1", 0, 100), ("2", 100, 100))
    events = [event(f"fp8 explorer, piece {place}", *at, "user_annotation") for place, *at in marks]
    events += [event("void gemm<8>(int)", 20, 50), event("decode", 10, 5)]
    events += [event("whole_amax_kernel", 110, 5), event("quantize_kernel", 120, 5), event("copy", 210, 5)]
    kernels = labelled({"traceEvents": events}, pieces)
    assert [(one.what, one.role, one.bytes, one.flop, one.piece_bytes) for one in kernels] == [
        ("Wgrad: decode", Role.PASS, None, None, None),
        ("Wgrad", Role.MATMUL, None, 40, 8),
        ("quantize x: amax", Role.QUANTIZE, 4, None, None),
        ("quantize x", Role.QUANTIZE, 6, None, 6),
        ("copy", Role.OTHER, None, None, None),
    ]
    with pytest.raises(Unsupported, match="saw no kernel"):
        labelled({"traceEvents": events[:3]}, pieces)


def test_ways_that_wait_come_later_in_turns_with_bf16_again(monkeypatch):
    turns, calls = [], []

    def ready_ways(ways, job, tensors, tell):
        turns.append([*ways])
        left_out = [LeftOut(way=way, reason="no") for way in ways if way is Way.NAIVE]
        return [Ready(way=way, step=print, held=int) for way in ways if way is not Way.NAIVE], left_out

    monkeypatch.setattr(measure, "require_gpu", lambda: None)
    monkeypatch.setattr(measure, "Tensors", lambda job: None)
    monkeypatch.setattr(measure, "_ready", ready_ways)
    monkeypatch.setattr(measure, "_times", lambda job, contenders, tell: (None, {}))
    monkeypatch.setattr(measure, "_row", lambda job, one, times, refusal: layer_row(one.way, job))

    def measured(**options):
        return measure.measure(
            JOB, progress=lambda *call: calls.append(call), stopped=lambda: False, **options
        )

    whole = measured()
    first = [Way.BF16, Way.OURS, Way.OURS_KEPT, Way.BOUND]
    assert turns == [first, [Way.BF16, Way.NAIVE], [Way.BF16, Way.COMPILED]]
    assert [row.way for row in whole.rows] == [*first, Way.COMPILED]
    assert [one.way for one in whole.left_out] == [Way.NAIVE]
    shares = [share for share, *_ in calls]
    assert shares == sorted(shares)
    assert calls[-1] == (1.0, "timed", whole)
    part = next(part for _, _, part in calls if part and len(part.rows) == len(first))
    turns.clear()
    assert measured(so_far=part) == whole
    assert turns == [[Way.BF16, Way.NAIVE], [Way.BF16, Way.COMPILED]]
    assert [row.way for row in measured(parts=((1.0, [Way.OURS]),)).rows] == [Way.BF16, Way.OURS]
