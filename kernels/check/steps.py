"""The steps of a check, in order, each with its lines. Torch is imported where a step runs."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, LayerShape, Matmul, Side
from fp8core.recipes import RECIPES, Family, MatmulSpec, Operand, Recipe
from kernels.check.report import COPY, TORCH_BF16, TORCH_FP8, CheckJob, Facts, Group, Line
from kernels.device import HOPPER, Device, DeviceKind, Unsupported, current_device
from kernels.gemm.numerics import Summation, numerics_of
from kernels.measure.jobs import CHECKED, MNK, GemmJob
from kernels.precompile import Code

if TYPE_CHECKING:
    from kernels.check.products import Product
    from kernels.check.speed import Turns

PREDICTED = 100_000
"""Outputs of all GEMMs together that are compared with the tensor core's model, at least."""

SPEED_BYTES = 8 << 30  # of free memory, for the timed matmuls and the copy

QUANTIZED, SPEED_SEED = (8192, 8192), 1
ROUNDS = 5
_MNK, _MNK_INTERPRETED = (4080, 4080, 272), (80, 48, 144)


def checked_mnk(device: Device | None = None) -> MNK:
    """(M, N, K) of quantizers and GEMMs: partial blocks and tiles at every edge, in multiples of 16.

    One shape, so that each quantizer is compiled once.
    """
    return _MNK if device is None or device.kind is DeviceKind.GPU else _MNK_INTERPRETED


class Call:
    """A function of this package, and its arguments but the last one, a device. Its module needs torch."""

    def __init__(self, function: str, *arguments: Any) -> None:
        self._name, self.arguments = function, arguments

    @property
    def function(self) -> Callable[..., Any]:
        return resolve_name(f"kernels.check.{self._name}")

    def __call__(self, device: Device | None = None) -> Any:
        return self.function(*self.arguments, device or current_device())


def one_code(function: str, *arguments: Any) -> Callable[[Device], Iterable[Code]]:
    """The codes of a step that has one: a function of this package, and its arguments."""
    return lambda device: [(Call(function).function, *arguments)]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to run: `run` gives a line for each of `names`; `codes`: its kernels, to compile ahead."""

    group: Group
    names: tuple[str, ...]
    run: Callable[[], Line | Iterable[Line]]
    torch_only: bool = False
    needed_bytes: int = 0
    codes: Callable[[Device], Iterable[Code]] = lambda device: ()


@dataclass(frozen=True, kw_only=True)
class DistinctGemm:
    """One GEMM to check. `others`: names of GEMMs whose operands a kernel multiplies alike."""

    recipe: Recipe
    matmul: Matmul
    others: tuple[str, ...]

    @property
    def name(self) -> str:
        return name_of(self.recipe, self.matmul)

    @property
    def timed(self) -> GemmJob:
        return self.job(CHECKED, runs=ROUNDS)

    def job(self, mnk: MNK | LayerShape, **fields: Any) -> GemmJob:
        return GemmJob.of(self.recipe.name, self.matmul.name, mnk, **fields)


def name_of(recipe: Recipe, matmul: Matmul) -> str:
    return f"{recipe.name} {matmul.name}"


def distinct_gemms(matmuls: Iterable[Matmul]) -> tuple[DistinctGemm, ...]:
    """The GEMMs of all recipes, matmul by matmul; of those multiplied alike, the first."""
    alike: dict[Hashable, list[tuple[Recipe, Matmul]]] = {}
    for matmul, recipe in product(matmuls, RECIPES.values()):
        alike.setdefault(multiplied_as(recipe.spec(matmul)), []).append((recipe, matmul))
    return tuple(
        DistinctGemm(recipe=first[0], matmul=first[1], others=tuple(name_of(*other) for other in rest))
        for first, *rest in alike.values()
    )


def multiplied_as(spec: MatmulSpec) -> Hashable:
    """Equal for matmuls that kernels cannot tell apart; their difference is the quantizer's."""
    numerics = numerics_of(spec, HOPPER, Summation.RECIPE)
    return numerics.reason if isinstance(numerics, Unsupported) else numerics.kernel_key


def operands_by_family(matmul: Matmul) -> dict[str, Operand]:
    """Operand A of a matmul in the first recipe of each family that quantizes it, by its line's name."""
    first: dict[Family, tuple[str, Operand]] = {}
    for recipe in RECIPES.values():
        operand = recipe.operand(matmul, Side.A)
        if operand is not None:
            first.setdefault(recipe.family, (f"{name_of(recipe, matmul)} {Side.A.value} quantized", operand))
    return dict(first.values())


@dataclass
class Findings:
    """The machine of a check, and what later steps need of earlier ones.

    - quantized: comparisons that recipes share. products: every GEMM that ran.
    - wrong: names of GEMMs whose product is wrong. turns: times by matmul, taken in turns with torch's.
    """

    facts: Facts
    uuid: str
    quantized: dict[Any, Any] = field(default_factory=dict)
    products: "list[Product]" = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    turns: "dict[str, Turns]" = field(default_factory=dict)


def check_steps(job: CheckJob, facts: Facts, uuid: str) -> tuple[Step, ...]:
    matmuls = tuple(MATMULS.values())[: 1 if job.quick else None]
    cases, findings = distinct_gemms(matmuls), Findings(facts, uuid)
    steps = [*_comparisons(matmuls, cases, findings)]
    return tuple(steps if facts.interpreted else [*steps, *_speeds(matmuls, cases, findings)])


def _comparisons(
    matmuls: tuple[Matmul, ...], cases: tuple[DistinctGemm, ...], findings: Findings
) -> Iterator[Step]:
    for name in ("e4m3", "e5m2"):
        run = Call("quantizers.check_casts", FORMATS[name])
        codes = one_code("quantizers.launch_cast", FORMATS[name])
        yield Step(group=Group.CASTS, names=(name,), run=run, codes=codes)
    for recipe in RECIPES.values():
        run = Call("quantizers.check_quantizers", recipe, matmuls, findings.quantized)
        codes = Call("quantizers.quantizer_codes", recipe, matmuls)
        yield Step(group=Group.QUANTIZERS, names=(recipe.name,), run=run, codes=codes)
    for case in cases:
        run = Call("products.check_product", case, -(-PREDICTED // len(cases)), findings)
        codes = Call("products.codes_of", [case.job(checked_mnk())])
        yield Step(group=Group.GEMMS, names=(case.name,), run=run, codes=codes)
    for group, name in ((Group.ACCUMULATOR, "every predicted output"), (Group.DETERMINISM, "every matmul")):
        yield Step(group=group, names=(name,), run=Call("products.check_all", group, name, findings))


def _speeds(
    matmuls: tuple[Matmul, ...], cases: tuple[DistinctGemm, ...], findings: Findings
) -> Iterator[Step]:
    """A copy, quantizers, torch's matmuls in turns with ours of the first matmul, then the other matmuls.

    Torch's run even where ours cannot, so they have their own step.
    """
    shared = {"group": Group.SPEED, "needed_bytes": SPEED_BYTES}
    yield Step(names=(COPY,), run=Call("speed.time_copy", findings), torch_only=True, **shared)
    for name, operand in operands_by_family(matmuls[0]).items():
        run = Call("speed.time_quantizer", name, operand, findings)
        codes = one_code("quantizers.launch_quantizer", operand, QUANTIZED, SPEED_SEED, 1)
        yield Step(names=(name,), run=run, codes=codes, **shared)
    of = {matmul.name: tuple(case for case in cases if case.matmul == matmul) for matmul in matmuls}
    run = Call("speed.time_torch", of[matmuls[0].name], findings)
    yield Step(names=(TORCH_BF16, TORCH_FP8), run=run, torch_only=True, **shared)
    for own in filter(None, of.values()):
        codes = Call("products.codes_of", [case.timed for case in own])
        run = Call("speed.time_recipes", own, findings)
        yield Step(names=tuple(case.name for case in own), run=run, codes=codes, **shared)
