"""Section "Who can run it": tensor cores and kernel bodies for each matmul, or why there is none."""

import streamlit as st

from fp8core.linear import MATMULS
from fp8core.recipes.text import OWN_NAME
from kernels.device import BLACKWELL, HOPPER
from pages.design.controls import CELL, CELL_KEYS
from pages.design.derived import SIZES, Answer, runs
from pages.design.draft import Draft
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.view import know


def show(controls: Controls, draft: Draft) -> None:
    """The answers, a matmul after the other, and the way to run one of them."""
    know().markdown(
        f"For a layer of {SIZES}. Kernel bodies are chosen as they would be on an {HOPPER.name} and an "
        f"{BLACKWELL.name}; nothing is run here."
    )
    columns = st.columns(len(MATMULS))
    for place, (name, told) in zip(columns, runs(draft.line).items(), strict=True):
        place.markdown(f"**{MATMULS[name].title}**\n\n" + "\n".join(map(_bullet, told)))
    matmul, _ = CELL_KEYS[controls.value(CELL)]
    st.page_link(
        "pages/live_gemm.py",
        label=f"Run its {MATMULS[matmul].title} in Live GEMM",
        icon=":material/play_arrow:",
        query_params=link_params(recipe=OWN_NAME, own=draft.line, matmul=matmul),
    )


def _bullet(answer: Answer) -> str:
    mark = ":material/check:" if answer.can else ":material/block:"
    return f"- {mark} {plain(answer.where)}: {plain(answer.words)}."
