"""The texts to copy: those of pages, `pages/<page>/in_code.toml`, of published recipes, and our own.

    [[texts]]
    library = "torch"
    title = "Cast and decode"
    code = '''
    import torch
    …
    '''
    note = "A sentence below it."          # left out where there is none

A text that cannot be has `why`, a sentence, instead of `code`. `language` is "python" by default. Above the
texts, `pages` names the pages where the folder is not the one that shows them. `follows_recipe = true` shows
the recipe on the screen as well. `recipes_key` names the control of several recipes, and `family_key`, if
any, that of a whole family.

`assets/peers/<library>.json` holds signatures of a release for the names in the texts (`python -m
tests.peers.record`). The tests run the libraries that are installed here.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fp8core.linear import MATMULS, Matmul, Side
from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.text import to_text
from kernels.layer.plan import refusal
from kernels.paths import TOP

PUBLISHED = Path(__file__).with_name("published.toml")
LIBRARIES = ("torchao", "Transformer Engine")  # the libraries in whose words published recipes are given
OURS = "This project"
RESULTS = "The formats of y, dx and dw are no part of it."


@dataclass(frozen=True, kw_only=True)
class CodeText:
    """A text in a library's words, or `why` there is none."""

    library: str
    title: str = ""
    code: str | None = None
    why: str = ""
    notes: tuple[str, ...] = ()
    language: str = "python"


@dataclass(frozen=True, kw_only=True)
class PageTexts:
    """Texts of a page, after those of its recipe or recipes, if any."""

    texts: tuple[CodeText, ...]
    follows_recipe: bool = False
    recipes_key: str = ""
    family_key: str = ""


@lru_cache(maxsize=1)
def page_texts() -> dict[str, PageTexts]:
    by_page: dict[str, PageTexts] = {}
    for path in sorted((TOP / "pages").glob("*/in_code.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        pages = data.pop("pages", [path.parent.name])
        texts = tuple(_text(**text) for text in data.pop("texts", ()))
        by_page |= dict.fromkeys(pages, PageTexts(texts=texts, **data))
    return by_page


def _text(code: str | None = None, note: str = "", **fields: str) -> CodeText:
    code = None if code is None else code.strip("\n") + "\n"
    return CodeText(code=code, notes=(note,) if note else (), **fields)


_TRANSFORMER_ENGINE = """\
import torch
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import {names}

recipe = {recipe}
layer = te.Linear(4096, 4096, params_dtype=torch.bfloat16)
with te.autocast(enabled=True, recipe=recipe):
    y = layer(x)
"""


@lru_cache(maxsize=1)
def published() -> dict[str, tuple[CodeText, ...]]:
    data = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
    return {name: tuple(_published(one, **recipe[one]) for one in LIBRARIES) for name, recipe in data.items()}


def _published(
    library: str, code: str | None = None, recipe: str = "", why: str = "", notes: Sequence[str] = ()
) -> CodeText:
    if recipe:
        names = ", ".join(sorted({*re.findall(r"[A-Z]\w+(?=[.(])", recipe)}))
        code = _TRANSFORMER_ENGINE.format(names=names, recipe=recipe)
    return CodeText(library=library, code=code, why=why, notes=(*notes, RESULTS) if code else ())


# Libraries that are not installed here, and the names of their files
RECORDINGS = {name: name.lower().replace(" ", "_") for name in (*LIBRARIES, "nvdlfw_inspect")}
PACKAGES = ("torch", "ml_dtypes", "Triton")  # libraries that are
FOLDER = TOP / "assets" / "peers"


@lru_cache(maxsize=16)
def checked_words(library: str) -> str:
    if library in RECORDINGS:
        release = json.loads((FOLDER / f"{RECORDINGS[library]}.json").read_text(encoding="utf-8"))
        on = f"{library} {release['version']}, recorded on {release['date']}"
        return f"Checked against the signatures of {on}."
    # A text in Triton is a part of a kernel: its calls are bound to signatures, and nothing is run.
    how = f"{'Bound to signatures' if library == 'Triton' else 'Run'} by this project's tests"
    if library not in PACKAGES:
        return f"{how}."
    try:
        return f"{how}; here with {library} {version(library)}."
    except PackageNotFoundError:
        return f"{how}; {library} is not installed here."


_SIZES = {"tokens": 128, "in": 256, "out": 128}


@lru_cache(maxsize=256)
def our_texts(recipe: Recipe) -> tuple[CodeText, ...]:
    if not any(recipe.spec(matmul).quantized for matmul in MATMULS.values()):
        return (CodeText(library=OURS, why="None of its operands is quantized."),)
    is_known = is_published(recipe)
    name = "RECIPES" if is_known else "from_text"
    home = f"from fp8core.recipes{'' if is_known else '.text'} import {name}"
    expression = f'RECIPES["{recipe.name}"]' if is_known else f"from_text({to_text(recipe)!r})"
    argument = f'"{recipe.name}"' if is_known else expression
    return (
        CodeText(
            library=OURS,
            title="In numpy",
            code=_reference(recipe, home, expression),
            notes=("It is numpy alone: the truth that the kernels equal.",),
        ),
        CodeText(
            library=OURS,
            title="On a GPU",
            code=_kernels(recipe, home, expression),
            notes=(
                "Without a GPU the kernels run in Triton's interpreter: set TRITON_INTERPRET=1 before the "
                "import.",
            ),
        ),
        _training(argument, "" if is_known else f"{home}\n", refusal(recipe)),
    )


def _reference(recipe: Recipe, home: str, expression: str) -> str:
    matmul, side = _first(recipe)
    tensor = matmul.operand(side).value
    is_random = recipe.spec(matmul).operand(side).is_random
    bits = f", random=random_bits(operand.stored({tensor}.shape), seed=0)" if is_random else ""
    imports = ["from fp8core.linear import MATMULS, Side", "from fp8core.quantize import quantize", home]
    imports += ["from fp8core.philox import random_bits"] * is_random
    lines = "\n".join(sorted(imports))
    return f"""\
import numpy as np

{lines}

recipe, {matmul.name} = {expression}, MATMULS["{matmul.name}"]
{tensor} = np.random.default_rng(0).standard_normal(({_shape(matmul, side)})).astype(np.float32)
operand = recipe.operand({matmul.name}, Side.{side.name})
quantized = quantize({tensor}, operand{bits})
quantized.codes, quantized.scale, quantized.values()
"""


def _kernels(recipe: Recipe, home: str, expression: str) -> str:
    matmul, _ = _first(recipe)
    tensors = "\n".join(
        f"{matmul.operand(side).value} = torch.randn({_shape(matmul, side)}, device=place)" for side in Side
    )
    operands = "\n".join(f"{side.value.lower()} = {_operand(recipe, matmul, side)}" for side in Side)
    linear = "from fp8core.linear import MATMULS" + ", Side" * ("Side." in operands)
    return f"""\
import torch

{linear}
{home}
from kernels.gemm import gemm, quantize

recipe, {matmul.name} = {expression}, MATMULS["{matmul.name}"]
place = "cuda" if torch.cuda.is_available() else "cpu"
{tensors}
{operands}
{matmul.d.value} = gemm(a, b, recipe.spec({matmul.name}))
"""


def _training(recipe: str, home: str, reason: str | None) -> CodeText:
    title = "To train a model"
    if reason is not None:
        return CodeText(library=OURS, title=title, why=f"Our layers do not take it: {reason}.")
    code = f"""\
import torch

{home}from kernels.layer import convert_to_float8_training

place = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Linear({_SIZES["in"]}, {_SIZES["out"]})).to(place)
convert_to_float8_training(model, recipe={recipe}, emulate=place == "cpu")
y = model(torch.randn({_SIZES["tokens"]}, {_SIZES["in"]}, device=place))
y.square().mean().backward()
"""
    note = "Without a GPU, emulate=True computes by the reference's rules."
    return CodeText(library=OURS, title=title, code=code, notes=(note,))


def _operand(recipe: Recipe, matmul: Matmul, side: Side) -> str:
    """Write an operand for the kernels: quantized, or in bf16 with K along its rows."""
    name, spec = matmul.operand(side).value, recipe.spec(matmul).operand(side)
    if spec is None:
        return f"{name}{'.T' if matmul.k_is_rows(side) else ''}.to(torch.bfloat16)"
    seed = ", seed=0" if spec.is_random else ""
    return f"quantize({name}, recipe.operand({matmul.name}, Side.{side.name}){seed})"


def _shape(matmul: Matmul, side: Side) -> str:
    return ", ".join(str(_SIZES[axis.value]) for axis in matmul.operand(side).axes)


def _first(recipe: Recipe) -> tuple[Matmul, Side]:
    operands = ((matmul, side) for matmul in MATMULS.values() for side in Side)
    return next(one for one in operands if recipe.spec(one[0]).operand(one[1]) is not None)


def is_published(recipe: Recipe) -> bool:
    return recipe in RECIPES.values()
