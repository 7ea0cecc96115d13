"""Contract: a word is explained where it occurs first; code, formulas, links and tables stay as they are."""

from pages.kit.terms.explain import explained, found_in, link
from pages.kit.terms.glossary import glossary

TILE = glossary().find("tile")
UNTOUCHED = (
    "`a tile`",
    "``a `tile` ``",
    "```\na tile\n```",
    "$tile$",
    "[a tile](https://tile.org)",
    '<a href="x">a tile</a>',
    '<img alt="a tile">',
    "https://tile.org/tile",
    ":material/tile:",
    "# A tile",
    "| tile | 1 |",
    "tile_rows, stile, non-tile, tile-like",
    "The plan of a body has rounds",
)


def test_only_the_first_occurrence_is_explained():
    told = explained("A **tile** has a format. Tiles and tile.")
    assert told.count('href="glossary?term=tile"') == 1
    assert told.startswith("A **<a ")
    assert told.endswith(". Tiles and tile.")


def test_a_link_carries_the_sentence_for_eyes_and_for_ears():
    made = link(TILE, "Tiles")
    assert f'data-says="{TILE.says}"' in made
    assert f'aria-label="Tiles: {TILE.says}"' in made
    assert made.endswith(">Tiles</a>")


def test_what_is_no_word_of_a_text_stays():
    changed = [text for text in UNTOUCHED if explained(text) != text]
    assert changed == []


def test_plurals_other_names_and_any_case_are_known():
    texts = ["UE8M0 scales", "Clipped to the largest", "a per-row scale", "Denormals"]
    assert {term.term for term in found_in(texts)} == {"E8M0", "scale", "saturate", "per-row", "subnormal"}


def test_the_longest_name_wins():
    assert {term.term for term in found_in(["a scale rule"])} == {"scale rule"}
