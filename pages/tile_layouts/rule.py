"""Section "The rule": two tile shapes, and whether the scale leaves the sum; and the exact rules."""

import numpy as np
import streamlit as st

from fp8core.contraction import ContractedNumbers, contract, rescales_per_output
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import MATMULS, LayerShape, Matmul, Side
from fp8core.quantize import RANDOM_BITS, ROTATED, quantize
from fp8core.recipes import Operand, OperandSpec
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE, Extent, TileShape
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.scale_rules import recipe_rules, scale_rules
from pages.kit.shared_controls import INPUT, MATMUL, SEED
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.tile_layouts.charts.rule import RuleScene, off_text, rule_chart
from pages.tile_layouts.facts import A_K, LARGEST_EXTENT, RULE_CONTROLS, SUMMED, extent_of

LINES, K = LARGEST_EXTENT, 4 * LARGEST_EXTENT
KNOW = (
    "A tensor core multiplies and adds **codes** only, one stretch of K at a time. A scale that is the same "
    "for every k of a stretch can be applied after it: the scale **leaves the sum**. If a scale changes "
    "inside a stretch, the sum must stop at every change. The numbers are D[0, 0] of seeded operands in e4m3 "
    "with fp32 scales."
)
_E4M3 = FORMATS["e4m3"]


def show(controls: Controls, layer: LayerShape) -> None:
    view, ink = here(), page_ink()
    matmul = MATMULS[controls.draw(MATMUL)]
    beside = {A_K: view.control, SUMMED: view.control}
    texts = tuple(controls.draw(control, beside.get(control)) for control in RULE_CONTROLS)
    kind = InputKind(controls.value(INPUT))
    scene, numbers = rule_numbers(texts, matmul, kind, controls.value(SEED), layer.in_)
    draw_notice(notice(scene, numbers, layer.size(matmul.k)))
    draw_chart(
        rule_chart(scene, numbers, ink, room()),
        key="tile_rule",
        alt=f"K from 0 to {scene.k - 1}: tiles of A and of B, and {len(scene.summed)} summed stretches, "
        f"{sum(part.scale_leaves_sum for part in scene.summed)} of which the scales leave.",
    )
    st.latex(latex(scene, ink))
    view.know.markdown(KNOW)


def rule_numbers(
    texts: tuple[str, ...], matmul: Matmul, kind: InputKind, seed: int, fan_in: int
) -> tuple[RuleScene, ContractedNumbers]:
    """D[0, 0] of seeded operands in e4m3 with fp32 scales; `texts` are values of RULE_CONTROLS."""
    a_m, a_k, b_n, b_k, sums = map(extent_of, texts)
    a, b = TileShape(a_m, a_k), TileShape(b_n, b_k)
    codes, scales = [], []
    for number, (side, tile) in enumerate(zip(Side, (a, b), strict=True)):
        k_is_rows = matmul.k_is_rows(side)
        shape = (K, LINES) if k_is_rows else (LINES, K)
        x = draw_operand(kind, matmul.operand(side), shape, 2 * seed + number, fan_in=fan_in)
        lines = (x.T if k_is_rows else x)[: tile.mn]  # the tiles of D[0, 0]
        operand = Operand(spec=OperandSpec(format=_E4M3, tile=tile, scale_rule=FP32_SCALE), k_is_rows=False)
        tensor = quantize(lines, operand)
        codes.append(_E4M3.decode(tensor.codes[0]))
        scales.append(tensor.grid.expand(tensor.scale)[0].astype(np.float64))
    scene = RuleScene(a=a, b=b, sums=sums, a_scale=scales[0], b_scale=scales[1])
    return scene, contract(*codes, *scales, sums)


def notice(scene: RuleScene, numbers: ContractedNumbers, k: int) -> str:
    broken = [part for part in scene.summed if not part.scale_leaves_sum]
    if not broken:
        times = count(rescales_per_output(k, scene.a.k, scene.b.k), "time")
        return f"The scales leave the sum. Each element of D is rescaled **{times}** over K = {k:,}."
    whose = ["A"] * any(not part.a_constant for part in broken)
    whose += ["B"] * any(not part.b_constant for part in broken)
    stretches = count(len(scene.summed), "stretch", "stretches")
    return (
        f"The scale of {' and of '.join(whose)} changes inside {len(broken)} of {stretches}. "
        f"Pulled out all the same, it makes D wrong by **{off_text(numbers)}**."
    )


def latex(scene: RuleScene, ink: Ink) -> str:
    m, n, k = (rf"\textcolor{{{ink.of(dim)}}}{{{dim}}}" for dim in "mnk")
    j = rf"\textcolor{{{ink.k}}}{{j}}"
    one_sum, leaves = scene.sums is WHOLE, scene.scale_leaves_sum

    def index(dim: str, extent: Extent) -> list[str]:
        return [] if extent is WHOLE else [dim if extent == 1 else rf"\lfloor {dim}/{extent} \rfloor"]

    def scale(side: str, tile: TileShape, free: str) -> str:
        along = index(k, tile.k)
        indices = [*index(free, tile.mn), *([j] * len(along) if leaves else along)]
        return rf"s^{{{side}}}" + (rf"_{{{','.join(indices)}}}" if indices else "")

    inner = rf"\sum_{{{k}}}" if one_sum else rf"\sum_{{{k} \in {j}}}"
    outer = "" if one_sum else rf"\sum_{{{j}}} "
    codes = rf"a_{{{m},{k}}}\, b_{{{k},{n}}}"
    scales = rf"\underbrace{{{scale('A', scene.a, m)}\, {scale('B', scene.b, n)}}}"
    left = rf"D_{{{m},{n}}} \;=\; {outer}"
    if leaves:
        return (
            rf"{left}{scales}_{{\text{{rescale}}}}\; \underbrace{{{inner} {codes}}}_{{\text{{tensor core}}}}"
        )
    return rf"{left}{inner} {scales}_{{\text{{stuck inside}}}}\; {codes}"


_QUANTIZED = """
**From x to a code**, in fp32, each step rounded as IEEE 754 does:

1. Where a recipe says so, x is first replaced by the values of a saved copy, or rotated in fp32 along K and
   rounded to {rotated}; a last run of K that is too short for the rotation is rounded only. What follows is
   done with these numbers.
2. $amax = \\max |x|$ over the tile, and the $scale$ that follows from it (below).
3. $r = 1 / scale$, then $q = x \\cdot r$.
4. What is beyond $\\pm Q_{{max}}$, the largest value of the format, becomes that value (it saturates).
5. The code of $q$: the nearest value, of a tie the even code. A recipe may round stochastically instead, or
   a tie away from zero.

Stochastic rounding takes {bits} random bits for each element and rounds up where they and the fraction, cut
to {bits} bits, add up to $2^{{{bits}}}$ or more.

NaN or infinity in a tile makes its scale NaN, and its codes NaN too. A format without NaN (E2M1) gets
codes of 0 there: times their scale they are NaN all the same.

**From amax to the scale**
"""


def exact_rules() -> None:
    here().know.markdown(_QUANTIZED.format(bits=RANDOM_BITS, rotated=ROTATED.name))
    here().know.markdown(scale_rules())
    here().know.markdown(f"**Rules that go further, and the recipes that have them**\n\n{recipe_rules()}")
