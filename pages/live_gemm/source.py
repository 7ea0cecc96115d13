"""The source of the kernel that ran, beside the simple one: read as text, without Triton."""

from dataclasses import replace

from kernels.bench.row import Row
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import BODIES, WHOLE_FILE
from kernels.gemm.bodies import Source as Place
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.ran import RanPlan
from pages.kit.gemm.words import duration
from pages.kit.in_code.source_text import Source, explanation, files, text
from pages.kit.inert import plain
from pages.kit.widgets import Place as Container

_REFOLDING = ("operand_passes/refold_kernel.py", "refold_kernel")
_DEQUANTIZING = ("operand_passes/read_kernel.py", "code_values")
_SCALE_BLOCKS = ("operand_passes/native_kernel.py", "scale_blocks_kernel")
_DECODING = ("operand_passes/decode_ptx.py", WHOLE_FILE)
_CODE = 420
"""Pixels of a source."""
_WARPS = 8
"""Any that the simple kernel takes: the choice changes nothing in its source."""


SIMPLE = Source(title=BODIES[Body.SIMPLE].title, places=BODIES[Body.SIMPLE].sources)


def source_of(plan: RanPlan) -> Source:
    """The source that a plan runs, its title and its explanation from the registry of bodies."""
    body = BODIES[plan.body]
    general = plan.blocks.is_general
    splits = plan.blocks.split_k > 1 and bool(body.shared_sources)
    passes, after = _passes(plan)
    return Source(
        title=body.title + body.general * general + body.shared * splits + after,
        places=(*passes, *(body.general_sources if general else body.sources), *body.shared_sources * splits),
        explained_in=body.explained_in,
    )


def _passes(plan: RanPlan) -> tuple[tuple[Place, ...], str]:
    """The passes over the operands, and the words for them after a body's title."""
    if plan.refolded:
        return (_REFOLDING,), ", after a pass that refolds"
    if plan.arithmetic is Arithmetic.NATIVE_MX:
        return (_SCALE_BLOCKS,), ", after a pass that lays out the scales"
    if plan.arithmetic is not Arithmetic.DEQUANTIZED:
        return (), ""
    if plan.body is Body.DECODING:
        return (_DECODING,), ", after a pass over the other"
    decodes = ", which decodes in its K loop" if plan.blocks.decoded else ", after a pass that dequantizes"
    return (_DEQUANTIZING,), decodes


def instead_of(plan: RanPlan) -> Source | None:
    """The source of the simple kernel for a plan's product; None where that is what runs."""
    if plan.body.is_simple:
        return None
    side = plan.blocks.block_k  # a power of two, which not every body's blocks of D are
    simple = replace(
        plan.blocks,
        body=Body.SIMPLE,
        block_m=side,
        block_n=side,
        warps=_WARPS,
        split_k=1,
        uneven=False,
        decoded="",
    )
    return source_of(replace(plan, blocks=simple))


def draw_kernel(row: Row, place: Container) -> None:
    """Draw which kernel ran and why, its source, and the simple one's where that did not run."""
    plan = row.plan
    shown = [SIMPLE] if plan is None else [one for one in (instead_of(plan), source_of(plan)) if one]
    place.markdown(sentence(row))
    if plan is not None and shown[-1].explained_in:
        place.markdown(explanation(shown[-1].explained_in))
    for column, source in zip(place.columns(len(shown)), shown, strict=True):
        column.markdown(f"**{source.title}**, {files(source)}")
        column.code(text(source), language="python", height=_CODE)


def sentence(row: Row) -> str:
    """A sentence on the kernel that ran and why, with its speed against the simple one where both
    were timed.
    """
    if row.plan is None:
        return f"**{plain(row.kernel)}** ran, whose source is not shown here; below is the simple kernel."
    said = f"**{source_of(row.plan).title}** ran: {plain(row.kernel)}."
    if row.why:
        said += f" Why: {plain(row.why)}."
    if row.simple is not None:
        said += (
            f" The simple kernel by its own plan took {duration(row.simple.median_us)} in the same run: this "
            f"one is {row.times_simple:.2f} times as fast."
        )
    return said
