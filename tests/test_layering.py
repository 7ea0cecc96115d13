"""The rooms of the house: who may import whom, and the rules that hold in every file."""

import ast
import gc
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from fp8core.recipes import RECIPES

TOP = Path(__file__).resolve().parents[1]
HOUSE = ("fp8core", "kernels", "pages", "tests")
LONGEST_FILE = 600
LONGEST_FUNCTION = 60

FOLDERS = sorted(script.stem for script in (TOP / "pages").glob("*.py"))
CHARTS = {"altair", "fp8core", "numpy", "pages.kit.charts"}
SECTION = {"streamlit", "altair", "numpy", "PIL", "fp8core", "kernels", "pages.kit"}

# What a room may import beside the standard library and itself. The first prefix that fits a file decides.
ROOMS: dict[str, set[str]] = {
    "fp8core/": {"numpy", "ml_dtypes"},
    # Ray is optional: only the bridge imports it.
    "kernels/worker/cluster/": {"kernels", "ray"},
    # The tensors that a training run keeps are files for torch and the pages.
    "kernels/layer/__main__.py": {"fp8core", "kernels", "torch", "transformers"},
    "kernels/train/statistics.py": {"fp8core", "kernels", "numpy", "torch", "safetensors"},
    # Processes that a kernel may hang or kill: their library replaces them.
    "kernels/precompile.py": {"fp8core", "kernels", "torch", "triton", "pebble", "loky"},
    "kernels/worker/queue.py": {"kernels", "cachetools"},
    "kernels/": {"fp8core", "numpy", "ml_dtypes", "torch", "triton", "msgspec", "rich", "pynvml"},
    # pyarrow comes with Streamlit, whose datasets it writes.
    "pages/kit/charts/": {"altair", "fp8core", "numpy", "pyarrow"},
    "pages/kit/tables.py": {"pyarrow", "streamlit", "pages.kit"},
    # pandas comes with Streamlit; only the shell names it, to have it whole before threads draw.
    "pages/kit/shell.py": {"streamlit", "pandas", "kernels", "pages.kit"},
    # Starlette comes with Streamlit; only the server's own layers name it.
    "pages/kit/server/": {"starlette", "streamlit", "threadpoolctl", "kernels", "pages.kit"},
    "pages/kit/classroom/join.py": {"segno", "streamlit", "pages.kit"},
    # pyarrow reads what Streamlit sends; vl_convert, which `make site` installs, has Vega for a browser.
    "pages/kit/site/": {"streamlit", "pyarrow", "vl_convert", "kernels", "pages.kit"},
    "pages/outliers/tensor_file.py": {"numpy", "safetensors", "fp8core"},
    "pages/kit/": {
        "streamlit",
        "altair",
        "numpy",
        "PIL",
        "fp8core",
        "kernels",
        "pebble",
        "loky",
        "cachetools",
        "msgspec",
    },
    **{f"pages/{page}/charts/": CHARTS for page in FOLDERS},
    **{f"pages/{page}/": SECTION for page in FOLDERS},
    **{f"pages/{page}.py": SECTION | {f"pages.{page}"} for page in FOLDERS},
    "app.py": {"streamlit", "pages.kit.server.lifespan", "pages.kit.story"},
}
# Sizes of tiles and formats: they have one home each.
HOMES_OF_NUMBERS = {
    "fp8core/formats/protocol.py",
    "fp8core/formats/registry.py",
    "fp8core/recipes/blocks.py",
    "kernels/gemm/block_scaled.py",
    "fp8core/recipes/mx.py",
}
NUMBERS = {448, 128, 32}
# Launch sizes are numbers of their own: BLOCK_* are decided there.
HOMES_OF_BLOCKS = {
    "kernels/gemm/hopper/sizes.py",
    "kernels/gemm/simple/blocks.py",
    "kernels/gemm/block_scaled.py",
    "kernels/gemm/plan.py",
    "kernels/gemm/passes/dequantize.py",
    "kernels/gemm/passes/widen.py",
    "kernels/gemm/blocks.py",
    "kernels/measure/tune.py",
    "kernels/gemm/hopper/decoding/blocks.py",
    "kernels/gemm/simple/dot_scaled.py",
    "kernels/quantize/facts.py",
    "kernels/quantize/plan.py",
    "kernels/quantize/strips.py",
    "kernels/gemm/tuned.py",
    "kernels/gemm/hopper/blocks.py",
}


def sources(*rooms: str) -> list[str]:
    files = [path for room in rooms or HOUSE for path in sorted((TOP / room).rglob("*.py"))]
    alone = [] if rooms else ["app.py"]
    return alone + [path.relative_to(TOP).as_posix() for path in files]


def offenders(names: Iterable[str], found: Callable[[str], object]) -> dict[str, object]:
    """What is found in each file, of those where something is."""
    return {name: what for name in names if (what := found(name))}


PRODUCT = [name for name in sources() if not name.startswith("tests/")]


@cache
def tree(name: str) -> ast.Module:
    return ast.parse((TOP / name).read_text(encoding="utf-8"), filename=name)


@cache
def nodes(module: ast.Module) -> list[ast.AST]:
    return list(ast.walk(module))


@pytest.fixture(scope="module", autouse=True)
def no_tree_is_kept() -> Iterator[None]:
    """Millions of nodes would make each collection of garbage long, while they are made and later."""
    gc.disable()
    yield
    tree.cache_clear()
    nodes.cache_clear()
    gc.enable()


def imports(module: ast.Module) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield node.module or ""


def within(name: str, allowed: set[str]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in allowed)


def test_every_file_is_in_a_room():
    assert [name for name in PRODUCT if not name.startswith(tuple(ROOMS))] == []


def test_a_file_imports_what_its_room_may():
    def forbidden(name: str) -> list[str]:
        room = next(prefix for prefix in ROOMS if name.startswith(prefix))
        allowed = ROOMS[room] | {room.rstrip("/").replace("/", ".")} - {"pages"}
        foreign = [i for i in imports(tree(name)) if i.split(".")[0] not in sys.stdlib_module_names]
        return [i for i in foreign if not within(i, allowed)]

    assert offenders(PRODUCT, forbidden) == {}


def test_helpers_live_in_helper_modules():
    """What two tests use is in a module of its own."""

    def tests_imported(name: str) -> list[str]:
        return [i for i in imports(tree(name)) if i.startswith("tests.") and ".test_" in i]

    assert offenders(sources("tests"), tests_imported) == {}


def test_no_file_is_too_long():
    lines = {name: len((TOP / name).read_text(encoding="utf-8").splitlines()) for name in sources()}
    assert {name: count for name, count in lines.items() if count > LONGEST_FILE} == {}


def test_no_function_is_too_long_but_a_kernel():
    def long(name: str) -> list[str]:
        functions = [node for node in nodes(tree(name)) if isinstance(node, ast.FunctionDef)]
        return [f.name for f in functions if f.end_lineno - f.lineno >= LONGEST_FUNCTION and not is_kernel(f)]

    assert offenders(PRODUCT, long) == {}


def is_kernel(function: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_kernels_are_written_for_triton_3_6():
    """It is the oldest that runs them, and here is a newer one. It takes no nested targets, and returns no
    None in a tuple.
    """

    def too_new(name: str) -> list[str]:
        functions = [n for n in nodes(tree(name)) if isinstance(n, ast.FunctionDef) and is_kernel(n)]
        parts = [part for function in functions for part in ast.walk(function)]
        targets = [target for part in parts if isinstance(part, ast.Assign) for target in part.targets]
        returned = [part.value for part in parts if isinstance(part, ast.Return)]
        tuples = [value for value in [*targets, *returned] if isinstance(value, ast.Tuple)]
        wrong = [t for t in tuples for each in t.elts if isinstance(each, ast.Tuple) and t in targets]
        wrong += [
            t for t in tuples for each in t.elts if isinstance(each, ast.Constant) and each.value is None
        ]
        return [ast.unparse(each) for each in wrong]

    assert offenders(sources("kernels"), too_new) == {}


def test_no_exception_is_caught_blindly():
    def blind(name: str) -> list[str]:
        caught = [node.type for node in nodes(tree(name)) if isinstance(node, ast.ExceptHandler)]
        names = {n.id for kind in caught if kind for n in ast.walk(kind) if isinstance(n, ast.Name)}
        return [*(names & {"Exception", "BaseException"}), *("except:" for kind in caught if kind is None)]

    assert offenders(PRODUCT, blind) == {}


def compared(module: ast.Module) -> Iterator[str]:
    """Every string that a comparison or a `case` has on either side."""
    for node in nodes(module):
        sides: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        for side in sides:
            for leaf in ast.walk(side):
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                    yield leaf.value


def test_nothing_branches_on_a_recipes_name():
    def branches(name: str) -> list[str]:
        asked = [node for node in nodes(tree(name)) if isinstance(node, ast.Compare)]
        on_name = [ast.unparse(c) for c in asked if "recipe.name" in ast.unparse(c)]
        return on_name + sorted(set(compared(tree(name))) & set(RECIPES))

    assert offenders([name for name in PRODUCT if not name.startswith("fp8core/recipes/")], branches) == {}


def test_the_numbers_of_tiles_and_formats_stay_at_home():
    def numbers(name: str) -> set[float]:
        used = {node.value for node in nodes(tree(name)) if isinstance(node, ast.Constant)}
        return {value for value in used if type(value) in {int, float} and value in NUMBERS}

    homes = HOMES_OF_NUMBERS | HOMES_OF_BLOCKS
    assert set(homes) <= set(PRODUCT)
    assert offenders([n for n in sources("fp8core", "kernels") if n not in homes], numbers) == {}


def modules_of(*rooms: str) -> list[str]:
    names = [name for name in sources(*rooms) if not name.endswith(("/__init__.py", "/__main__.py"))]
    return [name.removesuffix(".py").replace("/", ".") for name in names]


def loaded(modules: Iterable[str], *unwanted: str) -> str:
    """The unwanted modules that come along with these in a new interpreter, which sees no GPU."""
    code = f"import importlib, sys\nfor name in {[*modules]}: importlib.import_module(name)\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}print(*{{*{unwanted}}} & {{*sys.modules}})"],
        cwd=TOP,
        env={"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_fp8core_and_the_pages_side_load_without_torch():
    modules = modules_of("fp8core", "pages/kit", *(f"pages/{page}" for page in FOLDERS))
    pages = [name for name in sources("pages") if name.count("/") == 1]
    page_imports = sorted({i for name in pages for i in top_level_imports(tree(name))})
    assert loaded(modules + page_imports, "torch", "triton") == ""


def top_level_imports(module: ast.Module) -> Iterator[str]:
    """Modules imported as the file loads; what `from package import module` names counts as one too."""
    for node in module.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            package = TOP / (node.module or "").replace(".", "/")
            modules = (alias.name for alias in node.names if (package / f"{alias.name}.py").exists())
            yield from (f"{node.module}.{name}" for name in modules)


def test_kernels_load_without_a_gpu():
    modules = set(modules_of("kernels"))
    if find_spec("ray") is None:
        modules.remove("kernels.worker.cluster.bridge")
    assert loaded(sorted(modules), "streamlit") == ""


def test_what_the_pool_runs_loads_without_streamlit():
    """A process of the pool imports the function's module: half a second more with Streamlit."""

    def homes(name: str) -> set[str]:
        """Modules of the functions that a file has called in the pool."""
        every = nodes(tree(name))
        home = {a.name: n.module for n in every if isinstance(n, ast.ImportFrom) for a in n.names}
        calls = [n for n in every if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "Call"]
        return {home[call.args[0].id] for call in calls if name.startswith("pages/") and name.count("/") > 1}

    modules = sorted(set().union(*map(homes, sources("pages"))))
    assert modules
    assert loaded(modules, "streamlit", "altair", "torch") == ""
