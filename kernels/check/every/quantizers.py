"""One quantizer against the reference, bit for bit, on tensors of random shapes: odd ones, and multiples of
16, for which Triton compiles other kernels.
"""

from kernels.check.cases import DistinctOperand
from kernels.check.every.draw import fit, generator, multiple, odd
from kernels.check.quantizers import SAMPLES, compare, quantizer_line
from kernels.check.report import Line
from kernels.device import Device

_SQUARES, _SIDE, _LONG, _FLAT, _STEP = 3, 601, 20_001, 3, 16


def compare_anew(own: DistinctOperand, device: Device, seed: int) -> Line:
    """The report line of one operand, each tensor with numbers of its own: odd squares, a long one, and one
    whose sides are multiples of 16.
    """
    rng = generator(seed, own.name)
    side = fit(_SIDE, device)
    shapes = [(odd(rng, side), odd(rng, side)) for _ in range(_SQUARES)]
    shapes.append((odd(rng, _FLAT), odd(rng, fit(_LONG, device))))
    shapes.append((multiple(rng, _STEP, side), multiple(rng, _STEP, side)))
    compared = different = 0
    detail = ""
    for number, stored in enumerate(shapes):
        shape = own.operand.stored(stored)
        name = SAMPLES[number % len(SAMPLES)]
        size, wrong, first = compare(own.operand, shape, name, device, int(rng.integers(1 << 31)))
        compared, different = compared + size, different + wrong
        if wrong and not detail:
            detail = f"{name} numbers, {shape[0]} × {shape[1]}: {first}"
    return quantizer_line(own.name, compared, different, f"{len(shapes)} tensors", detail)
