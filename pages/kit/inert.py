"""Text from outside, as text: it does nothing in Markdown.

Backslashes are not enough: after Markdown, Streamlit searches the text for icons (:material/…:), emoji
(:smile:) and addresses (http://…, www.…, a@b.c). An invisible joiner inside each stops that.
"""

import re

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|$~:&])")
_BLOCK_START = re.compile(r"^([0-9]{1,9}(?=[.)](?:\s|$))|(?=[-+=]))")
_FOUND_LATER = re.compile(r"(?<=:)(?=[\w+/-]*[:/])|(?<=\S)(?=@)|(?<=www)(?=\.)", re.IGNORECASE)
_PATH = re.compile(
    r"(?:(?<![\w.:/\\])|(?<=file://))~?/(?:[\w.+@~=-]+/)+([\w.+@~=-]*)"
    r"|(?<!\w)[a-z]:\\(?:[^\\\s'\"]+\\)*([^\\\s'\"]*)",
    re.ASCII | re.IGNORECASE,
)
_JOINER = "\N{WORD JOINER}"
_LONGEST_QUOTED = 40


def plain(text: str) -> str:
    """Escape `text` for one line of Markdown, without the folders of the server."""
    without_folders = _PATH.sub(_file_name, " ".join(text.split()))
    safe = _FOUND_LATER.sub(_JOINER, _printable(without_folders))
    escaped = _MARKUP.sub(r"\\\1", safe)
    return _BLOCK_START.sub(r"\1\\", escaped)


def quoted(text: str) -> str:
    """Show `text` as code, cut after 40 characters."""
    content = _printable(text) if len(text) <= _LONGEST_QUOTED else _printable(text[:_LONGEST_QUOTED]) + "…"
    fence = "`" * (max(map(len, re.findall("`+", content)), default=0) + 1)
    # Markdown takes one space off each end where both ends have one.
    edge = " " if content[:1] in ("`", " ") or content[-1:] in ("`", " ") or not content else ""
    return f"{fence}{edge}{content}{edge}{fence}"


def _file_name(path: re.Match[str]) -> str:
    last = path[1] or path[2] or ""
    return last if "." in last[1:] else "…"


def _printable(text: str) -> str:
    """Replace control characters, and those that turn the direction of writing, by U+FFFD."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
