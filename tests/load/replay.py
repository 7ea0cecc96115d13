"""Answers that were given under load, asked for again alone on a fresh server: they must be the same."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from tests.load.session import opened
from tests.load.students import Sample
from tests.load.view import Path, shown

SHOWN = 160


async def wrong_answers(url: str, samples: Iterable[Sample]) -> list[str]:
    """What is drawn otherwise when one session alone opens the address; a line for each wrong answer."""
    wrong = []
    for sample in samples:
        async with opened(url, sample.page) as session:
            await session.open(sample.query)
            alone = {path: drawn.delta for path, drawn in session.view.tree.items()}
            told = difference(sample.picture, alone)
            if session.view.query != sample.query:
                told = f"the address became {session.view.query}"
            if told:
                wrong.append(f"/{sample.page}?{sample.query}: {told}")
    return wrong


def difference(under_load: dict[Path, Any], alone: dict[Path, Any]) -> str:
    """The first place where two pages differ; empty where they are equal."""
    for path in sorted(under_load.keys() | alone.keys()):
        here, there = (shown(page[path]) if path in page else None for page in (under_load, alone))
        if _bytes(here) != _bytes(there):
            return f"at {path} {_told(here, there)} under load, {_told(there, here)} alone"
    return ""


def _bytes(delta: Any) -> bytes | None:
    return None if delta is None else delta.SerializeToString(deterministic=True)


def _told(delta: Any, other: Any) -> str:
    """The part of one delta in which it begins to differ from another."""
    if delta is None:
        return "nothing"
    text, otherwise = (" ".join(str(one).split()) for one in (delta, other))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, otherwise, strict=False)))
    start = max(same - SHOWN // 2, 0)
    return f"‘{text[start : start + SHOWN]}’"
