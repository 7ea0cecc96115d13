"""Words on a matmul of a recipe, derived from its tiles."""

from fp8core.contraction import rescales_per_output
from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.words import count, stored_tile
from pages.sections.tiles.charts.scene import Scene

ONE_SCALE = (
    "FP8 has too little range for raw numbers. So each group of elements is divided by one **scale**, chosen "
    "so that the largest element fits. Later the result is multiplied by it. Elements that share one scale "
    "are a **tile**."
)

HARDWARE_SOURCES = (
    "Sources: NVIDIA PTX ISA, wgmma (K-major fp8 operands) and tcgen05.mma (block_scale); NVIDIA CUTLASS, "
    "Blackwell functionality (layouts)."
)
LAYOUT_RULE = (
    "**On Hopper**, the FP8 tensor core (wgmma) reads an operand only where **K is contiguous in memory** "
    "(the pink arrow runs along memory). So a copy whose values fit a second matmul may still be stored "
    "twice: the second time transposed, with the same codes and scales. **On Blackwell** (sm_100, tcgen05), "
    "FP8 operands may lie either way: no copy is stored for layout alone. Tiles that follow K still need two "
    "copies."
)
_BLACKWELL_TILE = TileShape(1, 32)


def hardware(spec: MatmulSpec) -> str:
    """The part of this matmul that the tensor cores of Hopper and of Blackwell do by themselves."""
    along_k = [operand.tile.k for operand in (spec.a, spec.b) if operand.tile.k is not WHOLE]
    if not along_k:
        return (
            "**On Hopper and on Blackwell**, the tensor core sums codes over all of K. The scales come after."
        )
    hopper = (
        "**On Hopper**, the tensor core knows no scales: the kernel applies them, at least once every "
        f"{min(along_k)} k."
    )
    e8m0 = FORMATS["e8m0"]
    if all(side.tile == _BLACKWELL_TILE and side.scale_rule.format is e8m0 for side in (spec.a, spec.b)):
        return (
            f"{hopper} **On Blackwell** (sm_100), the tensor core reads these scales and applies them itself."
        )
    return (
        f"{hopper} **On Blackwell** too: its tensor core applies {e8m0.name.upper()} scales of "
        f"{_BLACKWELL_TILE.k} elements along K by itself, but not these."
    )


def notice(scene: Scene) -> str:
    """The sentence under the picture: scales along K, stretches of the sum, rescales."""
    spec, k = scene.spec, scene.mnk[2]
    cuts = rescales_per_output(k, spec.a.tile.k, spec.b.tile.k)
    if spec.a.tile.k is WHOLE and spec.b.tile.k is WHOLE:
        once = "So both scales leave the sum, and D is rescaled once, at the end."
        if spec.a.tile.mn is WHOLE and spec.b.tile.mn is WHOLE:
            return f"All of A shares one scale, and all of B shares another. {once}"
        who = f"{_lines(spec.a, 'A', 'row')} and {_inside(_lines(spec.b, 'B', 'column'))}"
        return f"{who} has one scale along all of K. {once}"
    total = scene.matmul.mnk(scene.layer)[2]
    there = rescales_per_output(total, spec.a.tile.k, spec.b.tile.k)
    scales = [-(-k // (operand.tile.k or max(k, 1))) for operand in (spec.a, spec.b)]
    return (
        f"Along K, {_inside(_lines(spec.a, 'A', 'row'))} has {count(scales[0], 'scale')}, and "
        f"{_inside(_lines(spec.b, 'B', 'column'))} has {count(scales[1], 'scale')}. So the sum is cut into "
        f"{count(cuts, 'stretch', 'stretches')}. D is rescaled after each: {count(there, 'time')} over the "
        f"whole K = {total:,}."
    )


def _lines(operand: OperandSpec, name: str, line: str) -> str:
    if operand.tile.mn is WHOLE:
        return f"All of {name}"
    return (
        f"Each {line} of {name}"
        if operand.tile.mn == 1
        else f"Each group of {operand.tile.mn} {line}s of {name}"
    )


def _inside(words: str) -> str:
    """Words that began a sentence, ready to stand inside one."""
    return words[0].lower() + words[1:]


def second_copies(scene: Scene) -> str:
    """The operands that another matmul reads in other tiles or formats; empty where there are none."""
    sentences = []
    for side in Side:
        tensor = scene.matmul.operand(side)
        for copy in scene.recipe.quantized_copies(tensor):
            for matmul, _ in copy.readers:
                own = scene.recipe.spec(scene.matmul).operand(side).tile.on_tensor(scene.matmul, side)
                if (scene.matmul, side) not in copy.readers and copy.tile != own:
                    here, there = stored_tile(tensor, *own), stored_tile(tensor, *copy.tile)
                    sentences.append(
                        f"{scene.matmul.title} needs {tensor.value} in tiles of {here}, {matmul.title} needs "
                        f"it in tiles of {there}. So {tensor.value} is quantized twice."
                    )
    return " ".join(sentences)
