"""A recipe in the words of this project: the reference quantizer in numpy, and the kernels."""

from functools import lru_cache

from fp8core.linear import MATMULS, Matmul, Side
from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.text import to_text
from pages.kit.in_code.texts import CodeText

LIBRARY = "This project"
_NO_CODES = "None of its operands is quantized."
_SIZES = {"tokens": 128, "in": 256, "out": 128}
_KEPT = 256


@lru_cache(maxsize=_KEPT)
def reference(recipe: Recipe) -> CodeText:
    title = "In numpy"
    first = _first(recipe)
    if first is None:
        return CodeText(library=LIBRARY, title=title, why=_NO_CODES)
    matmul, side = first
    tensor = matmul.operand(side)
    shape = ", ".join(str(_SIZES[axis.value]) for axis in tensor.axes)
    operand = recipe.spec(matmul).operand(side)
    random = operand is not None and operand.is_random
    bits = f", random=random_bits(operand.stored({tensor.value}.shape), seed=0)" if random else ""
    imports = [
        "from fp8core.linear import MATMULS, Side",
        *(["from fp8core.philox import random_bits"] if random else []),
        "from fp8core.quantize import quantize",
        _home(recipe),
    ]
    text = "\n".join(
        [
            "import numpy as np",
            "",
            *sorted(imports),
            "",
            f"recipe, {matmul.name} = {_made(recipe)}, MATMULS[{_quoted(matmul.name)}]",
            f"{tensor.value} = np.random.default_rng(0).standard_normal(({shape})).astype(np.float32)",
            f"operand = recipe.operand({matmul.name}, Side.{side.name})",
            f"quantized = quantize({tensor.value}, operand{bits})",
            "quantized.codes, quantized.scale, quantized.values()",
            "",
        ]
    )
    return CodeText(
        library=LIBRARY,
        title=title,
        code=text,
        notes=("It is numpy alone: the truth that the kernels equal.",),
    )


@lru_cache(maxsize=_KEPT)
def kernels(recipe: Recipe) -> CodeText:
    title = "On a GPU"
    first = _first(recipe)
    if first is None:
        return CodeText(library=LIBRARY, title=title, why=_NO_CODES)
    matmul, _ = first
    names = {side: matmul.operand(side).value for side in Side}
    tensors = [
        f"{names[side]} = torch.randn({', '.join(str(_SIZES[a.value]) for a in matmul.operand(side).axes)}, "
        "device=place)"
        for side in Side
    ]
    operand_calls = {side: _read(recipe, matmul, side) for side in Side}
    operands = [f"{side.value.lower()} = {operand_calls[side]}" for side in Side]
    imports = ["from fp8core.linear import MATMULS", _home(recipe), "from kernels.gemm import gemm, quantize"]
    if any("Side." in line for line in operands):
        imports[0] = "from fp8core.linear import MATMULS, Side"
    text = "\n".join(
        [
            "import torch",
            "",
            *sorted(imports),
            "",
            f"recipe, {matmul.name} = {_made(recipe)}, MATMULS[{_quoted(matmul.name)}]",
            'place = "cuda" if torch.cuda.is_available() else "cpu"',
            *tensors,
            *operands,
            f"{matmul.d.value} = gemm(a, b, recipe.spec({matmul.name}))",
            "",
        ]
    )
    note = "Without a GPU the kernels run in Triton's interpreter: set TRITON_INTERPRET=1 before the import."
    return CodeText(library=LIBRARY, title=title, code=text, notes=(note,))


@lru_cache(maxsize=_KEPT)
def training(recipe: Recipe) -> CodeText:
    title = "To train a model"
    if _first(recipe) is None:
        return CodeText(library=LIBRARY, title=title, why=_NO_CODES)
    published = is_published(recipe)
    argument = _quoted(recipe.name) if published else _made(recipe)
    text = "\n".join(
        [
            "import torch",
            "",
            *([] if published else [_home(recipe)]),
            "from kernels.layer import convert_to_float8_training",
            "",
            'place = "cuda" if torch.cuda.is_available() else "cpu"',
            f"model = torch.nn.Sequential(torch.nn.Linear({_SIZES['in']}, {_SIZES['out']})).to(place)",
            f'convert_to_float8_training(model, recipe={argument}, emulate=place == "cpu")',
            f"y = model(torch.randn({_SIZES['tokens']}, {_SIZES['in']}, device=place))",
            "y.square().mean().backward()",
            "",
        ]
    )
    note = "Without a GPU, emulate=True computes by the reference's rules."
    return CodeText(library=LIBRARY, title=title, code=text, notes=(note,))


def _read(recipe: Recipe, matmul: Matmul, side: Side) -> str:
    """How an operand is made for the kernels: quantized, or in bf16 with K along its rows."""
    name, spec = matmul.operand(side).value, recipe.spec(matmul).operand(side)
    if spec is None:
        return f"{name}{'.T' if matmul.k_is_rows(side) else ''}.to(torch.bfloat16)"
    seed = ", seed=0" if spec.is_random else ""
    return f"quantize({name}, recipe.operand({matmul.name}, Side.{side.name}){seed})"


def _first(recipe: Recipe) -> tuple[Matmul, Side] | None:
    places = ((matmul, side) for matmul in MATMULS.values() for side in Side)
    return next((place for place in places if recipe.spec(place[0]).operand(place[1]) is not None), None)


def _home(recipe: Recipe) -> str:
    if is_published(recipe):
        return "from fp8core.recipes import RECIPES"
    return "from fp8core.recipes.text import from_text"


def _made(recipe: Recipe) -> str:
    return f"RECIPES[{_quoted(recipe.name)}]" if is_published(recipe) else f"from_text({to_text(recipe)!r})"


def is_published(recipe: Recipe) -> bool:
    known = RECIPES.get(recipe.name)
    return known == recipe


def _quoted(name: str) -> str:
    return f'"{name}"'
