"""Contract: a recipe's JSON and its line say all of it; a wrong file gives one sentence that names all."""

import json
import random
import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest

from fp8core.inputs import InputKind, draw
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, Family, Operand
from fp8core.recipes.plain import from_plain, to_plain
from fp8core.recipes.text import LONGEST, LONGEST_JSON, from_json, from_text, own_recipe, to_json, to_text
from tests.fp8core.random_recipes import WRONG_VALUES, leaves, own_text, put, random_recipe

by_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
RANDOM, MUTATED = 150, 150
ONE_SENTENCE = re.compile(r"[^\n]*")
LONGEST_SENTENCE = 8000


def refused(reader, text) -> str:
    """The sentence of a refusal."""
    with pytest.raises(ValueError, match=r".") as caught:
        reader(text)
    message = str(caught.value)
    assert ONE_SENTENCE.fullmatch(message), message
    assert len(message) < LONGEST_SENTENCE, message
    return message


@by_recipe
def test_a_published_recipe_comes_back_equal(recipe) -> None:
    assert from_json(to_json(recipe)) == recipe
    assert from_text(to_text(recipe)) == recipe


def test_a_random_recipe_comes_back_equal_and_its_line_needs_no_escapes() -> None:
    chance = random.Random(22)
    for _ in range(RANDOM):
        recipe = random_recipe(chance)
        line = to_text(recipe)
        assert from_json(to_json(recipe)) == recipe
        assert from_text(line) == recipe
        assert urlencode({"own": line}) == f"own={line}"
        assert dict(parse_qsl(f"own={line}")) == {"own": line}
        assert len(line) <= LONGEST


def test_what_can_be_written_can_be_quantized() -> None:
    """Broken, huge and tiny tensors included: a division by zero would be a warning, which is an error."""
    chance = random.Random(5)
    tensors = [draw(kind, (24, 40), 0) for kind in (InputKind.GAUSSIAN, InputKind.GRADIENT_LIKE)]
    tensors += [np.full((5, 7), number, np.float32) for number in (0, 3e38, 1e-45, np.nan)]
    for _ in range(40):
        recipe = random_recipe(chance)
        for spec in (recipe.fprop, recipe.wgrad):
            for operand in spec.quantized:
                for x in tensors:
                    random_bits = np.full(x.shape, 100, np.uint8) if operand.is_random else None
                    quantize(x, Operand(spec=operand, k_is_rows=chance.random() < 0.5), random=random_bits)


@by_recipe
def test_a_recipe_of_ones_own_fits_into_a_short_line(recipe) -> None:
    own = replace(recipe, name="own", title="Your own recipe", family=Family.OWN, source="", remark="")
    assert own_text(recipe) == to_text(own)
    assert from_text(own_text(recipe)) == own
    assert len(own_text(recipe)) < 400


@by_recipe
def test_a_line_never_passes_for_a_published_recipe(recipe) -> None:
    own = own_recipe(to_text(recipe))
    assert (own.name, own.family) == ("own", Family.OWN)
    assert own.fprop == recipe.fprop


def test_every_wrong_field_of_a_file_is_named() -> None:
    """Each mutation makes one to three fields wrong; the sentence names their paths and no others."""
    chance = random.Random(3)
    for _ in range(MUTATED):
        data = to_plain(random_recipe(chance) if chance.random() < 0.7 else RECIPES["deepseek_v3_pow2"])
        ends = [path for path in leaves(data) if path.rsplit(".", 1)[-1] in FIELDS]
        wrong = chance.sample(ends, chance.randint(1, 3))
        wrong = [path for path in wrong if not any(path.startswith(f"{other}.") for other in wrong)]
        for path in wrong:
            data = put(data, path, chance.choice([v for v in WRONG_VALUES if not is_fine(path, v)]))
        message = refused(from_plain, data)
        paths = re.findall(r"(?:[:;] )([a-z]+(?:[.][a-z_]+)*) (?:is|has)\b", message)
        assert {path.strip(".") for path in wrong} == set(paths), message


FIELDS = {
    *("name", "title", "family", "format", "fit", "mn", "k", "amax_floor", "history", "rounding"),
    *("accumulator", "out", "kind", "size", "tile", "scale", "fprop"),
}


def is_fine(path: str, value: object) -> bool:
    """What only looks wrong: a number that the field takes, or an object, whose own fields are missing."""
    name = path.rsplit(".", 1)[-1]
    fine = {"amax_floor": 0.3, "name": "e9m9", "title": "e9m9"}
    return isinstance(value, dict) or value == fine.get(name)


def test_mutated_letters_of_a_file_give_a_recipe_or_a_sentence() -> None:
    chance = random.Random(4)
    inserts = (b"NaN", b"9" * 5000, b"[" * 3000, b"1e999", b"\xff", b"null")
    for _ in range(MUTATED):
        data = bytearray(to_json(chance.choice(list(RECIPES.values()))).encode())
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    del data[at : at + chance.randint(1, 40)]
                case 2:
                    data[at:at] = data[at : at + chance.randint(1, 40)]
                case 3:
                    data[at:at] = chance.choice(inserts)
        recipe = read_or_none(from_json, bytes(data))
        assert recipe is None or from_json(to_json(recipe)) == recipe


def test_mutated_letters_of_a_line_give_a_recipe_or_a_sentence() -> None:
    chance = random.Random(6)
    for _ in range(MUTATED):
        line = list(to_text(chance.choice(list(RECIPES.values()))))
        for _ in range(chance.randint(1, 3)):
            line[chance.randrange(len(line))] = chance.choice("abcdef0123456789-._~%\x00é ")
        recipe = read_or_none(from_text, "".join(line))
        assert recipe is None or from_text(to_text(recipe)) == recipe


def read_or_none(reader, text):
    try:
        return reader(text)
    except ValueError:
        refused(reader, text)
        return None


@pytest.mark.parametrize(
    ("text", "part"),
    {
        "": "is JSON",
        "{": "is JSON",
        "[]": "an object with fprop",
        "null": "got null",
        "[" * 20000: "levels",
        "{" + '"a":{' * 5000 + "}" * 5001: "levels",
        '{"name": NaN}': "finite",
        '{"name": -Infinity}': "finite",
        '{"name": "a", "name": "b"}': "'name' twice",
        " " * (LONGEST_JSON + 1): "at most",
        json.dumps({str(i): i for i in range(500)}): "and 492 more",
        '{"fprop": ' + "9" * 5000 + "}": "got inf",
    }.items(),
    ids=range(12),
)
def test_a_file_that_is_no_recipe_gets_a_sentence(text, part) -> None:
    assert part in refused(from_json, text)


@pytest.mark.parametrize(
    ("line", "part"),
    {
        "": "3 matmuls",
        "x" * (LONGEST + 1): "at most",
        "aa.hopper_bf16.bf16~aa.hopper_bf16.bf16~aa.hopper_bf16.fp32": "got 'a'",
        "e4m3.1.32~aa.x.y~aa.x.y~aa.x.y": "format.mn.k.scale.fit",
        "e4m3.1.1_0.e8m0.floor~aa.x.y~aa.x.y~aa.x.y": "got '1_0'",
        "e4m3.1.32.e8m0.floor.size-3~aa.x.y~aa.x.y~aa.x.y": "got 'size-3'",
        "e4m3.1.32.e8m0.floor.saved-a~aa.x.y~aa.x.y~aa.x.y": "an operand before it",
        "e4m3.1.32.e8m0.floor.top-4~aa.x.y~aa.x.y~aa.x.y": "outer.tile is missing",
        "e4m3.1.32.e8m0.floor.history-1.history-2~aa.x.y~aa.x.y~aa.x.y": "comes once",
        "--.hopper_bf16.bf16~--.hopper_bf16.bf16~--.hopper_bf16.fp32~title-!": "base64url",
        "--.hopper_bf16.bf16~--.hopper_bf16.bf16~--.hopper_bf16.fp32~color-e": "got 'color-e'",
    }.items(),
    ids=range(11),
)
def test_a_line_that_is_no_recipe_gets_a_sentence(line, part) -> None:
    assert part in refused(from_text, line)


def test_what_a_constructor_refuses_is_told_under_its_path() -> None:
    data = put(to_plain(RECIPES["nvfp4"]), "wgrad.b.rotation", None)
    assert re.search(r"wgrad: a rotation cancels", refused(from_plain, data))
    data = put(to_plain(RECIPES["nvfp4"]), "fprop.a.scale.outer.tile.k", 24)
    assert re.search(r"fprop\.a: tiles of the inner level", refused(from_plain, data))
    data = put(to_plain(RECIPES["mxfp8"]), "fprop.a.scale.history", 16)
    assert re.search(r"fprop\.a: a delayed scale", refused(from_plain, data))


def test_text_from_outside_is_only_text() -> None:
    for words in ("[a](http://b.c)", "<b>", "www.a.b", ":smile:", "*a*", "`a`", "$a$", "a\nb", "a@b.c", "#a"):
        data = put(to_plain(RECIPES["mxfp8"]), "remark", words)
        assert "remark is a line" in refused(from_plain, data)
