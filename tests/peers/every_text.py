"""Every text to copy of the pages: those of recipes, and those in the sections' folders."""

from collections.abc import Iterator
from dataclasses import replace

from fp8core.accumulators import ACCUMULATORS
from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.plain import checked, to_plain
from pages.kit.in_code.export import Export
from pages.kit.in_code.texts import CodeText, page_texts
from pages.kit.in_code.torchao import torchao
from pages.kit.in_code.transformer_engine import transformer_engine

EXPORTS = {"torchao": torchao, "Transformer Engine": transformer_engine}


def designs() -> dict[str, Recipe]:
    """Published recipes, and changed ones that make further arguments appear in the texts."""
    found = dict(RECIPES)
    hopper = ACCUMULATORS["hopper_promoted"]
    for name in ("per_tensor", "deepseek_v3", "mxfp8", "nvfp4"):
        recipe = RECIPES[name]
        back = {part: replace(getattr(recipe, part), a=None, b=None) for part in ("dgrad", "wgrad")}
        found[f"{name} forward"] = replace(recipe, **back)
    for name in ("per_tensor", "rowwise"):
        recipe = RECIPES[name]
        found[f"{name} split"] = replace(recipe, fprop=replace(recipe.fprop, accumulator=hopper))
        found[f"{name} powers"] = _powers(recipe)
    found["mxfp8 wgrad in bf16"] = replace(
        RECIPES["mxfp8"], wgrad=replace(RECIPES["mxfp8"].wgrad, a=None, b=None)
    )
    return found


def _powers(recipe: Recipe) -> Recipe:
    data = to_plain(recipe)
    for matmul in ("fprop", "dgrad", "wgrad"):
        for side in "ab":
            data[matmul][side]["scale"] |= {"fit": "round_up"}
    return checked(data)[0]


def exports() -> Iterator[tuple[str, Export]]:
    """The texts of recipes in the words of other libraries: a name for each, and the text."""
    for library, export in EXPORTS.items():
        for name, recipe in designs().items():
            yield f"{library}, {name}", export(recipe)


def written() -> Iterator[tuple[str, CodeText]]:
    """The texts in the sections' folders: a name for each, and the text."""
    for page, shown in page_texts().items():
        for text in shown.texts:
            yield f"{page}, {text.library}, {text.title}", text


def python_of(library: str) -> dict[str, str]:
    """The Python of every text in the words of a library, by a name."""
    found = {name: one.text for name, one in exports() if one.library == library and one.text}
    return found | {
        name: one.code
        for name, one in written()
        if one.library == library and one.code and one.language == "python"
    }
