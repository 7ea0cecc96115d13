"""Contract: every way makes the same step: the same matmuls of the same numbers, up to quantizing."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from kernels.device import Unsupported, current_device
from kernels.layer.timeline import Block, Role, TimelineJob, Way, casts, peers
from kernels.layer.timeline.block import Step, Tensors
from kernels.layer.timeline.labels import Piece, bytes_of, silent
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


@pytest.mark.parametrize("recipe", ["per_tensor_hifloat8", "nvfp4", "mxfp4", "deepseek_v3_pow2"])
def test_what_torch_has_no_cast_for_is_left_out_with_a_sentence(recipe):
    job = replace(JOB, recipe=recipe)
    tensors = Tensors.of(job, WHERE)
    with pytest.raises(Unsupported, match="torch has no cast for"):
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
