"""A whole recipe as text: JSON for a file, a short line for an address. Nothing is lost."""

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fp8core.recipes.compact import LONGEST, from_line, to_line
from fp8core.recipes.plain import OWN_NAME, from_plain, to_plain
from fp8core.recipes.reading import described
from fp8core.recipes.recipe import Family, Recipe

LONGEST_JSON = 1 << 16
"""Bytes of a recipe's JSON."""

__all__ = [
    "LONGEST",
    "LONGEST_JSON",
    "OWN_NAME",
    "from_json",
    "from_text",
    "own_recipe",
    "to_json",
    "to_text",
]


def to_json(recipe: Recipe) -> str:
    return json.dumps(to_plain(recipe), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> Recipe:
    """Recipe of JSON.

    Raises one ValueError that names every wrong field. It also refuses other text, more than LONGEST_JSON
    bytes, repeated fields, NaN and infinity.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(data) > LONGEST_JSON:
        raise ValueError(f"a recipe's file has at most {LONGEST_JSON:,} bytes, got {len(data):,}")
    try:
        data = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_finite, parse_int=_whole
        )
    except UnicodeDecodeError:
        raise ValueError("a recipe's file is text in UTF-8, got other bytes") from None
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"a recipe's file is JSON, got something else at {at}") from None
    except RecursionError:
        raise ValueError("a recipe's file is a few levels deep, got far more") from None
    return from_plain(data)


def to_text(recipe: Recipe) -> str:
    return to_line(to_plain(recipe))


def from_text(text: str) -> Recipe:
    """Recipe of a line. Raises one ValueError."""
    return from_plain(from_line(text))


@lru_cache(maxsize=256)
def own_recipe(text: str) -> Recipe:
    """Recipe of a line as the reader's own, never as a published one. Raises ValueError."""
    return replace(from_text(text), name=OWN_NAME, family=Family.OWN)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"a field comes once in an object, got {described(twice)} twice")
    return data


def _finite(text: str) -> float:
    raise ValueError(f"a recipe's numbers are finite, got {text}")


def _whole(text: str) -> int | float:
    """Read a whole number; one of too many digits is infinite."""
    return int(text) if len(text) <= 20 else float("inf")
