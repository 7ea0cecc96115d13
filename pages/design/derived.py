"""Consequences of a recipe: the rule's verdicts, costs, who can run it.

Caches have the recipe's line as their key: a recipe, whose formats have tables, takes longer to hash.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from fp8core.accumulators import ACCUMULATORS, Accumulator, Step
from fp8core.contraction import summed_stretches
from fp8core.costs import CopyCost, bits_per_element, copy_cost, matmul_rescales
from fp8core.experiments.designs import mean_bits
from fp8core.linear import MATMULS, OPERANDS, LayerTensor, Side
from fp8core.recipes import Copy, MatmulSpec, OperandSpec, Recipe
from fp8core.recipes.text import OWN_NAME, own_recipe
from fp8core.tiles import WHOLE
from kernels.device import BLACKWELL, HOPPER, Device, Unsupported
from kernels.gemm.block_scaled import NATIVE, native_kind, scaled_core
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_gemm
from kernels.gemm.variants import VARIANTS
from kernels.measure.jobs import LAYER
from pages.design.draft import CELL, CELL_KEYS
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import bytes_text, short, span, stored_tile
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.tables import grid, note
from pages.kit.view import here, page_ink


@dataclass(frozen=True)
class Verdict:
    """`holds`: no scale changes inside a sum. `short` is a word or two, `reason` sentences."""

    holds: bool
    short: str
    reason: str


def verdict(spec: MatmulSpec, k: int) -> Verdict:
    """Do the scales of a matmul over k products leave the sum, and how?"""
    unit = spec.accumulator
    operands = {side: operand for side in Side if (operand := spec.operand(side)) is not None}
    if not operands:
        return Verdict(True, "no scale", "Both operands stay bf16 and have no scale.")
    names = {side: operands[side].format.name if side in operands else "bf16" for side in Side}
    if set(names.values()) <= set(unit.operands):
        return _of_codes(spec, unit, k)
    if "bf16" in unit.operands:
        return _of_bf16(spec, operands)
    side = next(side for side, name in names.items() if name not in unit.operands)
    return Verdict(
        False,
        "no such unit",
        f"{unit.title} multiplies {', '.join(unit.operands)}, and {side.value} is {names[side]}. Take an "
        "accumulation that has this format, or one of bf16, for which the codes are dequantized.",
    )


def _of_codes(spec: MatmulSpec, unit: Accumulator, k: int) -> Verdict:
    if not spec.extents_along_k:
        reason = (
            "Each scale is one number along all of K. It moves in front of the sum and comes in at the end."
        )
        return Verdict(True, "yes, once", reason)
    if unit.step is Step.SCALED_GROUPS:
        return Verdict(True, "in the unit", f"{unit.title} multiplies the scales itself, group by group.")
    stretches = summed_stretches(k, unit.promotion, spec.extent(Side.A), spec.extent(Side.B))
    split = next((part for part in stretches if not part.scale_leaves_sum), None)
    if split is None:
        return Verdict(
            True,
            f"yes, every {unit.promotion}",
            f"The sum leaves the tensor core every {unit.promotion} products, and no scale changes in "
            "between. Each partial sum is multiplied by its scales, and these are added in fp32.",
        )
    side = Side.B if split.a_constant else Side.A
    extent = spec.extent(side)
    stretch = "all of K" if unit.promotion is WHOLE else f"k = {span(split.k)}"
    return Verdict(
        False,
        "no",
        f"{unit.title} adds {stretch} before the sum leaves it, and {side.value}'s scale changes every "
        f"{extent} along K: codes of different scales would be added. Take longer tiles along K, an "
        f"accumulation that is promoted at least every {extent}, or one of bf16.",
    )


def _of_bf16(spec: MatmulSpec, operands: dict[Side, OperandSpec]) -> Verdict:
    formats = " or ".join(sorted({operand.format.name for operand in operands.values()}))
    short, how = "before the sum", "each code is made bf16 with its scale before it is multiplied"
    if not spec.extents_along_k:
        short = "yes, once"
        how = "codes are made bf16, and each scale, one number along all of K, comes in after the sum"
    return Verdict(True, short, f"{spec.accumulator.title} multiplies no {formats}: {how}.")


@dataclass(frozen=True)
class Answer:
    """One place that may run a matmul; `words` give the way or the reason against it.

    `device` is the name of a GPU with our kernels, empty for a tensor core by itself. `otherwise`: the sum
    that takes the place of the recipe's own.
    """

    where: str
    can: bool
    words: str
    device: str = ""
    otherwise: str = ""

    @property
    def mark(self) -> str:
        return f"✓ {self.otherwise}".rstrip() if self.can else "✗ no"


def answers(spec: MatmulSpec, mnk: tuple[int, int, int]) -> tuple[Answer, ...]:
    hopper, blackwell = (ACCUMULATORS[name].operands for name in ("hopper_fast", "blackwell_fp8"))
    return (
        _codes_core("Hopper's FP8 tensor core", hopper, spec, mnk[2]),
        _kernel(spec, mnk, HOPPER),
        _codes_core("Blackwell's tensor core without scales", blackwell, spec, mnk[2]),
        _blackwell_core(spec),
        _kernel(spec, mnk, BLACKWELL),
    )


def _codes_core(where: str, formats: tuple[str, ...], spec: MatmulSpec, k: int) -> Answer:
    """A tensor core that multiplies codes alone; scales come in after the sum has left it."""
    names = {side.value: operand.format.name if (operand := spec.operand(side)) else "bf16" for side in Side}
    others = [f"{side} is {name}" for side, name in names.items() if name not in formats]
    if others:
        return Answer(where, False, f"it multiplies {', '.join(formats)}, and {' and '.join(others)}")
    if not all(operand.format.name in spec.accumulator.operands for operand in spec.quantized):
        return Answer(where, False, f"the recipe sums as {spec.accumulator.title} does, after dequantizing")
    rule = verdict(spec, k)
    return Answer(where, rule.holds, _lower(rule.reason))


def _blackwell_core(spec: MatmulSpec) -> Answer:
    where = "Blackwell's block-scaled tensor core"
    kind = native_kind(spec, BLACKWELL)
    if isinstance(kind, Unsupported):
        return Answer(where, False, kind.reason)
    native = NATIVE[kind]
    one = native.instructions[scaled_core(BLACKWELL)]
    return Answer(where, True, f"{one.ptx} ({one.sass}), a scale for every {native.tile_k} along K")


def _kernel(spec: MatmulSpec, mnk: tuple[int, int, int], device: Device) -> Answer:
    where = f"our kernels on {device.name}"
    plan = plan_gemm(spec, mnk, device, Summation.RECIPE)
    if isinstance(plan, Unsupported):
        return Answer(where, False, plan.reason, device.name)
    otherwise, every = "", plan.numerics.promotion
    if not verdict(spec, mnk[2]).holds:
        otherwise = "otherwise" if every is WHOLE else f"in sums of {every}"
    words = f"{_lower(VARIANTS[plan.variant].title)}: {plan.title}"
    return Answer(where, True, words, device.name, otherwise)


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


SIZES = f"tokens = {LAYER.tokens:,}, in = {LAYER.in_:,}, out = {LAYER.out:,}"


class MatmulFacts(NamedTuple):
    """One matmul: `rescales` of an output, `bits` per element of A and of B."""

    verdict: Verdict
    rescales: int
    bits: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A recipe in a layer of the sizes SIZES.

    `copies` are those that a step keeps, each with its tensor and cost. `able` has for each GPU the answers
    of our kernels to the matmuls, by name.
    """

    copies: tuple[tuple[LayerTensor, Copy, CopyCost], ...]
    matmuls: dict[str, MatmulFacts]
    bits: float
    able: dict[str, dict[str, Answer]]

    @property
    def bytes(self) -> int:
        return sum(cost.code_bytes + cost.scale_bytes for _, _, cost in self.copies)


@lru_cache(maxsize=256)
def facts(line: str) -> Facts:
    recipe = own_recipe(line)
    copies = tuple(
        (tensor, copy, copy_cost(copy, LAYER))
        for tensor in OPERANDS
        for copy in recipe.quantized_copies(tensor)
    )
    matmuls = {}
    for name, matmul in MATMULS.items():
        spec = recipe.spec(matmul)
        a, b = (
            bits_per_element(recipe.operand(matmul, side), LAYER.of(matmul.operand(side))) for side in Side
        )
        rescales = matmul_rescales(recipe, matmul, LAYER) if spec.quantized else 0
        matmuls[name] = MatmulFacts(verdict(spec, LAYER.size(matmul.k)), rescales, (a, b))
    able = {
        device.name: {
            name: one for name, every in runs(line).items() for one in every if one.device == device.name
        }
        for device in (HOPPER, BLACKWELL)
    }
    return Facts(copies=copies, matmuls=matmuls, bits=mean_bits(recipe, LAYER), able=able)


@lru_cache(maxsize=256)
def runs(line: str) -> dict[str, tuple[Answer, ...]]:
    recipe = own_recipe(line)
    return {name: answers(recipe.spec(matmul), matmul.mnk(LAYER)) for name, matmul in MATMULS.items()}


def show_cost(recipe: Recipe, line: str) -> None:
    ink, of = page_ink(), facts(line)
    rows = [
        (
            matmul.title,
            recipe.spec(matmul).accumulator.title,
            *(short(bits, 5) for bits in of.matmuls[name].bits),
            f"{of.matmuls[name].rescales:,}",
        )
        for name, matmul in MATMULS.items()
    ]
    head = ("matmul", "sums", "bits of A", "bits of B", "rescales per output")
    st.html(grid(head, rows, ink, names=2))
    here().know.html(_copies_table(of, ink))
    here().know.markdown(
        f"The sizes are those of a layer of {SIZES}. Bits are those of a code with its share of the scales."
    )


def _copies_table(of: Facts, ink: Ink) -> str:
    if not of.copies:
        return note("No operand is quantized: a step keeps no copy.", ink)
    rows = [
        (
            tensor.value,
            ", ".join(matmul.title for matmul, _ in copy.readers),
            f"{copy.spec.format.name}, {stored_tile(tensor, *copy.tile)}",
            str(len(copy.k_major)),
            f"{cost.scales:,}",
            bytes_text(cost.code_bytes),
            bytes_text(cost.scale_bytes),
        )
        for tensor, copy, cost in of.copies
    ]
    head = ("copy of", "read by", "codes in tiles of", "layouts", "scales", "code bytes", "scale bytes")
    return grid(head, rows, ink, names=3)


def show_runs(controls: Controls, line: str) -> None:
    every = runs(line)
    rows = [(places[0].where, *(one.mark for one in places)) for places in zip(*every.values(), strict=True)]
    st.html(grid(("", *(MATMULS[name].title for name in every)), rows, page_ink()))
    matmul, _ = CELL_KEYS[controls.value(CELL)]
    st.page_link(
        "pages/live_gemm.py",
        label=f"Run its {MATMULS[matmul].title} in Live GEMM",
        icon=":material/play_arrow:",
        query_params=link_params(recipe=OWN_NAME, own=line, matmul=matmul),
    )
    here().know.markdown(
        f"For a layer of {SIZES}. Kernels are chosen as they would be on an {HOPPER.name} and an "
        f"{BLACKWELL.name}; nothing is run here."
    )
    for name, of in every.items():
        reasons = (
            f"- :material/{'check' if one.can else 'block'}: {plain(one.where)}: {plain(one.words)}."
            for one in of
        )
        here().know.markdown(f"**{MATMULS[name].title}**\n\n" + "\n".join(reasons))
