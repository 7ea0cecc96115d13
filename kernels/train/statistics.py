"""Statistics of a step's tensors, layer by layer: errors of copies of x, w and dy, and of y, dx and dw.

They come from one more forward and backward. `save_tensors` writes crops of x, w and dy to
<model>_<step>_<layer>.safetensors, each bf16[ROWS, COLUMNS].
"""

import copy
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

from fp8core.formats import Format
from fp8core.linear import MATMULS, OPERANDS, LayerTensor
from fp8core.recipes import Operand
from fp8core.rotations import hadamard
from kernels.layer import Float8Linear
from kernels.layer.calls import KERNELS, emulated, from_parts
from kernels.layer.plan import Reading
from kernels.layer.steps import random_seeds
from kernels.measure.machine import commit, today
from kernels.train.row import CopyStatistics, Number, ProductStatistics, Statistics, rounded
from kernels.train.step import Trainer

LayerTensors = dict[LayerTensor, torch.Tensor]
"""x [tokens, in], w [out, in] and dy [tokens, out] of a linear layer in one step."""


def tensors_of_a_step(trainer: Trainer) -> dict[str, LayerTensors]:
    layers: dict[str, LayerTensors] = {}

    def tap(name: str, layer: nn.Linear, x: torch.Tensor, y: torch.Tensor) -> None:
        own = layers[name] = {LayerTensor.X: x.detach(), LayerTensor.W: layer.weight.detach()}
        y.register_hook(lambda dy: own.update({LayerTensor.DY: dy.detach()}))

    trainer.observe(tap)
    return layers


def statistics(trainer: Trainer, step: int) -> Statistics:
    """Statistics of a trainer whose model has quantized layers."""
    quantized, tensors = trainer.model.quantized(), tensors_of_a_step(trainer)
    layers = [(layer, tensors[name]) for name, layer in quantized.items()]
    plan = layers[0][0].steps.plan
    readings = [side for name in MATMULS for side in (getattr(plan, name).a, getattr(plan, name).b)]
    with trainer.beside():
        of_copies = tuple(_of_copies(layers, each) for each in readings if each.operand is not None)
        results = [dict(_products(*one)) for one in layers]
    of_products = tuple(
        ProductStatistics(tensor=matmul.d.value, matmul=name, sqnr_db=tuple(each[name] for each in results))
        for name, matmul in MATMULS.items()
    )
    return Statistics(step=step, layers=tuple(quantized), copies=of_copies, products=of_products)


def _of_copies(layers: Iterable[tuple[Float8Linear, LayerTensors]], reading: Reading) -> CopyStatistics:
    rows = [_of_copy(layer, tensors[reading.tensor], reading) for layer, tensors in layers]
    columns = {name: tuple(each[name] for each in rows) for name in rows[0]}
    return CopyStatistics(tensor=reading.tensor.value, matmul=reading.matmul.name, **columns)


def _of_copy(layer: Float8Linear, x: torch.Tensor, reading: Reading) -> dict[str, Number]:
    operand = reading.operand
    values, codes, scales = _copied(layer, x, reading)
    truth = _rotated(x.float(), operand)
    error = values - truth
    largest, beyond = _largest(operand.spec.format)
    overflow = (codes == largest) & (truth.abs() > beyond * values.abs())
    underflow = (values == 0) & (truth != 0)
    return {
        "sqnr_db": _sqnr_db(truth, error),
        "underflows_percent": rounded(100 * underflow.double().mean()),
        "overflows_percent": rounded(100 * overflow.double().mean()),
        "scale_inv_min": rounded(scales[0]),
        "scale_inv_max": rounded(scales[1]),
        "mse": rounded(error.double().square().mean()),
        "amax": rounded(truth.abs().max()),
    }


def _copied(
    layer: Float8Linear, x: torch.Tensor, reading: Reading
) -> tuple[torch.Tensor, torch.Tensor, tuple[float, float]]:
    """Values and |codes| as numbers, [rows, columns], and the smallest and largest scale of a copy."""
    plan, operand = layer.steps.plan, reading.operand
    seeds = next(iter(random_seeds(plan, 1, x.device)), None)
    if plan.emulate:
        reference = emulated(x, reading, seeds[reading.place] if reading.is_random else None)
        scales = reference.scales.exact
        codes = np.abs(operand.spec.format.decode(reference.codes)).astype(np.float32)
        ends = float(scales.min()), float(scales.max())
        return torch.from_numpy(reference.values()), torch.from_numpy(codes), ends
    # Quantize for both readers, as a step does: a kernel for one alone would have to be compiled.
    pair = [each for each in getattr(plan, reading.tensor.value) if each.operand is not None]
    parts = KERNELS.quantize(x, pair, seeds)[pair.index(reading)]
    tensor = from_parts(operand, parts, operand.stored(tuple(x.shape))[1])
    levels = [level for level in (tensor.scale_values, tensor.outer_scale) if level is not None]
    smallest, largest = (math.prod(end(level) for level in levels) for end in (torch.min, torch.max))
    numbers = torch.from_numpy(np.abs(np.asarray(operand.spec.format.values, np.float32))).to(x.device)
    return tensor.values(), numbers[tensor.unpacked_codes().int()], (float(smallest), float(largest))


def _rotated(x: torch.Tensor, operand: Operand) -> torch.Tensor:
    """float32: x after the rotation along K, if there is one."""
    rotation = operand.spec.rotation
    if rotation is None:
        return x
    matrix = hadamard(np.eye(rotation.size, dtype=np.float32), rotation.size, rotation.signs)
    matrix = torch.from_numpy(matrix.astype(np.float32)).to(x.device)
    along = x.T if operand.k_is_rows else x
    whole = along.shape[1] // rotation.size * rotation.size
    products = along[:, :whole].unflatten(1, (-1, rotation.size)) @ matrix
    along = torch.cat((products.flatten(1), along[:, whole:]), 1).bfloat16().float()
    return along.T if operand.k_is_rows else along


def _largest(format_: Format) -> tuple[float, float]:
    """The largest code as a number, and the ratio above which a number would round beyond it."""
    numbers = np.unique(np.abs(np.asarray(format_.values, np.float64)))
    numbers = numbers[np.isfinite(numbers)]
    before, last = numbers[-2:]
    return float(last), float((last + (last - before) / 2) / last)


def _products(layer: Float8Linear, tensors: LayerTensors) -> Iterator[tuple[str, Number]]:
    """SQNR of y, dx and dw, by matmul, against the fp32 product of the bf16 operands."""
    layer = copy.deepcopy(layer)
    x, w, dy = (tensors[each] for each in (LayerTensor.X, LayerTensor.W, LayerTensor.DY))
    x32, w32, dy32 = x.float(), w.bfloat16().float(), dy.float()
    x = x.clone().requires_grad_()
    y = layer(x)
    y.backward(dy)
    for name, result, truth in (
        ("fprop", y.detach(), x32 @ w32.T),
        ("dgrad", x.grad, dy32 @ w32),
        ("wgrad", layer.weight.grad, dy32.T @ x32),
    ):
        yield name, _sqnr_db(truth, result.float() - truth)


def _sqnr_db(truth: torch.Tensor, error: torch.Tensor) -> Number:
    """10 · log10(‖truth‖² / ‖error‖²), if finite."""
    signal, noise = float(truth.double().square().sum()), float(error.double().square().sum())
    return rounded(10 * math.log10(signal / noise)) if signal > 0 and 0 < noise < math.inf else None


LAYERS = ("0.qkv", "2.gate_up", "3.proj", "5.down")
"""One of each kind: an early layer, two in the middle, a late one."""
ROWS, COLUMNS = 1 << 7, 1 << 8


def save_tensors(trainer: Trainer, step: int, steps: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    layers = tensors_of_a_step(trainer)
    job, machine = trainer.job, trainer.place.machine
    for name in LAYERS:
        if name not in layers:
            continue
        facts = {
            "made_by": "python -m kernels.train --tensors",
            "model": job.model,
            "recipe": job.recipe_title,
            "seed": str(job.seed),
            "layer": name,
            "after_step": f"{step} of {steps}",
            "text": f"{trainer.text.source.name} {trainer.text.source.version}, {trainer.text.source.sha256}",
            "gpu": machine.name,
            "versions": json.dumps(machine.versions),
            "date": today(),
            "commit": commit() or "",
        }
        tensors = {}
        for tensor in OPERANDS:
            tensors[tensor.value], facts[tensor.value] = _crop(layers[name][tensor].bfloat16())
        save_file(tensors, folder / f"{job.model}_{step:05d}_{name}.safetensors", metadata=facts)


def _crop(whole: torch.Tensor) -> tuple[torch.Tensor, str]:
    """Rows at equal distances, and the stretch of columns with the largest number in these rows.

    Neighbor rows are much alike: in the first layer, all spaces of an indented line are equal.
    """
    every = max(1, whole.shape[0] // ROWS)
    rows = whole[::every][:ROWS]
    stretches = rows.split(COLUMNS, 1)
    number = max(range(len(stretches)), key=lambda each: float(stretches[each].abs().max()))
    start = min(number * COLUMNS, max(0, whole.shape[1] - COLUMNS))
    crop = rows[:, start : start + COLUMNS].contiguous().cpu()
    amax, rms = float(whole.abs().max()), float(whole.float().square().mean().sqrt())
    return crop, (
        f"{crop.shape[0]} rows, every {every} from row 0, and columns {start} to {start + crop.shape[1] - 1} "
        f"of {list(whole.shape)}, the stretch of columns with the largest number; amax of all {amax:.4g}, "
        f"root mean square of all {rms:.4g}"
    )
