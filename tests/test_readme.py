"""Contract: every snippet of README and of `docs/` runs as printed, every command has the options it is
given, figures in the prose are the program's own, and every link leads somewhere. No page is longer than
150 lines.
"""

import importlib
import re
import shlex
from pathlib import Path

from fp8core.errors import rel_err
from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from kernels.device import KNOWN_TRITONS
from kernels.gemm.plan import MIN_CAPABILITY
from kernels.measure.__main__ import WHAT
from kernels.measure.jobs import GFLOP, SECONDS, Allowance
from kernels.worker.queue import RUNS, RUNS_A_MINUTE
from pages.formats.charts.code import LARGEST
from pages.kit.lesson.check import complaints_about

TOP = Path(__file__).resolve().parents[1]
PAGES = {
    path: path.read_text(encoding="utf-8") for path in (TOP / "README.md", *sorted(TOP.glob("docs/*.md")))
}
README = PAGES[TOP / "README.md"]
EVERY = "\n".join(PAGES.values())
LONGEST = 150
MAKEFILE = (TOP / "Makefile").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("  #")[0].strip()
    for line in re.findall(r"^    ((?:python3? -m|make|pip|streamlit) .+)$", EVERY, flags=re.MULTILINE)
]
FOREIGN_OPTIONS = {
    "--index-url": "pip",
    "--nproc-per-node": "torchrun",
    "--server.address": "streamlit",
    "--server.baseUrlPath": "streamlit",
}


def commands(module_or_tool: str) -> list[list[str]]:
    """The arguments of each command that starts so."""
    return [shlex.split(c.removeprefix(module_or_tool)) for c in COMMANDS if c.startswith(module_or_tool)]


def ran(path: Path) -> dict[str, object]:
    """The names that the Python snippets of a page leave, run in order as printed."""
    names: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", PAGES[path], flags=re.DOTALL):
        if not snippet.startswith("# torchrun"):  # test_distributed.py runs these
            exec(compile(snippet, path.name, "exec"), names)
    return names


def test_the_lines_for_a_notebook_run() -> None:
    names = ran(TOP / "README.md")
    assert names["quantized"].codes.shape == tuple(names["x"].shape) == (256, 64)
    assert names["quantized"].scale.shape == (2, 64)
    exact = names["x"].double() @ names["w"].double().T
    error = rel_err(names["y"].double().cpu().numpy(), exact.cpu().numpy())
    assert error < 2.0 ** -(names["e4m3"].mantissa_bits + 1)
    assert names["recipe"].copies(names["LayerTensor"].X) == 2
    assert names["e4m3"].decode(names["e4m3"].encode([464.0, 465.0])).tolist() == [448.0, 448.0]


def test_the_lines_that_train_lower_the_loss() -> None:
    losses = ran(TOP / "docs/training.md")["losses"]
    assert losses[-1] < losses[0] / 3


def test_no_other_page_has_python_that_nobody_runs() -> None:
    assert {path.name for path, text in PAGES.items() if "```python" in text} == {"README.md", "training.md"}


def test_every_command_of_our_modules_parses(parse) -> None:
    ours = [c for c in COMMANDS if c.startswith("python -m kernels.")]
    assert {c.split()[2] for c in ours} == {
        "kernels.check",
        "kernels.layer",
        "kernels.measure",
        "kernels.train",
    }
    for command in ours:
        _, _, module, *arguments = shlex.split(command)
        parse(module, arguments)


def test_every_option_that_is_named_exists(parse) -> None:
    known = set(FOREIGN_OPTIONS)
    modules = [("kernels.check",), ("kernels.layer",), ("kernels.train",)]
    for module, *arguments in (*modules, *(("kernels.measure", what) for what in WHAT)):
        known |= set(parse(module, arguments)._option_string_actions)
    assert set(re.findall(r"(?<![\w|-])--[a-z][A-Za-z.-]+", EVERY)) - known == set()


def test_every_make_target_and_variable_exists() -> None:
    targets = set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, flags=re.MULTILINE)[1].split())
    assert commands("make ")
    for target, *variables in commands("make "):
        assert target in targets
        for variable in variables:
            assert re.search(rf"^{variable.split('=')[0]}\s*\?=", MAKEFILE, flags=re.MULTILINE), variable


def test_every_file_that_a_command_names_exists() -> None:
    files = [argument for tool in ("pip ", "streamlit ") for line in commands(tool) for argument in line]
    named = [argument for argument in files if argument.endswith((".txt", ".py"))]
    assert named
    assert all((TOP / name).is_file() for name in named)


def test_figures_in_the_prose_are_the_program_s() -> None:
    port = re.search(r"^PORT \?= (\d+)", MAKEFILE, flags=re.MULTILINE)[1]
    first, last = (".".join(map(str, version)) for version in KNOWN_TRITONS)
    lowest = ".".join(map(str, MIN_CAPABILITY))
    tabled = [format_ for format_ in FORMATS.values() if format_.bits <= LARGEST]
    for told in (
        f"Any code of {len(FORMATS)} formats",
        f"all codes of the {len(tabled)} of up to {LARGEST} bits",
        f"(PORT={port} by default)",
        f"compiled with Triton {first} to {last}",
        f"compute capability\n  {lowest} or newer",
    ):
        assert told in EVERY


def test_the_table_of_recipes_has_them_all_in_their_order() -> None:
    table = README.partition("| name | scales | source |\n|---|---|---|\n")[2].partition("\n\n")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines()]
    assert [name for cell in cells for name in re.findall(r"`(\w+)`", cell)] == list(RECIPES)


def test_every_name_that_is_listed_is_there() -> None:
    listed = re.search(r"Further names: (.+?)\. On a GPU", README, flags=re.DOTALL)[1]
    for part in listed.split(";"):
        *names, module = re.findall(r"`([\w.]+)`", part)
        assert all(hasattr(importlib.import_module(module), name) for name in names), part


def test_no_command_stands_in_the_prose() -> None:
    assert re.findall(r"^(?:python3? -m|make) .+$", EVERY, flags=re.MULTILINE) == []


def test_the_table_of_pages_tells_the_story_in_its_order() -> None:
    app = (TOP / "app.py").read_text(encoding="utf-8")
    table = README.partition("| page | question |\n|---|---|\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| ([^|]+) \|", table, flags=re.MULTILINE) == re.findall(r'title="([^"]+)"', app)
    parts = re.findall(r'^ +"([^"]+)": \[$', app, flags=re.MULTILINE)
    assert " · ".join(parts).lower() in " ".join(README.split()).replace("GPU", "gpu").lower()


def test_the_limits_of_a_class_are_the_program_s():
    usual = Allowance()
    told = dict(re.findall(r"^\| `(FP8_EXPLORER_\w+)` \| (\d+) \|", EVERY, flags=re.MULTILINE))
    assert {name: float(value) for name, value in told.items()} == {
        SECONDS: usual.seconds,
        GFLOP: usual.gflop,
        RUNS: RUNS_A_MINUTE,
    }


def test_the_chapter_in_docs_is_a_chapter(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", EVERY, flags=re.DOTALL)
    (tmp_path / "01_example.toml").write_text(example, encoding="utf-8")
    assert complaints_about(tmp_path / "01_example.toml") == ()


def test_no_page_is_long_and_every_link_leads_to_a_file():
    assert {
        path.name: len(text.splitlines()) for path, text in PAGES.items() if text.count("\n") > LONGEST
    } == {}
    for path, text in PAGES.items():
        for target in re.findall(r"\]\(((?!https?:)[^)#]+)\)", text):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
    linked = {TOP / target for target in re.findall(r"\]\((docs/[^)]+)\)", README)}
    assert linked == set(PAGES) - {TOP / "README.md"}
