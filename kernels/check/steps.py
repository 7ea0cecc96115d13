"""The steps of a check, in order, each with its lines. Torch is imported where a step runs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fp8core.formats import FORMATS, FloatFormat
from fp8core.linear import MATMULS, Matmul
from fp8core.recipes import RECIPES, Recipe
from kernels.check.cases import DistinctGemm, DistinctOperand, distinct_gemms, operands_by_family
from kernels.check.compiling.codes import CastCode, Code, GemmCode
from kernels.check.facts import Facts
from kernels.check.job import CheckJob
from kernels.check.names import BF16, COPY, FP8
from kernels.check.report import Group, Line, Verdict
from kernels.device import Device, Unsupported

if TYPE_CHECKING:
    from kernels.check.products import Product
    from kernels.check.speed import Timed

PREDICTED = 100_000
"""Outputs of all GEMMs together that are compared with the model of the tensor core, at least."""

SPEED_BYTES = 8 << 30
"""Free memory that the timed matmuls and the copy take, rounded up."""

_MODEL, _REPEATS = "every predicted output", "every matmul"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to run: `run` gives a line for each of `names`. `torch_only` needs neither Triton nor FP8.

    `codes` are those of our kernels that it launches on a device, for whoever compiles them ahead.
    """

    group: Group
    names: tuple[str, ...]
    run: Callable[[], Iterable[Line]]
    torch_only: bool = False
    needed_bytes: int = 0
    codes: Callable[[Device], Iterable[Code]] | None = None


def check_steps(job: CheckJob, facts: Facts, uuid: str) -> tuple[Step, ...]:
    """Every step of a check; without a GPU, the steps that mean something in Triton's interpreter."""
    matmuls = tuple(MATMULS.values())[: 1 if job.quick else None]
    seen: dict[Any, Any] = {}
    right: dict[str, bool] = {}
    return (
        *(_cast_step(FORMATS[name]) for name in ("e4m3", "e5m2")),
        *(_quantizer_step(recipe, matmuls, seen) for recipe in RECIPES.values()),
        *_product_steps(matmuls, facts, right),
        *(() if facts.interpreted else _speed_steps(matmuls, facts, uuid, right)),
    )


def _cast_step(format_: FloatFormat) -> Step:
    def run() -> Iterator[Line]:
        from kernels.check.casts import check_casts
        from kernels.device import current_device

        yield check_casts(format_, current_device())

    return Step(group=Group.CASTS, names=(format_.name,), run=run, codes=lambda device: (CastCode(format_),))


def _quantizer_step(recipe: Recipe, matmuls: tuple[Matmul, ...], seen: dict[Any, Any]) -> Step:
    def run() -> Iterator[Line]:
        from kernels.check.quantizers import check_quantizers
        from kernels.device import current_device

        yield check_quantizers(recipe, matmuls, current_device(), seen)

    def codes(device: Device) -> Iterator[Code]:
        from kernels.check.quantizers import quantizer_codes

        return quantizer_codes(recipe, matmuls, device)

    return Step(group=Group.QUANTIZERS, names=(recipe.name,), run=run, codes=codes)


def _product_steps(matmuls: tuple[Matmul, ...], facts: Facts, right: dict[str, bool]) -> Iterator[Step]:
    """A step for each distinct GEMM, then steps that judge all of them together. `right` collects the
    results.
    """
    found: list[Product] = []
    cases = distinct_gemms(matmuls)
    outputs = -(-PREDICTED // len(cases))
    on = "Triton's interpreter" if facts.interpreted else str(facts.gpu)
    for case in cases:
        yield _product_step(case, outputs, on, found, right)

    def model() -> Iterator[Line]:
        from kernels.check.products import accumulator_line

        yield accumulator_line(_at_least_one(found), _MODEL)

    def repeats() -> Iterator[Line]:
        from kernels.check.products import determinism_line

        yield determinism_line(_at_least_one(found), _REPEATS)

    yield Step(group=Group.ACCUMULATOR, names=(_MODEL,), run=model)
    yield Step(group=Group.DETERMINISM, names=(_REPEATS,), run=repeats)


def _product_step(
    case: DistinctGemm, outputs: int, on: str, found: "list[Product]", right: dict[str, bool]
) -> Step:
    name = case.name

    def run() -> Iterator[Line]:
        from kernels.check.products import multiply, product_line
        from kernels.device import current_device

        right[name] = False
        try:
            product = multiply(case.recipe.name, case.matmul.name, outputs, current_device())
        except Unsupported:
            right[name] = True  # nothing is wrong: a step of speed says again why there is none
            raise
        found.append(product)
        line = product_line(product, name, on, case.others)
        right[name] = line.verdict is Verdict.PASS
        yield line

    def codes(device: Device) -> Iterator[Code]:
        from kernels.check.products import job_of

        yield GemmCode(job_of(case.recipe.name, case.matmul.name, device))

    return Step(group=Group.GEMMS, names=(name,), run=run, codes=codes)


def _at_least_one(found: "list[Product]") -> "list[Product]":
    if not found:
        raise RuntimeError("no matmul ran, so there is nothing to compare")
    return found


def _speed_steps(
    matmuls: tuple[Matmul, ...], facts: Facts, uuid: str, right: dict[str, bool]
) -> Iterator[Step]:
    """A copy by itself, quantizers beside a copy, torch's matmuls in turns with ours of the first matmul, and
    then the other matmuls.

    Torch's run even where ours cannot, so they have their own step. The times of ours wait in `taken`.
    """
    cases = distinct_gemms(matmuls)
    taken: dict[str, Timed] = {}

    def copy() -> Iterator[Line]:
        from kernels.check.speed import time_copy
        from kernels.device import current_device

        yield time_copy(facts, current_device(), uuid)

    def torch_ops() -> Iterator[Line]:
        from kernels.check.speed import speed_job, take_turns, torch_lines
        from kernels.device import current_device

        matmul, device = matmuls[0], current_device()
        jobs = {
            case.name: speed_job(case.recipe.name, matmul.name)
            for case in cases
            if case.matmul == matmul and right.get(case.name, False)
        }
        job = speed_job(cases[0].recipe.name, matmul.name)
        timed = taken[matmul.name] = take_turns(job, jobs, device, uuid, with_fp8=True)
        yield from torch_lines(job, timed, facts, device)

    torch = {"group": Group.SPEED, "torch_only": True, "needed_bytes": SPEED_BYTES}
    yield Step(names=(COPY,), run=copy, **torch)
    yield from (bandwidth_step(own, uuid) for own in operands_by_family(matmuls[0]))
    yield Step(names=(BF16, FP8), run=torch_ops, **torch)
    for matmul in matmuls:
        by_name = {case.name: case.recipe.name for case in cases if case.matmul == matmul}
        if by_name:
            yield _recipes_step(matmul, by_name, facts, uuid, right, taken)


def bandwidth_step(own: DistinctOperand, uuid: str) -> Step:
    """The speed of one quantizer, beside a copy."""
    name = f"{own.name} quantized"

    def run() -> Iterator[Line]:
        from kernels.check.bandwidth import beside_a_copy
        from kernels.device import current_device

        yield beside_a_copy(name, own.operand, current_device(), uuid)

    def codes(device: Device) -> Iterator[Code]:
        from kernels.check.bandwidth import bandwidth_code

        yield bandwidth_code(own.operand)

    return Step(group=Group.SPEED, names=(name,), run=run, needed_bytes=SPEED_BYTES, codes=codes)


def _recipes_step(
    matmul: Matmul,
    by_name: dict[str, str],
    facts: Facts,
    uuid: str,
    right: dict[str, bool],
    taken: "dict[str, Timed]",
) -> Step:
    """The times of some recipes, by the names of their lines of a matmul."""

    def run() -> Iterator[Line]:
        from kernels.check.speed import recipe_lines, speed_job, take_turns
        from kernels.device import current_device

        wrong = [name for name in by_name if not right.get(name, True)]
        for name in wrong:
            detail = "Not timed: its product is not right."
            yield Line(name=name, group=Group.SPEED, verdict=Verdict.NOT_RUN, detail=detail)
        jobs = {name: speed_job(recipe, matmul.name) for name, recipe in by_name.items() if name not in wrong}
        if not jobs:
            return
        timed, device = taken.get(matmul.name), current_device()
        if timed is None or not jobs.keys() <= timed.names:
            timed = take_turns(next(iter(jobs.values())), jobs, device, uuid)
        yield from recipe_lines(jobs, timed, facts, device)

    def codes(device: Device) -> Iterator[Code]:
        from kernels.check.speed import speed_job

        return (GemmCode(speed_job(recipe, matmul.name)) for recipe in by_name.values())

    names = tuple(by_name)
    return Step(group=Group.SPEED, names=names, run=run, needed_bytes=SPEED_BYTES, codes=codes)
