"""Contract: every call in a text to copy binds to the recorded signature of the release that it names."""

import inspect
import json
import zipfile
from importlib import import_module

import pytest

from pages.kit.in_code.texts import FOLDER, PACKAGES, RECORDINGS, checked_words
from tests.peers.binding import bound_to, faults, used
from tests.peers.every_text import of_recipes, python_of, written
from tests.peers.signatures import Wheel

IN_FILES = {
    library: json.loads((FOLDER / f"{name}.json").read_text()) for library, name in RECORDINGS.items()
}


@pytest.mark.parametrize("library", RECORDINGS)
def test_every_call_binds_to_the_recorded_signatures(library) -> None:
    texts = python_of(library)
    assert texts
    package, names = RECORDINGS[library], IN_FILES[library]["names"]
    wrong = {name: found for name, text in texts.items() if (found := faults(text, package, names))}
    assert wrong == {}
    every = {dotted for text in texts.values() for dotted, _ in used(text, package)}
    assert set(names) <= every, "a name is recorded that no text uses: record again"


def test_an_unknown_name_or_argument_is_a_fault() -> None:
    names = IN_FILES["torchao"]["names"]
    good = python_of("torchao")["torchao, per_tensor_e4m3"]
    assert faults(good, "torchao", names) == []
    wrong = {
        good.replace("cast_config_grad_output=", "cast_config_gradient="): "unexpected keyword",
        good.replace("Float8LinearConfig", "Float8LayerConfig"): "Float8LayerConfig is unknown",
        good.replace("config=config", "*configs"): "with a star",
        good.replace("(model, ", "(model, 1, 2, "): "too many positional",
    }
    for text, told in wrong.items():
        assert any(told in clause for clause in faults(text, "torchao", names)), told
    mode = python_of("torchao")["torchao, mxfp8"].replace("RCEIL", "ROUND")
    assert "ScaleCalculationMode.ROUND is unknown" in faults(mode, "torchao", names)[0]


def test_signatures_are_read_through_imports_and_bases(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "made-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("made/__init__.py", "from .inner import Small, make as build\n")
        wheel.writestr(
            "made/inner.py",
            "from dataclasses import dataclass\n@dataclass\nclass Base:\n  a: int\n  b: int = 2\n"
            "class Small(Base):\n  ONE = 1\n  @staticmethod\n  def of(name, *, loud=False): ...\n"
            "def make(x, /, *rest, deep): ...\n",
        )
    found = Wheel(tmp_path / "made-1.2-py3-none-any.whl")
    assert found.version == "1.2"
    small = found.entry("made.Small")
    assert [name for name, _, _ in small["parameters"]] == ["a", "b"]
    assert small["members"] == {
        "ONE": None,
        "of": [["name", "POSITIONAL_OR_KEYWORD", False], ["loud", "KEYWORD_ONLY", True]],
    }
    assert [kind for _, kind, _ in found.entry("made.build")["parameters"]] == [
        "POSITIONAL_ONLY",
        "VAR_POSITIONAL",
        "KEYWORD_ONLY",
    ]
    assert found.entry("made.absent") is None


def test_the_page_names_the_release_that_was_recorded() -> None:
    for library, data in IN_FILES.items():
        assert f"{library} {data['version']}" in checked_words(library)
    assert checked_words("Triton").startswith("Bound to signatures")
    assert checked_words("torch").startswith("Run by")


def test_every_text_names_a_library_whose_texts_are_checked() -> None:
    known = {*RECORDINGS, *PACKAGES, "This project"}
    assert {text.library for _, text in written()} <= known
    assert {one.library for _, one in of_recipes()} <= known


def test_calls_inside_kernels_bind_to_the_triton_that_is_installed() -> None:
    texts = python_of("Triton")
    assert texts
    called = {dotted: call for text in texts.values() for dotted, call in used(text, "triton")}
    assert "triton.language.dot" in called
    for dotted, call in called.items():
        if call is None:
            continue
        module, _, name = dotted.rpartition(".")
        assert bound_to(dotted, call, inspect.signature(getattr(import_module(module), name)).bind) == []
