"""Texts that Markdown would turn into something, and what of them became something.

`WORD` is in each of them and nowhere else, so whatever holds it came from outside.
"""

import re
from collections.abc import Iterator

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element

WORD = "zqz"
MARKUP = (
    f"![{WORD}](//{WORD}.example/i)",
    f"[{WORD}](http://{WORD}.example)",
    f"<img src=//{WORD}.example>",
    f"http://{WORD}.example/a",
    f"www.{WORD}.example",
    f"{WORD}@{WORD}.example",
    f":material/{WORD}:",
    f":{WORD}:",
    f":red[{WORD}]",
    f"${WORD}$",
    f"**{WORD}**",
    f"``{WORD}",
    f"`[{WORD}](//h)`",
    f"`` ` [{WORD}](//h)",
    f"# {WORD}",
    f"\\[{WORD}](//h)",
    f"a\n\n[{WORD}](//h)\n\n[{WORD}]: //h",
)
"""A kind of markup each."""

_BADGE = re.compile(r"^:\w+-badge\[(.*)\]$")
"""An element that is a badge: its brackets are the page's own."""
_CODE = re.compile(r"(?<![\\`])(`+)(?!`)(.*?)(?<!`)\1(?!`)", re.DOTALL)
_SYNTAX = (
    re.compile(rf"\[[^\]]*{WORD}|{WORD}[^\[]*\]"),
    re.compile(rf"<[^>\s]*[^>]*{WORD}"),
    re.compile(rf"[*_$`~]{WORD}|{WORD}[*_$`~]"),
    re.compile(rf"^ {{0,3}}#+ .*{WORD}", re.MULTILINE),
)
_FOUND_LATER = (
    re.compile(rf"https?://[-.\w]*{WORD}"),
    re.compile(rf"www\.[-.\w]*{WORD}"),
    re.compile(rf"[-.\w+]+@[-\w]*{WORD}"),
    re.compile(rf":(material/)?[\w+-]*{WORD}[\w+-]*:"),
)
_NOT_MARKDOWN = frozenset({"code", "text", "text_input", "text_area", "arrow_data_frame", "vega_lite_chart"})


def live(markdown: str) -> list[str]:
    """The pieces of `markdown` around WORD that Streamlit would turn into something.

    It follows Streamlit's front end: code is left alone, a backslash takes the next sign's meaning. Icons,
    emoji and addresses are looked for afterwards, where the backslashes are gone.
    """
    outside = _CODE.sub(" ", _BADGE.sub(r"\1", markdown))
    unescaped = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", outside)
    hidden = re.sub(r"\\[!-/:-@\[-`{-~]", "\0", outside)
    found = [one.search(hidden) for one in _SYNTAX] + [one.search(unescaped) for one in _FOUND_LATER]
    return [one[0] for one in found if one]


def shown_alive(at: AppTest) -> list[str]:
    """Every piece of the page that came from outside and became something, with the kind of its element."""
    return [
        f"{element.type}: {piece}"
        for element in _elements(at._tree)
        if element.type not in _NOT_MARKDOWN
        for text in _texts(element.proto)
        for piece in (tags(text) if element.type == "html" else live(text))
    ]


def tags(text: str) -> list[str]:
    """The tags from outside that HTML holds as tags: nothing else becomes something there."""
    return [one for one in MARKUP if "<" in one and one in text]


def shows_word(at: AppTest) -> bool:
    """Return True if any text of the page holds WORD: else the page swallowed it, and nothing was tested."""
    return any(WORD in text for element in _elements(at._tree) for text in _texts(element.proto))


def _elements(block: Block) -> Iterator[Element]:
    for child in block.children.values():
        if isinstance(child, Block):
            yield from _elements(child)
        else:
            yield child


def _texts(proto: object) -> Iterator[str]:
    """The strings of a message, and of those in it."""
    for field, value in getattr(proto, "ListFields", list)():
        for one in value if field.is_repeated else [value]:
            if isinstance(one, str):
                yield one
            elif field.message_type is not None:
                yield from _texts(one)
