"""A folder with the pages' pictures, which needs no server: `python -m pages.kit.site FOLDER [LIVE]`.

LIVE is the address of a running app, to which each picture links. `make site` calls this.
"""

import json
import logging
import re
import shutil
import sys
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import streamlit

from kernels.paths import TOP
from pages.kit.charts.ink import INKS
from pages.kit.server.heads import PREVIEWS, START
from pages.kit.site.record import Record, Subject, record, subjects
from pages.kit.stage.stage import colors
from pages.kit.story import APP_NAME

_HERE = Path(__file__).parent
_EXPORT = "window.vegaEmbed = vegaEmbed;"
_LOOK = TOP / "pages" / "kit" / "look" / "page.css"
_SLIDER = re.compile(r"/\* A slider above its chart\. \*/\n(.*?)\n\n", re.DOTALL)


def build(folder: Path, live: str = "", of: list[Subject] | None = None) -> None:
    """Write the site of all pictures, or of these, over existing files."""
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    modules: dict[str, Record] = {}
    records = [record(subject, modules) for subject in (subjects() if of is None else of)]
    records = [one for one in records if one["views"][0]["parts"]]
    for one in records:
        if any("card" in part for part in one["views"][0]["parts"]):
            shutil.copy(PREVIEWS / f"{one['page']}.png", folder)
    shutil.copy(PREVIEWS / f"{START}.png", folder)
    (font,) = Path(streamlit.__file__).parent.glob("static/static/media/SourceSansVF-Upright*.woff2")
    shutil.copy(font, folder / "letters.woff2")
    texts = {
        "vega.js": vl_convert.javascript_bundle(_EXPORT),
        "pictures.js": _pictures(records, modules),
        "site.js": _text("site.js"),
        "site.css": colors().replace(":host", ":root") + _text("site.css") + _sliders(),
        "index.html": _page(records, live.rstrip("/")),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _sliders() -> str:
    rules = _SLIDER.search(_LOOK.read_text(encoding="utf-8"))
    if rules is None:
        raise ValueError(f"{_LOOK} has no rules that begin with '/* A slider above its chart. */'")
    return rules[1]


def _pictures(records: list[Record], modules: dict[str, Record]) -> str:
    """Write all pictures as a script: a browser loads no data and no module from a disk."""
    inks = {name: vars(ink) for name, ink in INKS.items()}
    lines = [f"const INKS = {json.dumps(inks)};", "const MODULES = {};"]
    for name, module in modules.items():
        script = module["js"].replace("export default function", "return function", 1)
        css = json.dumps(module["css"])
        lines.append(f"MODULES[{name!r}] = {{ css: {css}, draw: (() => {{\n{script}\n}})() }};")
    lines.append(f"const PICTURES = {json.dumps(records, ensure_ascii=False, separators=(',', ':'))};")
    return "\n".join(lines)


def _page(records: list[Record], live: str) -> str:
    first = records[0]
    values = {
        "NAME": APP_NAME,
        "QUESTION": escape(first["question"]),
        "FINDING": escape(re.sub("<[^>]*>", "", _finding(first))),
        "SECTIONS": "\n".join(_section(one, "h1" if one is first else "h2", live) for one in records),
        "LIVE": f'<p><a href="{escape(live)}/">Open {APP_NAME}</a></p>' if live else "",
        "COMMANDS": escape(_commands()),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: values[hole[1]], _text("index.html"))


def _finding(one: Record) -> str:
    return one["views"][one["first"]]["finding"]


def _section(one: Record, tag: str, live: str) -> str:
    page = "" if one["page"] == START else one["page"]
    address = f"{live}/{page}" + (f"?{urlencode(one['address'])}" if one["address"] else "")
    link = f'<a class="live" href="{escape(address)}">Open this page with all its controls</a>'
    return (
        f'<section id="{"-".join([one["page"], *one["address"].values()])}">\n'
        f"<{tag}>{escape(one['question'])}</{tag}>\n"
        f'<p class="finding" aria-live="polite">{_finding(one)}</p>\n'
        f'<div class="picture"></div>\n{link if live else ""}</section>'
    )


def _commands() -> str:
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    return "\n".join(line[4:] for line in re.search(r"\n((?: {4}make .*\n)+)", readme)[1].splitlines())


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # Streamlit warns at each look into a session from outside.
    build(Path(sys.argv[1]), *sys.argv[2:3])
