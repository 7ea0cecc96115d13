"""Words on a matmul of a recipe, derived from its tiles."""

from fp8core.costs import matmul_rescales
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Unsupported
from kernels.operand_passes.native import NATIVE, kind_of
from pages.kit.charts.operand_words import operand_name, rotation_words, scale_name, scales_words
from pages.kit.charts.words import count, stored_tile
from pages.tile_layouts.charts.scene import Scene

ONE_SCALE = (
    "Eight bits have too little range for many raw numbers. So each group of elements is divided by one "
    "**scale**, and the largest element just fits. Later the result is multiplied by the scale. Elements "
    "that share one scale are a **tile**. A corner of each tensor is drawn. An outer scale follows that "
    "corner, not the whole tensor."
)

HARDWARE_SOURCES = (
    "Sources: NVIDIA PTX ISA, wgmma (K-major fp8 operands) and tcgen05.mma (block_scale); NVIDIA CUTLASS, "
    "Blackwell functionality (layouts)."
)
LAYOUT_RULE = (
    "**On Hopper**, the FP8 tensor core (wgmma) reads an operand only where **K is contiguous in memory** "
    "(the pink arrow runs along memory). So a copy whose values fit a second matmul may still be stored "
    "twice: the second time transposed, with the same codes and scales. **On Blackwell** (sm_100, tcgen05), "
    "FP8 operands may lie either way: no copy is stored for layout alone. Codes of 4 bits lie along K there, "
    "too. Tiles that follow K still need two copies."
)


def hardware(spec: MatmulSpec) -> str:
    """The part of this matmul that the tensor cores of Hopper and of Blackwell do by themselves."""
    if not spec.quantized:
        return "**On Hopper and on Blackwell**, this is a matmul of bf16 numbers, without scales."
    along_k = spec.extents_along_k
    if not along_k:
        summed = "codes" if len(spec.quantized) > 1 else "products"
        return (
            f"**On Hopper and on Blackwell**, the tensor core sums {summed} over all of K. The scales come "
            "after."
        )
    hopper = (
        "**On Hopper**, the tensor core knows no scales: the kernel applies them, at least once every "
        f"{min(along_k)} k."
    )
    kind = kind_of(spec)
    if isinstance(kind, Unsupported):
        return f"{hopper} **On Blackwell** too: {kind.reason}."
    blackwell = f"the tensor core reads these scales and applies them itself (`kind::{kind.value}`)."
    facts = NATIVE[kind]
    if any(operand.tile != TileShape(1, facts.tile_k) for operand in spec.quantized):
        blackwell += f" The scale of a larger tile is repeated for each of its rows, every {facts.tile_k} k."
    if any(operand.scale_rule.outer for operand in spec.quantized):
        blackwell += " The outer scales come after."
    return f"{hopper} **On Blackwell**, {blackwell}"


def notice(scene: Scene) -> str:
    """The dim of the sum, what the tiles do along it, and how often an element of D is rescaled."""
    spec, matmul = scene.spec, scene.matmul
    if not spec.quantized:
        return f"{matmul.title} multiplies bf16 numbers: there is **no scale**."
    sums = f"{matmul.title} sums over *{matmul.k.value}*"
    if not spec.extents_along_k:
        return f"{sums}, and no scale changes on the way. Each element of D is rescaled **once**."
    is_long = any(
        one.tile.k is not WHOLE and one.tile.mn is not WHOLE and one.tile.mn < one.tile.k
        for one in spec.quantized
    )
    along = f"so its tiles run along *{matmul.k.value}*" if is_long else "and its scales change on the way"
    times = matmul_rescales(scene.recipe, matmul, scene.layer)
    return f"{sums}, {along}. Each element of D is rescaled **{count(times, 'time')}**."


def granularities(scene: Scene) -> str:
    """What shares a scale in each operand, under the names that people use, and the scale's own format."""
    told = []
    for side in Side:
        tensor, operand = scene.matmul.operand(side), scene.recipe.operand(scene.matmul, side)
        scale = "" if operand is None else f", scales in {scale_name(operand.spec.scale_rule)}"
        told.append(f"{tensor.value} is {operand_name(tensor, operand)}{scale}")
    return f"People say: {'; '.join(told)}."


def second_copies(scene: Scene) -> str:
    """The operands that another matmul reads in other tiles or formats; empty where there are none."""
    sentences = []
    for side in Side:
        tensor, own = scene.matmul.operand(side), scene.recipe.operand(scene.matmul, side)
        if own is None:
            continue
        for copy in scene.recipe.quantized_copies(tensor):
            for matmul, _ in copy.readers:
                if (scene.matmul, side) not in copy.readers and copy.tile != own.tile:
                    here, there = stored_tile(tensor, *own.tile), stored_tile(tensor, *copy.tile)
                    sentences.append(
                        f"{scene.matmul.title} needs {tensor.value} in tiles of {here}, {matmul.title} needs "
                        f"it in tiles of {there}. So {tensor.value} is quantized twice."
                    )
    return " ".join(sentences)


def preparation_notes(scene: Scene) -> list[str]:
    """A line of Markdown on each unusual step that operands go through; the card shows its numbers."""
    specs = {side: spec for side in Side if (spec := scene.spec.operand(side))}
    said = [
        f"{_named(scene, [side])} is made out of a copy that was saved: {_saved(scene, side)}"
        for side, spec in specs.items()
        if spec.saved_as
    ]
    if turned := [side for side, spec in specs.items() if spec.rotation]:
        rotation = rotation_words(specs[turned[0]].rotation)
        said.append(
            f"{_named(scene, turned)} are rotated before they are rounded ({rotation}). In the product the "
            "rotations cancel. The scales and codes here are those of the rotated numbers."
        )
    if drawn := [side for side, spec in specs.items() if spec.is_random]:
        said.append(
            f"{_named(scene, drawn)}: rounded stochastically, up with a probability equal to the fraction. "
            "The seed in the sidebar draws the random bits, too."
        )
    return said


def _named(scene: Scene, sides: list[Side]) -> str:
    return " and ".join(f"**{side.value} = {scene.matmul.symbol(side)}**" for side in sides)


def _saved(scene: Scene, side: Side) -> str:
    saved = scene.recipe.operand(scene.matmul, side).saved
    tensor = scene.matmul.operand(side)
    return (
        f"{saved.spec.format.name} codes with {scales_words(tensor, saved)}. They are dequantized and "
        "quantized again in the tiles that are drawn. The card shows these values as “x saved”."
    )
