"""The steps of a check of everything: bits and products first, then times. Torch is imported where one runs.

Every distinct quantizer is compared bit for bit and every distinct product with its prediction or bound, on
random shapes. Then products are timed beside bf16 torch.mm, and quantizers beside a copy.
"""

from collections.abc import Iterator

from fp8core.linear import MATMULS
from kernels.bench.job import GemmJob
from kernels.bench.shapes import CHECKED, MNK, SKINNY, STANDARD, shape_text
from kernels.check.cases import DistinctGemm, DistinctOperand, distinct_gemms, distinct_operands
from kernels.check.facts import Facts
from kernels.check.report import Group, Line
from kernels.check.steps import SPEED_BYTES, Step, bandwidth_step

CUBES = tuple(shape for shape in STANDARD if isinstance(shape, tuple) and len(set(shape)) == 1)
TOKENS = tuple((layer.tokens, layer.out, layer.in_) for layer in SKINNY[:3])
"""(M, N, K) of a layer at few tokens."""


def every_steps(facts: Facts, uuid: str, seed: int) -> tuple[Step, ...]:
    """Every step, the most telling ones first; without a GPU, those that the interpreter can run."""
    operands, gemms = distinct_operands(MATMULS.values()), distinct_gemms(MATMULS.values())
    steps = [_bits_step(own, seed) for own in operands]
    steps += [_product_step(own, facts, seed) for own in gemms]
    if not facts.interpreted:
        steps += [_speed_step(own, CHECKED, facts, uuid) for own in gemms]
        steps += [bandwidth_step(own, uuid) for own in operands]
        steps += [_speed_step(own, mnk, facts, uuid) for mnk in (*TOKENS, *CUBES) for own in gemms]
    return tuple(steps)


def _bits_step(own: DistinctOperand, seed: int) -> Step:
    def run() -> Iterator[Line]:
        from kernels.check.every.quantizers import compare_anew
        from kernels.device import current_device

        yield compare_anew(own, current_device(), seed)

    return Step(group=Group.QUANTIZERS, names=(own.name,), run=run)


def _product_step(own: DistinctGemm, facts: Facts, seed: int) -> Step:
    on = "Triton's interpreter" if facts.interpreted else str(facts.gpu)

    def run() -> Iterator[Line]:
        from kernels.check.every.products import multiply_anew
        from kernels.device import current_device

        yield multiply_anew(own, current_device(), seed, on)

    return Step(group=Group.GEMMS, names=(own.name,), run=run)


def _speed_step(own: DistinctGemm, mnk: MNK, facts: Facts, uuid: str) -> Step:
    name = f"{own.name}, {shape_text(mnk)}"

    def run() -> Iterator[Line]:
        from kernels.check.speed import ROUNDS, recipe_lines, take_turns
        from kernels.device import current_device

        m, n, k = mnk
        job = GemmJob(recipe=own.recipe.name, matmul=own.matmul.name, m=m, n=n, k=k, runs=ROUNDS)
        device, jobs = current_device(), {name: job}
        yield from recipe_lines(jobs, take_turns(job, jobs, device, uuid), facts, device)

    return Step(group=Group.SPEED, names=(name,), run=run, needed_bytes=SPEED_BYTES)
