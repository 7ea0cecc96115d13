"""Compile-time arguments of the quantizing kernels, from an operand and its plan. Pure; no torch, no GPU."""

from dataclasses import replace
from typing import Any

from fp8core.formats import FORMATS
from fp8core.recipes import OperandSpec
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, TileShape
from kernels.device import DeviceKind
from kernels.quantize.facts import (
    element_facts,
    holds,
    rule_facts,
)
from kernels.quantize.operands import OperandFacts, SavedFacts, rotation_facts
from kernels.quantize.plan import LEAST_K, PARTIALS, SIDE_BY_SIDE, QuantizePlan, is_packed, part_within


def operand_facts(spec: OperandSpec, plan: QuantizePlan, kind: DeviceKind) -> OperandFacts:
    """The facts of an operand whose blocks a plan cuts."""
    outer = spec.scale_rule.outer
    around = outer.tile if outer is not None else TileShape(WHOLE, WHOLE)
    rounding = Rounding.NEAREST_EVEN if spec.is_random else spec.rounding
    encoding = kind if plan.casts else DeviceKind.INTERPRETER
    held = holds(spec.scale_rule, spec.format)
    saved = None
    if plan.saved is not None and spec.saved_as is not None:
        saved = SavedFacts(
            element=element_facts(spec.saved_as.format, spec.saved_as.rounding, kind),
            rule=rule_facts(spec.saved_as.scale_rule, spec.saved_as.format, kind),
            part_mn=plan.saved[0],
            part_k=plan.saved[1],
        )
    packed = spec.format.nan_code or spec.scale_rule.history or plan.part_k % LEAST_K
    return OperandFacts(
        element=replace(element_facts(spec.format, spec.rounding, encoding), held=held),
        nearest=replace(element_facts(spec.format, rounding, kind), held=held),
        rule=rule_facts(spec.scale_rule, spec.format, encoding),
        saved=saved,
        rotation=rotation_facts(spec.rotation),
        tile_mn=spec.tile.mn or 0,
        tile_k=spec.tile.k or 0,
        outer_mn=around.mn or 0,
        outer_k=around.k or 0,
        part_mn=plan.part_mn,
        part_k=plan.part_k,
        in_words=is_packed(spec) and not packed,
        padded=plan.padded,
        partials=PARTIALS,
    )


def quantize_constants(spec: OperandSpec, plan: QuantizePlan, kind: DeviceKind) -> dict[str, Any]:
    """The constexpr arguments of quantize_kernel."""
    return {
        "OPERAND": operand_facts(spec, plan, kind),
        "BLOCK_MN": plan.block_mn,
        "BLOCK_K": plan.block_k,
        "SIXTEENS": plan.sixteens,
        "TURNED": plan.turned,
        "ACROSS": plan.across(spec) if plan.turned else 0,
        "AT_ONCE": plan.at_once,
        "MEETS": plan.meets,
        "HISTORY": history_extent(spec),
        "CAST": kind is DeviceKind.GPU,
    }


def history_extent(spec: OperandSpec) -> int:
    """Steps that a kernel looks back on, as a power of two."""
    return 1 << max(spec.scale_rule.history - 1, 0).bit_length()


def for_numbers(
    constants: dict[str, Any], kind: DeviceKind, each: int, *, are_neighbors: bool = True
) -> dict[str, Any]:
    """The arguments for numbers of `each` bytes, those along one dim neighbors in memory or not.

    A GPU cuts patches of neighbors of two bytes alone. Other numbers are loaded as they come: of patches,
    Triton 3.6 would give threads and warps parts that lie between each other, and does not find the largest
    of these (ReduceOpToLLVM.cpp).
    """
    if kind is not DeviceKind.GPU or (each == FORMATS["bf16"].bytes and are_neighbors):
        return constants
    plain = {"ACROSS": 0, "TURNED": 0, "AT_ONCE": SIDE_BY_SIDE}
    return constants | {name: value for name, value in plain.items() if name in constants}


def amax_constants(
    spec: OperandSpec, plan: QuantizePlan, kind: DeviceKind, tile: TileShape | None = None
) -> dict[str, Any]:
    """The constexpr arguments of amax_kernel, for the operand's tiles or for others."""
    tile = tile or spec.tile
    block_mn, block_k = amax_block(spec, plan)
    part_mn, part_k = part_within(tile, block_mn, block_k)
    shared = quantize_constants(spec, plan, kind)
    del shared["MEETS"]
    return shared | {
        "TILE_MN": tile.mn or 0,
        "TILE_K": tile.k or 0,
        "PART_MN": part_mn,
        "PART_K": part_k,
        "BLOCK_MN": block_mn,
        "BLOCK_K": block_k,
        "PARTIALS": PARTIALS,
        "HISTORY": history_extent(spec),
    }


def amax_block(spec: OperandSpec, plan: QuantizePlan) -> tuple[int, int]:
    """(mn, K) of a block of an amax kernel: where it does nothing else, it has registers for more rows."""
    plain = spec.rotation is None and plan.saved is None
    return plan.block_mn * (2 if plain and plan.side_by_side else 1), plan.block_k


def amax_grid(spec: OperandSpec, plan: QuantizePlan, sizes: tuple[int, int]) -> tuple[int, int]:
    """Blocks of an amax kernel along mn and along K."""
    (mn, k), (block_mn, block_k) = sizes, amax_block(spec, plan)
    return -(-mn // block_mn), -(-k // block_k)
