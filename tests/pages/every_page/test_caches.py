"""Contract: whatever visitors ask for, what the server keeps of it is bounded."""

import ast
import tomllib
from collections.abc import Iterator

from streamlit.byte_util import config_max_cache_data_size_to_bytes

from pages.kit.computing.pool import BYTES_LIMIT
from tests.serving import TOP

BOUND = {"cache_data": "max_entries", "cache_resource": "max_entries", "lru_cache": "maxsize", "cache": None}
"""The kinds of caches, and the argument that bounds the number of their values; `cache` has none."""

MOST_BYTES = 96 << 20
"""Limit of each cache that counts bytes: that of `st.cache_data`, and the computing processes' results."""


def kind(node: ast.expr) -> str | None:
    """The kind of cache that an expression names."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return name if name in BOUND else None


def may_grow(module: ast.Module) -> Iterator[str]:
    """The caches of functions with arguments whose number of values has no bound."""
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef):
            continue
        for made in node.decorator_list:
            named = kind(made.func if isinstance(made, ast.Call) else made)
            words = made.keywords if isinstance(made, ast.Call) else []
            bounds = {word.arg for word in words if ast.unparse(word.value) != "None"}
            if named and BOUND[named] not in bounds and any(ast.iter_child_nodes(node.args)):
                yield node.name


def test_every_cache_has_a_bound():
    files = [path for room in ("pages", "fp8core") for path in (TOP / room).rglob("*.py")]
    texts = {str(path.relative_to(TOP)): path.read_text(encoding="utf-8") for path in files}
    found = {name: [*may_grow(ast.parse(text))] for name, text in texts.items() if "cache" in text}
    assert {name: caches for name, caches in found.items() if caches} == {}
    unbound = "@st.cache_data(ttl=5)\ndef a(x): ...\n@lru_cache(maxsize=None)\ndef b(*x): ..."
    assert list(may_grow(ast.parse(f"{unbound}\n@cache\ndef c(x): ...\n@cache\ndef d(): ..."))) == [*"abc"]


def test_results_that_are_kept_stay_below_a_hundred_megabytes():
    settings = tomllib.loads((TOP / ".streamlit" / "config.toml").read_text())
    data = config_max_cache_data_size_to_bytes(settings["server"]["maxCacheDataSize"])
    assert 0 < data + BYTES_LIMIT <= MOST_BYTES
