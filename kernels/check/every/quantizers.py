"""One quantizer against the reference, bit for bit, on tensors of random odd shapes."""

from kernels.check.cases import DistinctOperand
from kernels.check.every.draw import fit, generator, odd
from kernels.check.quantizers import SAMPLES, compare, quantizer_line
from kernels.check.report import Line
from kernels.device import Device

_SQUARES, _SIDE, _LONG, _FLAT = 3, 601, 20_001, 3


def compare_anew(own: DistinctOperand, device: Device, seed: int) -> Line:
    """The report line of one operand: squares of odd sides and a long one, each with numbers of its own."""
    rng = generator(seed, own.name)
    side = fit(_SIDE, device)
    shapes = [(odd(rng, side), odd(rng, side)) for _ in range(_SQUARES)]
    shapes.append((odd(rng, _FLAT), odd(rng, fit(_LONG, device))))
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
