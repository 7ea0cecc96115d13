"""Contract: a text in the words of this project, of torch or of ml_dtypes runs as it stands."""

import shlex

import pytest

from fp8core.recipes import RECIPES
from fp8core.recipes.text import own_recipe, to_text
from pages.kit.in_code.texts import our_texts
from tests.peers.every_text import python_of, written

TEXTS = {
    name: text
    for library in ("This project", "torch", "ml_dtypes")
    for name, text in python_of(library).items()
}


def run(text: str) -> dict[str, object]:
    """The names that a text makes."""
    scope: dict[str, object] = {}
    exec(compile(text, "<text to copy>", "exec"), scope)
    return scope


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_a_page_runs(name) -> None:
    run(TEXTS[name])


@pytest.mark.filterwarnings("ignore")
def test_every_recipe_s_text_makes_its_codes() -> None:
    for name, recipe in RECIPES.items():
        made = run(our_texts(recipe)[0].code)
        assert made["recipe"] == recipe, name
        assert made["quantized"].codes.shape == made["quantized"].values().shape


def test_the_text_of_one_s_own_recipe_reads_its_line() -> None:
    own = own_recipe(to_text(RECIPES["nvfp4"]))
    made = run(our_texts(own)[0].code)
    assert made["recipe"].fprop == own.fprop


def test_commands_have_arguments_that_their_programs_take(parse) -> None:
    commands = [
        line for _, text in written() if text.language == "bash" for line in text.code.splitlines() if line
    ]
    assert commands
    for command in commands:
        python, flag, module, *arguments = shlex.split(command, comments=True)  # as the shell reads it
        assert (python, flag) == ("python", "-m")
        parse(module, arguments)
