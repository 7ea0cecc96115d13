"""Section "Who can run it": tensor cores and kernel bodies for each matmul, or why there is none."""

import streamlit as st

from fp8core.linear import MATMULS
from fp8core.recipes.text import OWN_NAME
from kernels.device import BLACKWELL, HOPPER
from pages.design.controls import CELL, CELL_KEYS
from pages.design.derived import SIZES, Answer, runs
from pages.design.draft import Draft
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.shell import theme
from pages.kit.tables import grid
from pages.kit.view import know


def show(controls: Controls, draft: Draft) -> None:
    """A table of places and matmuls, and the way to run one of them; the reasons under "How we know"."""
    every = runs(draft.line)
    places = [one.where for one in next(iter(every.values()))]
    rows = [
        (where, *("✓" if of[row].can else "✗ no" for of in every.values()))
        for row, where in enumerate(places)
    ]
    st.html(grid(("", *(MATMULS[name].title for name in every)), rows, INKS[theme()]))
    matmul, _ = CELL_KEYS[controls.value(CELL)]
    st.page_link(
        "pages/live_gemm.py",
        label=f"Run its {MATMULS[matmul].title} in Live GEMM",
        icon=":material/play_arrow:",
        query_params=link_params(recipe=OWN_NAME, own=draft.line, matmul=matmul),
    )
    know().markdown(
        f"For a layer of {SIZES}. Kernel bodies are chosen as they would be on an {HOPPER.name} and an "
        f"{BLACKWELL.name}; nothing is run here."
    )
    for name, of in every.items():
        know().markdown(f"**{MATMULS[name].title}**\n\n" + "\n".join(map(_reason, of)))


def _reason(answer: Answer) -> str:
    mark = ":material/check:" if answer.can else ":material/block:"
    return f"- {mark} {plain(answer.where)}: {plain(answer.words)}."
