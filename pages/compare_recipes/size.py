"""Section "Tile size": the gain and the price of smaller tiles."""

from collections.abc import Mapping

from fp8core.experiments.error_curves import BAND_K, BAND_LINES, DRAWS
from fp8core.inputs import INPUT_NOTES, InputKind
from pages.compare_recipes.charts.curves import CURVES, LINE, SizeCurve, curve_name, size_curve, small_error
from pages.compare_recipes.charts.size import size_chart
from pages.compare_recipes.facts import FORMAT, INPUT
from pages.kit.charts.words import percent_text, short
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.view import draw_chart, draw_notice, here, page_ink, stage

KEY = "differences_size"


def show(controls: Controls) -> None:
    view = here()
    settings = controls.draw(FORMAT, view.control), controls.draw(INPUT), controls.draw(SEED)
    calls = [Call(size_curve, (rule, tile, *settings)) for rule, tile in CURVES]
    place = stage().container()
    chart = place.container()
    with place:
        result = computed(KEY, settings, calls, label="Quantizing five draws in every tile")
    if result is None:
        return
    format_name, kind, _ = result.arguments
    curves = {curve_name(*one): part for one, part in zip(CURVES, result.parts, strict=True)}
    draw_notice(notice(curves))
    rule = INPUT_NOTES[InputKind(kind)].rule
    draw_chart(
        size_chart(curves, page_ink()),
        place=chart,
        key=KEY,
        is_fitted=True,
        alt=f"{format_name}: SQNR, the error of the smaller half and the bits over k; {'; '.join(curves)}",
    )
    view.know.markdown(
        f"{DRAWS} draws a point of {BAND_LINES} lines of {BAND_K} numbers: {rule}. "
        "The line is the mean, and a bar reaches from the worst draw to the best. Dashed lines are square "
        "tiles: a token beside a large one shares its scale. The smaller half are the numbers below the "
        "median of all |x|. An error of 100% means that they are lost."
    )
    view.know.markdown(why(curves))


def notice(curves: Mapping[str, SizeCurve]) -> str:
    curve = curves[curve_name("fp32", LINE)]
    first, last = curve.small[0], curve.small[-1]
    best, worst = (percent_text(small_error(draws)[0]) for draws in (first, last))
    return (
        f"Tiles of {first.at:.0f} instead of {last.at:.0f} take the error of the smaller half from {worst} "
        f"to **{best}**, for {short(first.bits - last.bits, 2)} more bits per element."
    )


def why(curves: Mapping[str, SizeCurve]) -> str:
    curve = curves[curve_name("fp32", LINE)]
    best, worst = (small_error(draws)[0] for draws in (curve.small[0], curve.small[-1]))
    if worst < 1.25 * best:
        return "A float's relative error hardly depends on its scale until something leaves its range."
    cheap = curves[curve_name("e8m0_round_up", LINE)].small[0]
    return (
        f"With scales that are powers of two, the error ends at {percent_text(small_error(cheap)[0])}, for "
        f"{short(cheap.bits - curve.small[-1].bits, 3)} bits more."
    )
