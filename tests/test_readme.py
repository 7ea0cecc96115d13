"""Contract: every snippet of README runs as printed, every command has the options it is given, and figures
in its prose are the program's own.
"""

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest

from fp8core.errors import rel_err
from fp8core.formats import FORMATS
from kernels.bench.cost import GFLOP, SECONDS, Allowance
from kernels.device import KNOWN_TRITONS, choose_backend
from kernels.gemm.plan import MIN_CAPABILITY
from kernels.worker.rate import RUNS, Pace
from pages.kit.lesson.check import complaints_about
from pages.sections.formats.charts.table import LARGEST

TOP = Path(__file__).resolve().parents[1]
README = (TOP / "README.md").read_text(encoding="utf-8")
MAKEFILE = (TOP / "Makefile").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [
    line.partition("  #")[0].strip()
    for line in re.findall(r"^    ((?:python3? -m|make|pip|streamlit) .+)$", README, flags=re.MULTILINE)
]
MODULES = {"kernels.check": "kernels.check.cli"}
FOREIGN_OPTIONS = {"--index-url": "pip", "--server.address": "streamlit", "--server.baseUrlPath": "streamlit"}


class Parsed(BaseException):
    """Arguments were understood; nothing has run yet."""


@pytest.fixture
def parse(monkeypatch):
    """A function that gives a module's command line its arguments; the parser, and nothing is run."""
    real, parsers = argparse.ArgumentParser.parse_args, []

    def parse_args(self, args=None, namespace=None):
        parsers.append(self)
        real(self, args, namespace)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)

    def parsed(module, arguments):
        with pytest.raises(Parsed):
            importlib.import_module(MODULES.get(module, f"{module}.__main__")).main(arguments)
        return parsers[-1]

    return parsed


def commands(module_or_tool: str) -> list[list[str]]:
    """The arguments of each command in README that starts so."""
    return [shlex.split(c.removeprefix(module_or_tool)) for c in COMMANDS if c.startswith(module_or_tool)]


def test_the_python_snippets_run_in_order_as_printed() -> None:
    choose_backend()
    names: dict[str, object] = {}
    assert SNIPPETS
    for snippet in SNIPPETS:
        exec(compile(snippet, "README.md", "exec"), names)
        assert tuple(names["y"].shape) == (256, 32)
    assert names["losses"][-1] < names["losses"][0] / 3
    assert names["quantized"].codes.shape == tuple(names["x"].shape) == (256, 64)
    assert names["quantized"].scale.shape == (2, 64)
    exact = names["x"].double() @ names["w"].double().T
    assert rel_err(names["y"].double().cpu().numpy(), exact.cpu().numpy()) < 2.0 ** -(
        names["e4m3"].mantissa_bits + 1
    )
    assert names["recipe"].copies(names["LayerTensor"].X) == 2
    assert names["e4m3"].decode(names["e4m3"].encode([464.0, 465.0])).tolist() == [448.0, 448.0]


def test_every_command_of_our_modules_parses(parse) -> None:
    ours = [c for c in COMMANDS if c.startswith("python -m kernels.")]
    assert {c.split()[2] for c in ours} == {
        "kernels.bench",
        "kernels.check",
        "kernels.layer",
        "kernels.probe",
        "kernels.train",
        "kernels.tune",
    }
    for command in ours:
        _, _, module, *arguments = shlex.split(command)
        parse(module, arguments)


def test_every_option_that_readme_names_exists(parse) -> None:
    known = set(FOREIGN_OPTIONS)
    for name in ("bench", "check", "layer", "probe", "train", "tune"):
        known |= set(parse(f"kernels.{name}", [])._option_string_actions)
    assert set(re.findall(r"(?<![\w|-])--[a-z][A-Za-z.-]+", README)) - known == set()


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
        assert told in README


def test_the_table_of_pages_tells_the_story_in_its_order() -> None:
    app = (TOP / "app.py").read_text(encoding="utf-8")
    table = README.partition("| page | question |\n|---|---|\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| ([^|]+) \|", table, flags=re.MULTILINE) == re.findall(r'title="([^"]+)"', app)
    parts = re.findall(r'^ +"([^"]+)": \[$', app, flags=re.MULTILINE)
    assert " · ".join(parts).lower() in " ".join(README.split()).replace("GPU", "gpu").lower()


def test_the_limits_of_a_class_are_the_program_s():
    usual = Allowance()
    told = dict(re.findall(r"^\| `(FP8_EXPLORER_\w+)` \| (\d+) \|", README, flags=re.MULTILINE))
    assert {name: float(value) for name, value in told.items()} == {
        SECONDS: usual.seconds,
        GFLOP: usual.gflop,
        RUNS: Pace().jobs,
    }


def test_the_chapter_in_readme_is_a_chapter(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "01_example.toml").write_text(example, encoding="utf-8")
    assert complaints_about(tmp_path / "01_example.toml") == ()
