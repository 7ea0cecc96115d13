"""Checks of layers on two ranks, a program of test_distributed.py: each raises where a layer is wrong."""

import copy
import re
import sys

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.multiprocessing import start_processes
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from kernels.layer import Float8Linear, SwigluMlp, convert_to_float8_training
from kernels.paths import TOP

ON_GPU = torch.cuda.is_available() and torch.cuda.device_count() > 1
EMULATE = not ON_GPU
RECIPE, RANDOM = "deepseek_v3", "nvfp4"
WIDTH, HIDDEN, TOKENS = 32, 64, 8
BOUND = 0.2
"""‖error‖ / ‖y‖ of two products in four or eight bits, with scales of a shard or of the whole."""


class Mlp(nn.Module):
    """Two linear layers with a norm before them."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.up(self.norm(x)).relu())


def device() -> torch.device:
    return torch.device("cuda", torch.cuda.current_device()) if ON_GPU else torch.device("cpu")


def model(recipe: str | None = RECIPE) -> nn.Module:
    torch.manual_seed(0)
    plain = Mlp().to(device())
    return convert_to_float8_training(plain, recipe=recipe, emulate=EMULATE) if recipe else plain


def batch(rank: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(2, TOKENS, WIDTH, generator=generator).to(device())


def mesh() -> DeviceMesh:
    return init_device_mesh(device().type, (2,))


def equal_on_ranks(x: torch.Tensor) -> None:
    x = x.detach().contiguous()
    both = [torch.empty_like(x) for _ in range(2)]
    dist.all_gather(both, x)
    assert torch.equal(*both), "ranks differ"


def close(x: torch.Tensor, truth: torch.Tensor, bound: float = BOUND) -> None:
    error = float((x.detach() - truth.detach()).norm() / truth.detach().norm())
    assert error <= bound, f"off by {error:.3f}"


def ddp() -> None:
    """Each rank's y is that of its own batch; gradients are averaged; every recipe keeps no buffer."""
    for recipe in (RECIPE, RANDOM):
        plain = model(recipe)
        wrapped = DistributedDataParallel(copy.deepcopy(plain))
        for step in range(3):
            x = batch(10 * step + dist.get_rank())
            torch.manual_seed(step)
            y = wrapped(x)
            torch.manual_seed(step)
            assert torch.equal(y, plain(x))
            y.square().sum().backward()
        equal_on_ranks(wrapped.module.up.weight.grad)
        assert not list(wrapped.buffers())


def ddp_compiled() -> None:
    """torch.compile takes a layer under DDP."""
    wrapped = DistributedDataParallel(model(RANDOM))
    compiled = torch.compile(wrapped, backend="aot_eager")
    for step in range(2):
        compiled(batch(step)).square().sum().backward()
    equal_on_ranks(wrapped.module.down.weight.grad)


def sharded(module: nn.Module) -> nn.Module:
    for child in module.children():
        if isinstance(child, nn.Linear):
            fully_shard(child, mesh=mesh())
    return fully_shard(module, mesh=mesh())


def fsdp2() -> None:
    """The bits of a forward equal the unsharded model's, and the gradient is the mean of both ranks'."""
    for make in (model, lambda: SwigluMlp(WIDTH, HIDDEN, device(), recipe=RECIPE, emulate=EMULATE)):
        torch.manual_seed(0)
        plain = make()
        twin = sharded(copy.deepcopy(plain))
        x = batch(dist.get_rank())
        y, truth = twin(x), plain(x)
        close(y, truth, 0.02 if isinstance(plain, SwigluMlp) else 0.0)
        for each in (y, truth):
            each.square().sum().backward()
        for own, other in zip(twin.parameters(), plain.parameters(), strict=True):
            gradient = other.grad.clone()
            dist.all_reduce(gradient)
            close(own.grad.full_tensor(), gradient / 2, 0.02)


def fsdp2_from_meta() -> None:
    """FSDP2's usual way: meta device, convert, shard, to_empty, load."""
    plain = model(RANDOM)
    with torch.device("meta"):
        twin = convert_to_float8_training(Mlp(), recipe=RANDOM, emulate=EMULATE)
    sharded(twin).to_empty(device=device())
    own = twin.state_dict()
    for name, whole in plain.state_dict().items():
        like = own[name]
        parts = torch.chunk(whole, 2)[dist.get_rank()] if isinstance(like, DTensor) else whole
        (like.to_local() if isinstance(like, DTensor) else like).copy_(parts)
    x = batch(0)
    torch.manual_seed(5)
    y = twin(x)
    torch.manual_seed(5)
    assert torch.equal(y, plain(x))


def fsdp2_checkpointed() -> None:
    """A recomputed forward draws the same random bits, sharded too."""
    plain = model(RANDOM)
    x, results = batch(dist.get_rank()).requires_grad_(), []
    for module in (plain, sharded(copy.deepcopy(plain))):
        torch.manual_seed(3)
        y = checkpoint(module, x, use_reentrant=False)
        results.append((y, *torch.autograd.grad(y.square().sum(), x)))
    torch.manual_seed(3)
    y = plain(x)
    truth = y, *torch.autograd.grad(y.square().sum(), x)
    for result in results:
        assert all(torch.equal(one, other) for one, other in zip(result, truth, strict=True))


def fsdp1() -> None:
    """FSDP1 holds flat parameters; on a CPU torch has it without sharding alone."""
    if not ON_GPU:
        return
    plain = model()
    wrapped = FullyShardedDataParallel(copy.deepcopy(plain), device_id=device())
    x = batch(dist.get_rank())
    assert torch.equal(wrapped(x), plain(x))
    wrapped(x).square().sum().backward()


def _parallel(plan: dict[str, object], converted_first: bool, recipe: str) -> nn.Module:
    split = model(recipe if converted_first else None)
    split = parallelize_module(split, mesh(), plan)
    if converted_first:
        return split
    return convert_to_float8_training(split, recipe=recipe, emulate=EMULATE)


def tensor_parallel() -> None:
    """In either order of converting and parallelizing, y and every gradient are those of one rank."""
    plain = model(None)
    x = batch(0).requires_grad_()
    truth = plain(x)
    (dx,) = torch.autograd.grad(truth.square().sum(), x, retain_graph=True)
    truth.square().sum().backward()
    whole = {name: parameter.grad for name, parameter in plain.named_parameters()}
    for recipe in (RECIPE, "mxfp8", "per_tensor"):
        for first in (True, False):
            plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
            split = _parallel(plan, first, recipe)
            assert type(split.up) is Float8Linear
            x = batch(0).requires_grad_()
            y = split(x)
            close(y, truth)
            equal_on_ranks(y)
            y.square().sum().backward()
            close(x.grad, dx)
            for name, parameter in split.named_parameters():
                gradient = parameter.grad
                close(gradient.full_tensor() if isinstance(gradient, DTensor) else gradient, whole[name])


def sequence_parallel() -> None:
    """x arrives split by tokens, y leaves so."""
    truth = model(None)(batch(0))
    plan = {
        "norm": SequenceParallel(),
        "up": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1)),
    }
    for first in (True, False):
        split = _parallel(plan, first, RECIPE)
        own = batch(0).chunk(2, 1)[dist.get_rank()]
        x = DTensor.from_local(own, mesh(), [Shard(1)])
        y = split(x)
        close(y, truth.chunk(2, 1)[dist.get_rank()])


def tensor_parallel_and_fsdp2() -> None:
    """A mesh of two dims: shards of a shard."""
    two = init_device_mesh(device().type, (1, 2), mesh_dim_names=("dp", "tp"))
    split = parallelize_module(model(), two["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    fully_shard(split, mesh=two["dp"])
    y = split(batch(0))
    close(y, model(None)(batch(0)))
    y.square().sum().backward()


def lines_of_docs() -> None:
    """The lines of docs/training.md for several GPUs give a loss, and a gradient to each weight."""
    page = (TOP / "docs/training.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(# torchrun.*?)```", page, flags=re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        names: dict[str, object] = {}
        exec(compile(snippet, "training.md", "exec"), names)
        assert bool(names["loss"].isfinite())
        assert all(parameter.grad is not None for parameter in names["model"].parameters())


def odd_placements() -> None:
    """A plain x, and a block whose joined weight would be torn apart, are refused in a sentence."""
    split = parallelize_module(model(), mesh(), {"up": ColwiseParallel()})
    split.up._forward_pre_hooks.clear()
    with pytest.raises(ValueError, match="x is a plain tensor"):
        split.up(batch(0))
    block = SwigluMlp(WIDTH, HIDDEN, device(), recipe=RECIPE, emulate=EMULATE)
    parallelize_module(block, mesh(), {"gate_up": ColwiseParallel(), "down": RowwiseParallel()})
    with pytest.raises(ValueError, match="a column-wise split tears gate and up apart"):
        block(batch(0))
    replicated = parallelize_module(model(), mesh(), {"up": ColwiseParallel(), "down": RowwiseParallel()})
    assert [*replicated.up.bias.placements] == [Shard(0)]
    assert [*replicated.down.bias.placements] == [Replicate()]


def all_checks(rank: int, port: int) -> None:
    """Run all checks on one of two ranks."""
    store = dist.TCPStore("127.0.0.1", port, 2, is_master=rank == 0)
    if ON_GPU:
        torch.cuda.set_device(rank)
    torch.set_num_threads(1)
    dist.init_process_group("nccl" if ON_GPU else "gloo", store=store, rank=rank, world_size=2)
    ddp()
    ddp_compiled()
    fsdp2()
    fsdp2_from_meta()
    fsdp2_checkpointed()
    fsdp1()
    tensor_parallel()
    sequence_parallel()
    tensor_parallel_and_fsdp2()
    odd_placements()
    lines_of_docs()
    dist.destroy_process_group()


if __name__ == "__main__":
    # Forked ranks share what is imported; a GPU that was asked for is lost to them.
    start_processes(all_checks, (int(sys.argv[1]),), 2, start_method="spawn" if ON_GPU else "fork")
