"""Places that can run a matmul: tensor cores and kernel bodies, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass

from fp8core.accumulators import ACCUMULATORS
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec
from kernels.device import BLACKWELL, HOPPER, Device, Unsupported
from kernels.gemm.bodies import BODIES
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm
from kernels.operand_passes.native import NATIVE, native_kind, scaled_core
from pages.design.rule import verdict

_HOPPER_TAKES = ACCUMULATORS["hopper_fast"].operands
_BLACKWELL_TAKES = ACCUMULATORS["blackwell_fp8"].operands


@dataclass(frozen=True)
class Answer:
    """One place that may run a matmul; `can` says whether, `words` how or why not.

    `device` is the name of a GPU for which there may be a kernel body, empty for a tensor core by itself.
    """

    where: str
    can: bool
    words: str
    device: str = ""


def answers(spec: MatmulSpec, mnk: tuple[int, int, int]) -> tuple[Answer, ...]:
    """Tensor cores of Hopper and of Blackwell, without scales and with them, and our bodies there."""
    return (
        _codes_core("Hopper's FP8 tensor core", _HOPPER_TAKES, spec, mnk[2]),
        _body(spec, mnk, HOPPER),
        _codes_core("Blackwell's tensor core without scales", _BLACKWELL_TAKES, spec, mnk[2]),
        _blackwell_core(spec),
        _body(spec, mnk, BLACKWELL),
    )


def _codes_core(where: str, taken: tuple[str, ...], spec: MatmulSpec, k: int) -> Answer:
    """A tensor core that multiplies codes alone; the scales come in where the sum has left it."""
    others: dict[str, list[str]] = {}
    for side in Side:
        operand = spec.operand(side)
        name = "bf16" if operand is None else operand.format.name
        if name not in taken:
            others.setdefault(name, []).append(side.value)
    if others:
        told = [f"{' and '.join(on)} {'is' if len(on) == 1 else 'are'} {name}" for name, on in others.items()]
        return Answer(where, False, f"it multiplies {_listed(taken)}, and {_listed(told)}")
    if not all(operand.format.name in spec.accumulator.operands for operand in spec.quantized):
        return Answer(where, False, f"the recipe sums as {spec.accumulator.title} does, after dequantizing")
    found = verdict(spec, k)
    return Answer(where, found.holds, _lower(found.reason))


def _blackwell_core(spec: MatmulSpec) -> Answer:
    """The instruction that multiplies the codes by their scales itself."""
    where = "Blackwell's block-scaled tensor core"
    kind = native_kind(spec, BLACKWELL)
    if isinstance(kind, Unsupported):
        return Answer(where, False, kind.reason)
    facts, core = NATIVE[kind], scaled_core(BLACKWELL)
    assert core is not None, "Blackwell has a block-scaled tensor core"
    made = facts.instructions[core]
    return Answer(where, True, f"{made.ptx} ({made.sass}), a scale for every {facts.tile_k} along K")


def _body(spec: MatmulSpec, mnk: tuple[int, int, int], device: Device) -> Answer:
    """The kernel body that the planner takes on a device."""
    where = f"our kernels on {device.name}"
    plan = plan_gemm(spec, mnk, device, Summation.RECIPE)
    if isinstance(plan, Unsupported):
        return Answer(where, False, plan.reason, device.name)
    return Answer(where, True, f"{_lower(BODIES[plan.body].title)}: {plan.title}", device.name)


def _lower(sentence: str) -> str:
    """A sentence that goes on after a colon, without its full stop."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
