"""The rooms of the house: who may import whom, and the rules that hold in every file."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fp8core.recipes import RECIPES

TOP = Path(__file__).resolve().parents[1]
LONGEST_FILE = 330
LONGEST_FUNCTION = 60

SECTIONS = sorted(folder.name for folder in (TOP / "pages/sections").iterdir() if folder.is_dir())
CHARTS = {"altair", "fp8core", "numpy", "pages.kit.charts"}
SECTION = {"streamlit", "altair", "numpy", "PIL", "fp8core", "kernels", "pages.kit"}

# What a room may import beside the standard library and itself. The first prefix that fits a file decides.
ROOMS: dict[str, set[str]] = {
    "fp8core/": {"numpy", "ml_dtypes"},
    "kernels/": {"fp8core", "numpy", "ml_dtypes", "torch", "triton", "msgspec", "rich", "pynvml"},
    "pages/kit/charts/": {"altair", "fp8core", "numpy"},
    # pandas comes with Streamlit; only the shell names it, to have it whole before threads draw.
    "pages/kit/shell.py": {"streamlit", "pandas", "kernels"},
    "pages/kit/": {"streamlit", "altair", "numpy", "PIL", "fp8core", "kernels"},
    **{f"pages/sections/{page}/charts/": CHARTS for page in SECTIONS},
    **{f"pages/sections/{page}/": SECTION for page in SECTIONS},
    "pages/": {"streamlit", "altair", "numpy", "fp8core", "kernels", "pages.kit", "pages.sections"},
    "app.py": {"streamlit", "starlette", "pages.kit.hosts"},
}
# Sizes of tiles and formats: they have one home each.
HOMES_OF_NUMBERS = {"fp8core/formats/protocol.py", "fp8core/formats/registry.py", "fp8core/recipes.py"}
NUMBERS = {448, 128, 32}
# Launch sizes are numbers of their own: BLOCK_* are decided there.
HOMES_OF_BLOCKS = {
    "kernels/gemm/hopper/sizes.py",
    "kernels/gemm/simple/blocks.py",
    "kernels/gemm/plan.py",
    "kernels/operand_passes/plan.py",
    "kernels/gemm/blocks.py",
    "kernels/tune/candidates.py",
    "kernels/gemm/hopper/decoding/blocks.py",
    "kernels/gemm/simple/dot_scaled.py",
    "kernels/quantize/plan.py",
    "kernels/gemm/shape_class.py",
    "kernels/gemm/hopper/blocks.py",
}


def sources(*rooms: str) -> list[str]:
    files = [path for room in rooms or ("",) for path in sorted((TOP / room).rglob("*.py"))]
    names = [path.relative_to(TOP).as_posix() for path in files]
    return [name for name in names if not any(part.startswith(".") for part in Path(name).parts)]


PRODUCT = [name for name in sources() if not name.startswith("tests/")]


@cache
def tree(name: str) -> ast.Module:
    return ast.parse((TOP / name).read_text(encoding="utf-8"), filename=name)


def imports(module: ast.AST) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield node.module or ""


def within(name: str, allowed: set[str]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in allowed)


def test_every_file_is_in_a_room():
    assert [name for name in PRODUCT if not name.startswith(tuple(ROOMS))] == []


@pytest.mark.parametrize("name", PRODUCT)
def test_a_file_imports_what_its_room_may(name):
    room = next(prefix for prefix in ROOMS if name.startswith(prefix))
    allowed = ROOMS[room] | {room.rstrip("/").replace("/", ".")} - {"pages"}
    foreign = [i for i in imports(tree(name)) if i.split(".")[0] not in sys.stdlib_module_names]
    assert [i for i in foreign if not within(i, allowed)] == []


@pytest.mark.parametrize("name", sources("tests"))
def test_helpers_live_in_helper_modules(name):
    tested = [i for i in imports(tree(name)) if i.startswith("tests.") and "test_" in i]
    assert tested == [], "a test imports another; what both use goes into a module of its own"


@pytest.mark.parametrize("name", sources())
def test_no_file_is_too_long(name):
    lines = len((TOP / name).read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{name} has {lines} lines"


@pytest.mark.parametrize("name", PRODUCT)
def test_no_function_is_too_long_but_a_kernel(name):
    functions = [node for node in ast.walk(tree(name)) if isinstance(node, ast.FunctionDef)]
    long = [f.name for f in functions if f.end_lineno - f.lineno >= LONGEST_FUNCTION and not is_kernel(f)]
    assert long == []


def is_kernel(function: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in function.decorator_list)


@pytest.mark.parametrize("name", PRODUCT)
def test_no_exception_is_caught_blindly(name):
    caught = [node.type for node in ast.walk(tree(name)) if isinstance(node, ast.ExceptHandler)]
    blind = {"Exception", "BaseException"}
    names = [{n.id for n in ast.walk(kind) if isinstance(n, ast.Name)} for kind in caught if kind is not None]
    assert None not in caught, "a bare except"
    assert not any(found & blind for found in names)


def compared(module: ast.AST) -> Iterator[str]:
    """Every string that a comparison or a `case` has on either side."""
    for node in ast.walk(module):
        sides: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        for side in sides:
            for leaf in ast.walk(side):
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                    yield leaf.value


@pytest.mark.parametrize("name", [name for name in PRODUCT if name != "fp8core/recipes.py"])
def test_nothing_branches_on_a_recipes_name(name):
    assert set(compared(tree(name))) & set(RECIPES) == set()
    asked = [node for node in ast.walk(tree(name)) if isinstance(node, ast.Compare)]
    on_name = [ast.unparse(c) for c in asked if "recipe.name" in ast.unparse(c)]
    assert on_name == []


@pytest.mark.parametrize("name", [n for n in sources("fp8core", "kernels") if n not in HOMES_OF_NUMBERS])
def test_the_numbers_of_tiles_and_formats_stay_at_home(name):
    module = tree(name)
    if name in HOMES_OF_BLOCKS:
        pytest.skip("BLOCK_* sizes are decided here")
    used = {node.value for node in ast.walk(module) if isinstance(node, ast.Constant)}
    numbers = {value for value in used if type(value) in {int, float} and value in NUMBERS}
    assert numbers == set()


@pytest.mark.parametrize("name", sources("pages"))
def test_no_page_imports_torch_itself(name):
    assert [i for i in imports(tree(name)) if within(i, {"torch", "triton"})] == []


def modules_of(*rooms: str) -> list[str]:
    names = [name for name in sources(*rooms) if not name.endswith(("/__init__.py", "/__main__.py"))]
    return [name.removesuffix(".py").replace("/", ".") for name in names]


def run_python(code: str) -> str:
    """What a new interpreter prints; it sees no GPU."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=TOP,
        env={"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_fp8core_and_the_pages_side_load_without_torch():
    modules = modules_of("fp8core", "pages/kit", "pages/sections")
    pages = [name for name in sources("pages") if name.count("/") == 1]
    page_imports = sorted({i for name in pages for i in top_level_imports(tree(name))})
    code = f"import importlib, sys\nfor name in {modules + page_imports}: importlib.import_module(name)\n"
    loaded = run_python(code + "print(sorted({'torch', 'triton'} & set(sys.modules)))")
    assert loaded == "[]"


def top_level_imports(module: ast.Module) -> Iterator[str]:
    """Modules imported as the file loads; what `from package import module` names counts as one too."""
    for node in module.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            inside = (TOP / (node.module or "").replace(".", "/")).is_dir()
            yield from (f"{node.module}.{alias.name}" for alias in node.names if inside)


def test_fp8core_loads_without_the_pages_side():
    code = f"import importlib, sys\nfor name in {modules_of('fp8core')}: importlib.import_module(name)\n"
    assert run_python(code + "print(sorted({'streamlit', 'altair', 'torch'} & set(sys.modules)))") == "[]"


def test_kernels_load_without_a_gpu():
    modules = modules_of("kernels")
    run_python(f"import importlib\nfor name in {modules}: importlib.import_module(name)\n")
