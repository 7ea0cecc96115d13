"""The source of the kernel that ran, beside the simple one: read as text, without Triton."""

import ast
from dataclasses import dataclass

import streamlit as st

from kernels.bench.row import Row
from kernels.gemm.blocks import DECODED_WORDS, SPLIT_WORDS
from kernels.gemm.hopper.sizes import CHAINED, LOW, NARROW, PROMOTED
from kernels.gemm.meaning import PROMOTED_WORDS, REFOLDED_WORDS, Arithmetic
from kernels.paths import TOP
from pages.kit.gemm_words import duration
from pages.kit.inert import plain

_KERNELS = TOP / "kernels"
WHOLE_FILE = ""
_SPECIALIZED = "warp-specialized"
_EXPLANATION = "gemm/hopper/kernel.py"
_LOADING = ("gemm/hopper/ring.py", "produce")
_NARROW = ("gemm/hopper/narrow.py", WHOLE_FILE)
_OF_NARROW = "block {}×{}×".format(*NARROW)
_CHAINED = ("gemm/hopper/chained.py", WHOLE_FILE)
_OF_CHAINED = "block {}×{}×".format(*CHAINED)
_SLABS = ("gemm/hopper/promoted.py", WHOLE_FILE)
_PROMOTE = ("gemm/hopper/promoted.py", "promote")
_LOW = (("gemm/hopper/promoted_few_rows.py", WHOLE_FILE), _PROMOTE)
_SPLIT = ("gemm/hopper/shared_sums.py", WHOLE_FILE)
_LENT = (("gemm/hopper/promoted_lent.py", WHOLE_FILE), _PROMOTE)
_OF_BF16 = ("block {}×{}×".format(*PROMOTED), "D in bf16")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Kernel bodies that ran where a row's `kernel`, and the format of D after it, has all the words `said`.

    `bodies` are (file in kernels/, function or WHOLE_FILE) each; `instead_of` is the simple kernel that does
    the same, None for a simple one. `explained_in`: a file whose docstring says how the kernel works.
    """

    title: str
    said: tuple[str, ...]
    bodies: tuple[tuple[str, str], ...]
    instead_of: "Source | None" = None
    explained_in: str = ""

    @property
    def is_here(self) -> bool:
        """True if its files are there."""
        named = [file for file, _ in self.bodies] + [self.explained_in] * bool(self.explained_in)
        return all((_KERNELS / file).exists() for file in named)


SIMPLE = Source(
    title="The simple kernel",
    said=(Arithmetic.FP8.value,),
    bodies=(("gemm/simple/kernel.py", "gemm_kernel"),),
)
DEQUANTIZING = Source(
    title="The simple kernel, after a pass that dequantizes",
    said=(Arithmetic.DEQUANTIZED.value,),
    bodies=(
        ("operand_passes/dequantize_kernel.py", "dequantize_block"),
        ("gemm/simple/kernel.py", "gemm_kernel"),
    ),
)
REFOLDING = Source(
    title="The simple kernel, after a pass that refolds",
    said=(REFOLDED_WORDS, Arithmetic.FP8.value),
    bodies=(("operand_passes/refold_kernel.py", "refold_kernel"), ("gemm/simple/kernel.py", "gemm_kernel")),
)
SOURCES = (
    SIMPLE,
    DEQUANTIZING,
    REFOLDING,
    Source(
        title="The simple kernel, which decodes in its K loop",
        said=(Arithmetic.DEQUANTIZED.value, DECODED_WORDS),
        bodies=DEQUANTIZING.bodies,
    ),
    Source(
        title="The simple kernel of Blackwell's scaled tensor core",
        said=(Arithmetic.NATIVE_MX.value,),
        bodies=(("gemm/simple/native_mx_kernel.py", "native_mx_gemm_kernel"),),
    ),
    Source(
        title="The warp-specialized kernel, its sums in the tensor core",
        said=(Arithmetic.FP8.value, _SPECIALIZED, _OF_CHAINED),
        bodies=(_CHAINED, _LOADING),
        instead_of=SIMPLE,
        explained_in=_EXPLANATION,
    ),
    Source(
        title="The warp-specialized kernel, its sums promoted",
        said=(Arithmetic.FP8.value, PROMOTED_WORDS, _SPECIALIZED),
        bodies=(_SLABS, _LOADING),
        instead_of=SIMPLE,
        explained_in=_EXPLANATION,
    ),
    Source(
        title="The warp-specialized kernel, its sums promoted, after a pass that refolds",
        said=(*REFOLDING.said, PROMOTED_WORDS, _SPECIALIZED),
        bodies=(("operand_passes/refold_kernel.py", "refold_kernel"), _SLABS, _LOADING),
        instead_of=REFOLDING,
        explained_in=_EXPLANATION,
    ),
    *(
        Source(
            title=f"The warp-specialized kernel, its sums promoted, D through memory of A{after}",
            said=(*simple.said, PROMOTED_WORDS, _SPECIALIZED, *_OF_BF16),
            bodies=(*simple.bodies[:-1], *_LENT, _LOADING),
            instead_of=simple,
            explained_in=_EXPLANATION,
        )
        for simple, after in ((SIMPLE, ""), (REFOLDING, ", after a pass that refolds"))
    ),
    *(
        Source(
            title=f"The warp-specialized kernel for few tokens, its sums promoted{shared}{after}",
            said=(*simple.said, PROMOTED_WORDS, _SPECIALIZED, f"block {m}×{n}×", *split),
            bodies=(*simple.bodies[:-1], *_LOW, *bodies, _LOADING),
            instead_of=simple,
            explained_in=_EXPLANATION,
        )
        for simple, after in ((SIMPLE, ""), (REFOLDING, ", after a pass that refolds"))
        for m, n in LOW
        for shared, split, bodies in (("", (), ()), (", programs sharing a block", (SPLIT_WORDS,), (_SPLIT,)))
    ),
    *(
        Source(
            title=f"The warp-specialized kernel for few tokens, a narrow block a program, its sums {where}",
            said=(Arithmetic.FP8.value, *promoted, _SPECIALIZED, _OF_NARROW),
            bodies=(_NARROW,),
            instead_of=SIMPLE,
            explained_in=_NARROW[0],
        )
        for where, promoted in (("in the tensor core", ()), ("promoted", (PROMOTED_WORDS,)))
    ),
    *(
        Source(
            title=f"The warp-specialized kernel that decodes one operand{runs}, after a pass over the other",
            said=(Arithmetic.DEQUANTIZED.value, DECODED_WORDS, _SPECIALIZED, *split),
            bodies=(
                ("operand_passes/dequantize_kernel.py", "_decoding"),
                ("gemm/hopper/decoding/kernel.py", WHOLE_FILE),
                *bodies,
                ("gemm/hopper/decoding/ring.py", "produce"),
            ),
            instead_of=DEQUANTIZING,
            explained_in="gemm/hopper/decoding/kernel.py",
        )
        for runs, split, bodies in (("", (), ()), (", K in several runs", (SPLIT_WORDS,), (_SPLIT,)))
    ),
    Source(
        title="The warp-specialized kernel, after a pass that dequantizes",
        said=(Arithmetic.DEQUANTIZED.value, _SPECIALIZED, _OF_CHAINED),
        bodies=(("operand_passes/dequantize_kernel.py", "dequantize_block"), _CHAINED, _LOADING),
        instead_of=DEQUANTIZING,
        explained_in=_EXPLANATION,
    ),
)
"""A kernel more is an entry more; of entries whose words a row has, the one with most words counts."""


def draw_kernel(row: Row) -> None:
    """Draw which kernel ran and why, its source, and the simple one's where that did not run."""
    ran = source_of(row.kernel, row.out)
    with st.expander("The kernel that ran"):
        st.markdown(sentence(row, ran))
        if ran is not None and ran.explained_in:
            st.markdown(explanation(ran.explained_in))
        shown = [source for source in (SIMPLE if ran is None else ran.instead_of, ran) if source is not None]
        for column, source in zip(st.columns(len(shown)), shown, strict=True):
            column.markdown(f"**{source.title}**, {files(source)}")
            column.code(text(source), language="python")


def source_of(kernel: str, out: str) -> Source | None:
    """The source of a row's `kernel` that wrote D in this format. None for one that is unknown or no longer
    here, as some are that recorded rows name: a fast kernel is never taken for a simple one.
    """
    told = f"{kernel}; D in {out}"
    fitting = [source for source in SOURCES if all(words in told for words in source.said)]
    found = max(fitting, key=lambda source: len(source.said), default=None)
    if found is None or (found.instead_of is None and _SPECIALIZED in kernel):
        return None
    return found if found.is_here else None


def sentence(row: Row, ran: Source | None) -> str:
    """A sentence on the kernel that ran and why, with its speed against the simple one where both
    were timed.
    """
    if ran is None:
        return f"**{plain(row.kernel)}** ran, whose source is not shown here; below is the simple kernel."
    said = f"**{ran.title}** ran: {plain(row.kernel)}."
    if row.why:
        said += f" Why: {plain(row.why)}."
    if row.simple is not None:
        said += (
            f" The simple kernel by its own plan took {duration(row.simple.median_us)} in the same run: this "
            f"one is {row.times_simple:.2f} times as fast."
        )
    return said


def files(source: Source) -> str:
    """The files that its bodies are from, in Markdown."""
    return ", ".join(dict.fromkeys(f"`kernels/{file}`" for file, _ in source.bodies))


@st.cache_data(max_entries=4, show_spinner=False)
def explanation(file: str) -> str:
    """The docstring of a file in kernels/."""
    return ast.get_docstring(ast.parse((_KERNELS / file).read_text(encoding="utf-8"))) or ""


@st.cache_data(max_entries=16, show_spinner=False)
def text(source: Source) -> str:
    """Its bodies, one after the other."""
    return "\n\n\n".join(
        body((_KERNELS / file).read_text(encoding="utf-8"), name) for file, name in source.bodies
    )


def body(module: str, name: str) -> str:
    """A function's source with its decorators, or the whole module's. Raises ValueError where a module's text
    has no function so named.
    """
    if name == WHOLE_FILE:
        return module.rstrip()
    for node in ast.parse(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(module.splitlines()[first - 1 : node.end_lineno])
    raise ValueError(f"there is no function {name} in the text")
