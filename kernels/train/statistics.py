"""Statistics of a step's tensors, layer by layer: what a recipe does to x, w and dy, and to y, dx and dw.

They are taken beside the run: one more forward and backward, on windows that no step has.
"""

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from fp8core.formats import Format
from fp8core.linear import MATMULS, LayerTensor
from fp8core.philox import random_bits
from fp8core.quantize import quantize as reference_quantize
from fp8core.recipes import Operand
from fp8core.rotations import hadamard
from kernels.layer import Float8Linear
from kernels.layer.carried import DY, W, X
from kernels.layer.ops import quantize_now
from kernels.layer.plan import Reading, readings
from kernels.layer.plan import step as plan_step
from kernels.train.row import CopyStatistics, Number, ProductStatistics, Statistics
from kernels.train.step import Trainer

_DIGITS = 4
_ROWS = {LayerTensor.X: X, LayerTensor.W: W, LayerTensor.DY: DY}
"""Rows of an amax history."""


@dataclass
class Seen:
    """What a linear layer read and gave in one step: x [tokens, in], y and dy [tokens, out]."""

    layer: nn.Linear
    x: torch.Tensor
    y: torch.Tensor
    dy: torch.Tensor | None = None

    def of(self, tensor: LayerTensor) -> torch.Tensor:
        """x, w or dy."""
        return {LayerTensor.X: self.x, LayerTensor.W: self.layer.weight.detach(), LayerTensor.DY: self.dy}[
            tensor
        ]


def seen_in_a_step(trainer: Trainer) -> dict[str, Seen]:
    """Tensors of every linear layer, by its name."""
    seen: dict[str, Seen] = {}

    def tap(name: str, layer: nn.Linear, x: torch.Tensor, y: torch.Tensor) -> None:
        one = seen[name] = Seen(layer, x.detach(), y.detach())

        def take(dy: torch.Tensor) -> None:
            one.dy = dy.detach()

        y.register_hook(take)

    trainer.observe(tap)
    return seen


def statistics(trainer: Trainer, step: int) -> Statistics:
    """Statistics of every layer that runs in the recipe, after `step` steps."""
    seen = {name: one for name, one in seen_in_a_step(trainer).items() if isinstance(one.layer, Float8Linear)}
    if not seen:
        return Statistics(step=step, layers=(), copies=(), products=())
    key = next(iter(seen.values())).layer.plan.key
    steps = [plan_step(key, name) for name in MATMULS]
    read = [each for one in steps for each in (one.a, one.b) if each.operand is not None]
    copies = tuple(_of_copies(seen.values(), reading) for reading in read)
    results = [dict(_products(one)) for one in seen.values()]
    products = tuple(
        ProductStatistics(
            tensor=matmul.d.value, matmul=name, sqnr_db=tuple(result[name] for result in results)
        )
        for name, matmul in MATMULS.items()
    )
    return Statistics(step=step, layers=tuple(seen), copies=copies, products=products)


def _of_copies(seen: Iterable[Seen], reading: Reading) -> CopyStatistics:
    """Statistics of what one operand of a matmul is in all layers."""
    found = [_of_copy(one, reading) for one in seen]
    columns = {name: tuple(each[name] for each in found) for name in found[0]}
    tensor = reading.matmul.operand(reading.side)
    return CopyStatistics(tensor=tensor.value, matmul=reading.matmul.name, **columns)


def _of_copy(one: Seen, reading: Reading) -> dict[str, Number]:
    """Statistics of one layer's copy, by their names."""
    operand = reading.operand
    x = one.of(reading.matmul.operand(reading.side))
    made = _copied(one.layer, x, reading)
    truth = _rotated(x.float(), operand)
    error = made.values - truth
    largest, beyond = _largest(operand.spec.format)
    clipped = (made.codes == largest) & (truth.abs() > beyond * made.values.abs())
    lost = (made.values == 0) & (truth != 0)
    return {
        "sqnr_db": _sqnr_db(truth, error),
        "underflows_percent": _number(100 * lost.double().mean()),
        "overflows_percent": _number(100 * clipped.double().mean()),
        "scale_inv_min": _number(made.smallest),
        "scale_inv_max": _number(made.largest),
        "mse": _number(error.double().square().mean()),
        "amax": _number(truth.abs().max()),
    }


@dataclass
class _Copy:
    """A copy's values and |codes| as numbers, [rows, columns], and its smallest and largest scale."""

    values: torch.Tensor
    codes: torch.Tensor
    smallest: torch.Tensor | float
    largest: torch.Tensor | float


def _copied(layer: Float8Linear, x: torch.Tensor, reading: Reading) -> _Copy:
    """A copy of x as the layer's next step would make it, by the kernel of that step."""
    plan, tensor, operand = layer.plan, reading.matmul.operand(reading.side), reading.operand
    history = None
    if operand.spec.scale_rule.history:
        history = layer.amax_history[_ROWS[tensor]].view(torch.float32)
    if plan.emulate:
        seed = layer.seeds[reading.place : reading.place + 1] if reading.is_random else None
        return _emulated(x, operand, seed, history)
    # Both copies are made, as in a step: the kernel that makes one alone would have to be compiled.
    matmuls = getattr(plan, tensor.value).both
    copies = quantize_now(x, plan.key, tensor.value, matmuls, layer.seeds, history)
    made = copies[readings(plan.key, tensor.value, matmuls).index(reading)]
    table = torch.from_numpy(np.abs(np.asarray(operand.spec.format.values, np.float32))).to(x.device)
    scales, outer = made.scale_values, made.outer_scale
    ends = [scales.min(), scales.max()]
    if outer is not None:
        ends = [ends[0] * outer.min(), ends[1] * outer.max()]
    return _Copy(made.values(), table[made.unpacked_codes().int()], *ends)


def _emulated(
    x: torch.Tensor, operand: Operand, seed: torch.Tensor | None, history: torch.Tensor | None
) -> _Copy:
    random = None
    if seed is not None:
        bits = random_bits(operand.stored(tuple(x.shape)), int(seed))
        random = np.ascontiguousarray(bits.T) if operand.k_is_rows else bits
    steps = None if history is None else history.cpu().numpy()
    made = reference_quantize(x.float().cpu().numpy(), operand, random=random, history=steps)
    scales = made.scales.exact
    codes = np.abs(operand.spec.format.decode(made.codes)).astype(np.float32)
    values = torch.from_numpy(made.values())
    return _Copy(values, torch.from_numpy(codes), float(scales.min()), float(scales.max()))


def _rotated(x: torch.Tensor, operand: Operand) -> torch.Tensor:
    """float32: x as it is rounded, after the rotation along K, if there is one."""
    rotation = operand.spec.rotation
    if rotation is None:
        return x
    matrix = hadamard(np.eye(rotation.size, dtype=np.float32), rotation.size, rotation.signs).astype(
        np.float32
    )
    along = x.T if operand.k_is_rows else x
    whole = along.shape[1] // rotation.size * rotation.size
    turned = along[:, :whole].unflatten(1, (-1, rotation.size)) @ torch.from_numpy(matrix).to(x.device)
    along = torch.cat((turned.flatten(1), along[:, whole:]), 1).bfloat16().float()
    return along.T if operand.k_is_rows else along


def _largest(format_: Format) -> tuple[float, float]:
    """The largest code as a number, and the ratio to it from which a number is rounded beyond it."""
    numbers = np.unique(np.abs(np.asarray(format_.values, np.float64)))
    numbers = numbers[np.isfinite(numbers)]
    before, last = numbers[-2:]
    return float(last), float((last + (last - before) / 2) / last)


def _products(one: Seen) -> Iterator[tuple[str, Number]]:
    """The matmul's name and the SQNR of y, dx and dw, against the fp32 product of the bf16 operands."""
    layer = copy.deepcopy(one.layer)
    x = one.x.clone().requires_grad_()
    y = layer(x)
    y.backward(one.dy)
    x32, w32, dy32 = one.x.float(), one.layer.weight.detach().bfloat16().float(), one.dy.float()
    for name, got, truth in (
        ("fprop", y.detach(), x32 @ w32.T),
        ("dgrad", x.grad, dy32 @ w32),
        ("wgrad", layer.weight.grad, dy32.T @ x32),
    ):
        yield name, _sqnr_db(truth, got.float() - truth)


def _sqnr_db(truth: torch.Tensor, error: torch.Tensor) -> Number:
    """10 · log10(‖truth‖² / ‖error‖²); None where it is no finite number."""
    signal, noise = float(truth.double().square().sum()), float(error.double().square().sum())
    return _number(10 * math.log10(signal / noise)) if signal > 0 and 0 < noise < math.inf else None


def _number(x: torch.Tensor | float) -> Number:
    """A number of four digits; None for NaN and infinity."""
    number = float(x)
    return float(f"{number:.{_DIGITS}g}") if math.isfinite(number) else None
