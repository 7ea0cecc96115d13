"""Addresses nobody means: wrong types, ranges, lengths, characters and repetitions."""

import random
from collections.abc import Sequence

_NUMBERS = "0 -0 -1 1 3 17 65 65537 1e9 1e309 -1e-400 0x10 1_000 1,000 12.0 12.5 . + nan NaN inf -Infinity"
_WORDS = "None null undefined True FALSE [] {} mxfp8 MXFP8 fprop &=?#; __class__ %00 %zz ../../etc/passwd"
_SIGNS = "٣ １２ ½ λ→∞ 🧮 e\u0301\u0301\u0301 \u202eabc \ufeff1 mxfp8\u200b"
_TEXTS = [
    *_NUMBERS.split(" "), *_WORDS.split(" "), *_SIGNS.split(" "),
    "", " ", "9" * 19, "9" * 5000, "-" + "9" * 400, "x" * 20_000, " mxfp8", "a\x00b", "a\nb",
    "[1, 2]", "() => 1", "'; drop table runs; --", "<script>alert(1)</script>", "<b>bold</b>",
    "`code` **bold** $x^2$ :material/home: [a](b)",
]  # fmt: skip
_FOREIGN_KEYS = ["", "Recipe", "recipe ", "_address", "embed", "embed_options", "key", "κλειδί", "x" * 2000]


def hostile_queries(keys: Sequence[str], n: int, seed: int = 0) -> list[dict[str, str | list[str]]]:
    """`n` query strings over a page's parameter `keys`, as `AppTest.query_params` takes them.

    The same for the same arguments. Values mix the hopeless with the nearly right; a third of the queries
    repeat a key, a third carry keys of no control.
    """
    draw = random.Random(seed)
    queries: list[dict[str, str | list[str]]] = []
    for _ in range(n):
        chosen = draw.sample(list(keys), draw.randint(1, len(keys)))
        query: dict[str, str | list[str]] = {key: _text(draw) for key in chosen}
        if draw.random() < 1 / 3:
            query[draw.choice(chosen)] = [_text(draw) for _ in range(draw.choice([2, 2, 3, 50]))]
        if draw.random() < 1 / 3:
            query[draw.choice(_FOREIGN_KEYS)] = _text(draw)
        queries.append(query)
    return queries


def _text(draw: random.Random) -> str:
    """One of the collected texts, an integer of any size, or a few characters from anywhere in Unicode."""
    kind = draw.random()
    if kind < 0.6:
        return draw.choice(_TEXTS)
    if kind < 0.8:
        return str(draw.randint(-(10 ** draw.randint(1, 30)), 10 ** draw.randint(1, 30)))
    points = (draw.choice([draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)]) for _ in range(8))
    return "".join(map(chr, points))
