"""Contract: every way makes the same step: the same matmuls of the same numbers, up to quantizing."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from fp8core.recipes import RECIPES
from kernels.device import Unsupported, current_device
from kernels.layer.timeline import Block, Phase, Role, TimelineJob, Way, casts, peers
from kernels.layer.timeline.block import Step, Tensors
from kernels.layer.timeline.labels import EachOperation, Label, Piece, Told, bytes_of, silent
from kernels.layer.timeline.ours import Layers, MatmulsAlone
from kernels.layer.timeline.peers import Bf16, TorchCasts, eager
from kernels.layer.timeline.ways import ready
from tests.kernels.cases import WHERE
from tests.kernels.layer.by_hand import sqnr_db

pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
JOB = TimelineJob(block=Block.MLP, recipe="deepseek_v3", tokens=128, in_=128, out=128)
SMALL = replace(JOB, tokens=16, in_=32, out=16)
"""The interpreter is quick at it; casts by torch want whole tiles."""
WHOLE = {"deepseek_v3": JOB}
"""Steps of whole tiles, by recipe, where 32 rows and columns are too few."""


class Listening:
    """The pieces of a step, in their order, and nothing of how long they take."""

    def __init__(self):
        self.pieces = []

    def __call__(self, label):
        self.pieces.append(Piece(label))
        return Opened(self.pieces[-1])

    def of(self, role):
        return [piece.label for piece in self.pieces if piece.label.role is role]


class Opened:
    def __init__(self, piece):
        self.piece = piece

    def __enter__(self):
        return self.piece

    def __exit__(self, *error):
        return None


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
    whole = WHOLE.get(recipe, replace(JOB, tokens=32, in_=32, out=32))
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


def test_bf16_is_the_step_that_autograd_makes():
    """Autograd's is made on the CPU: its thread may be the first of a process to ask a GPU for a matmul."""
    tensors = Tensors.of(SMALL, WHERE)
    _, y, dw_down, _, dx, dw_up = in_bf16(SMALL, tensors)
    x, up, down = (each.cpu().double().requires_grad_() for each in (tensors.x, *tensors.weights))
    gate, other = (x @ up.T).chunk(2, dim=1)
    truth = (torch.nn.functional.silu(gate) * other) @ down.T
    gradients = torch.autograd.grad(truth, (x, up, down), tensors.dy.cpu().double())
    for own, wanted in zip((y, dx, dw_up, dw_down), (truth, *gradients), strict=True):
        assert sqnr_db(own.cpu(), wanted) > 40


@pytest.mark.parametrize("recipe", ["per_tensor_hifloat8", "nvfp4", "mxfp4", "deepseek_v3_pow2"])
def test_what_torch_has_no_cast_for_is_left_out_with_a_sentence(recipe):
    job = replace(JOB, recipe=recipe)
    tensors = Tensors.of(job, WHERE)
    with pytest.raises(Unsupported, match="torch has no cast for"):
        products(job, torch_casts(job, eager, tensors), tensors)


def test_tiles_that_do_not_fill_a_tensor_are_left_out_with_a_sentence():
    job = replace(JOB, tokens=100)
    tensors = Tensors.of(job, WHERE)
    with pytest.raises(Unsupported, match="want whole tiles"):
        products(job, torch_casts(job, eager, tensors), tensors)


def test_matmuls_alone_quantize_once_and_never_again(monkeypatch):
    tensors, heard = Tensors.of(SMALL, WHERE), Listening()
    alone = MatmulsAlone(SMALL.recipe_data)
    Step(SMALL.block, tensors, alone)(silent)
    ready_before = dict(alone.ready)
    Step(SMALL.block, tensors, alone)(heard)
    assert alone.ready == ready_before
    assert len(alone.ready) == 6
    assert not heard.of(Role.QUANTIZE)
    assert sum(label.flop for label in heard.of(Role.MATMUL)) == SMALL.flop


@pytest.mark.parametrize("keeps", [False, True], ids=["made", "kept"])
def test_our_layers_tell_of_what_they_do(keeps):
    tensors, heard = Tensors.of(SMALL, WHERE), Listening()
    layers = Layers.of(SMALL, tensors, keeps=keeps)
    layers(heard)
    assert len(heard.of(Role.MATMUL)) == 6
    assert sum(label.flop for label in heard.of(Role.MATMUL)) == SMALL.flop
    assert len(heard.of(Role.FUSED)) == 2
    told = [label.what for label in heard.of(Role.QUANTIZE)]
    assert told[:: 1 if keeps else 3] == [
        "quantize x [16, 32] for Fprop and Wgrad",
        "quantize dy [16, 32] for Dgrad and Wgrad",
    ]
    assert all(label.bytes for label in (*heard.of(Role.QUANTIZE), *heard.of(Role.FUSED)))


def test_a_delayed_scale_tells_of_its_history():
    job = replace(SMALL, recipe="per_tensor_delayed", block=Block.LINEAR)
    heard = Listening()
    Layers.of(job, Tensors.of(job, WHERE), keeps=False)(heard)
    steps = 4 * RECIPES[job.recipe].fprop.a.scale_rule.history
    assert {label.amax_read for label in heard.of(Role.QUANTIZE)} == {steps, None}


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


def test_each_tensor_is_counted_once():
    x = torch.ones(4, 4)
    assert bytes_of((x, [x.t(), x[:2]], {"y": torch.ones(2)})) == 64 + 32 + 8


def test_a_label_knows_its_bytes_where_both_ends_are_known():
    assert Label(what="", role=Role.OTHER, read=2).bytes is None
    assert Label(what="", role=Role.OTHER, read=2, written=3).bytes == 5


def test_each_of_torch_s_operations_is_a_piece_of_a_naive_step():
    job = replace(JOB, block=Block.LINEAR)
    tensors, told = Tensors.of(job, WHERE), Told()
    step = Step(job.block, tensors, torch_casts(job, eager, tensors))
    with EachOperation(told):
        step(told)
    labels = [piece.label for piece in told.pieces]
    assert {label.phase for label in labels} == {Phase.FORWARD, Phase.BACKWARD}
    of_x = [label for label in labels if label.what.startswith("quantize x for Fprop and Wgrad: ")]
    whole, *parts = (label.what.rpartition(": ")[2] for label in of_x)
    assert {whole, *parts} >= {"abs", "amax", "mul", "clamp", "to copy", "clone"}
    sizes = {label.what.rpartition(": ")[2]: label.bytes for label in of_x}
    assert sizes["clamp"] == 2 * 4 * 128 * 128
    assert [label.flop for label in labels if label.role is Role.MATMUL] == [job.flop // 3] * 3
