"""What a check runs, in order: each step with the lines it gives. Torch is imported where a step runs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fp8core.formats import FORMATS, Format
from fp8core.linear import MATMULS, Matmul
from fp8core.recipes import RECIPES, Recipe
from kernels.check.facts import Facts
from kernels.check.job import CheckJob
from kernels.check.report import Group, Line, Verdict
from kernels.device import Unsupported

if TYPE_CHECKING:
    from kernels.check.products import Product

PREDICTED = 100_000
"""Outputs of all GEMMs together that are compared with the model of the tensor core, at least."""

SPEED_BYTES = 4 << 30
"""Free memory that the timed matmuls and the copy take, rounded up."""

COPY, BF16, FP8 = "copy", "bf16 (torch.mm)", "fp8 (torch._scaled_mm)"
_MODEL, _REPEATS = "every predicted output", "every matmul"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to run: `run` gives a line for each of `names`. `torch_only` needs neither Triton nor FP8."""

    group: Group
    names: tuple[str, ...]
    run: Callable[[], Iterable[Line]]
    torch_only: bool = False
    needed_bytes: int = 0


def check_steps(job: CheckJob, facts: Facts, uuid: str) -> tuple[Step, ...]:
    """Every step of a check; without a GPU, in Triton's interpreter, those that say something there."""
    matmuls = tuple(MATMULS.values())[: 1 if job.quick else None]
    seen: dict[Any, Any] = {}
    unfit: set[str] = set()
    return (
        *(_cast_step(FORMATS[name]) for name in ("e4m3", "e5m2")),
        *(_quantizer_step(recipe, matmuls, seen) for recipe in RECIPES.values()),
        *_product_steps(matmuls, facts, unfit),
        *(() if facts.interpreted else _speed_steps(matmuls, facts, uuid, unfit)),
    )


def _cast_step(format_: Format) -> Step:
    def run() -> Iterator[Line]:
        from kernels.check.casts import check_casts
        from kernels.device import current_device

        yield check_casts(format_, current_device())

    return Step(group=Group.CASTS, names=(format_.name,), run=run)


def _quantizer_step(recipe: Recipe, matmuls: tuple[Matmul, ...], seen: dict[Any, Any]) -> Step:
    def run() -> Iterator[Line]:
        from kernels.check.quantizers import check_quantizers
        from kernels.device import current_device

        yield check_quantizers(recipe, matmuls, current_device(), seen)

    return Step(group=Group.QUANTIZERS, names=(recipe.name,), run=run)


def _product_steps(matmuls: tuple[Matmul, ...], facts: Facts, unfit: set[str]) -> Iterator[Step]:
    """A step for each GEMM, then those for what all of them together say; `unfit` gets the wrong ones."""
    found: list[Product] = []
    cases = [(recipe, matmul) for matmul in matmuls for recipe in RECIPES.values()]
    outputs = -(-PREDICTED // len(cases))
    on = "Triton's interpreter" if facts.interpreted else str(facts.gpu)
    for recipe, matmul in cases:
        yield _product_step(recipe, matmul, outputs, on, found, unfit)

    def model() -> Iterator[Line]:
        from kernels.check.products import accumulator_line

        yield accumulator_line(_at_least_one(found), _MODEL)

    def repeats() -> Iterator[Line]:
        from kernels.check.products import determinism_line

        yield determinism_line(_at_least_one(found), _REPEATS)

    yield Step(group=Group.ACCUMULATOR, names=(_MODEL,), run=model)
    yield Step(group=Group.DETERMINISM, names=(_REPEATS,), run=repeats)


def _product_step(
    recipe: Recipe, matmul: Matmul, outputs: int, on: str, found: "list[Product]", unfit: set[str]
) -> Step:
    name = _name(recipe, matmul)

    def run() -> Iterator[Line]:
        from kernels.check.products import multiply, product_line
        from kernels.device import current_device

        unfit.add(name)
        try:
            product = multiply(recipe.name, matmul.name, outputs, current_device())
        except Unsupported:
            unfit.remove(name)
            raise
        found.append(product)
        line = product_line(product, name, on)
        if line.verdict is Verdict.PASS:
            unfit.remove(name)
        yield line

    return Step(group=Group.GEMMS, names=(name,), run=run)


def _at_least_one(found: "list[Product]") -> "list[Product]":
    if not found:
        raise RuntimeError("no matmul ran, so there is nothing to compare")
    return found


def _speed_steps(matmuls: tuple[Matmul, ...], facts: Facts, uuid: str, unfit: set[str]) -> Iterator[Step]:
    first = next(iter(RECIPES.values()))

    def torch_ops() -> Iterator[Line]:
        from kernels.check.speed import speed_job, time_torch
        from kernels.device import current_device

        yield from time_torch(speed_job(first.name, matmuls[0].name), facts, current_device(), uuid)

    yield Step(
        group=Group.SPEED,
        names=(COPY, BF16, FP8),
        run=torch_ops,
        torch_only=True,
        needed_bytes=SPEED_BYTES,
    )
    for matmul in matmuls:
        yield _recipes_step(matmul, facts, uuid, unfit)


def _recipes_step(matmul: Matmul, facts: Facts, uuid: str, unfit: set[str]) -> Step:
    by_name = {_name(recipe, matmul): recipe.name for recipe in RECIPES.values()}

    def run() -> Iterator[Line]:
        from kernels.check.speed import speed_job, time_recipes
        from kernels.device import current_device

        for name in unfit & by_name.keys():
            detail = "Not timed: its product is not right."
            yield Line(name=name, group=Group.SPEED, verdict=Verdict.NOT_RUN, detail=detail)
        jobs = {name: speed_job(recipe, matmul.name) for name, recipe in by_name.items() if name not in unfit}
        if jobs:
            yield from time_recipes(jobs, facts, current_device(), uuid)

    return Step(group=Group.SPEED, names=tuple(by_name), run=run, needed_bytes=SPEED_BYTES)


def _name(recipe: Recipe, matmul: Matmul) -> str:
    return f"{recipe.name} {matmul.name}"
