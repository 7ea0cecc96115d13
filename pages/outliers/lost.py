"""Errors of small channels, which total SQNR hides, and the parts of the error."""

import math

import numpy as np
import streamlit as st

from fp8core.experiments.operand_error import Lines
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.recipe_marks import Mark, mark_of
from pages.kit.charts.words import bits_words, count, short
from pages.kit.controls import Controls
from pages.kit.tables import EMPTY, markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.outliers.charts.spread import Spread, spread_chart
from pages.outliers.controls import LINES
from pages.outliers.data import FACTOR, ErrorMap, operand_of_key
from pages.outliers.subject import Subject, db, draw_bf16, error_maps, percent

NOUN = {"channels": "channel", "tokens": "token"}


def show_lines(controls: Controls) -> None:
    along = controls.draw(LINES, here().control)
    if (answer := error_maps(controls)) is None:
        return
    subject, parts = answer
    lines = {key: getattr(part.error, along) for key, part in parts.items()}
    titles, noun = subject.titles, NOUN[along]
    spreads = {key: spread(titles[key], mark_of(key), part, lines[key]) for key, part in parts.items()}
    draw_notice(worst_line(spreads, noun))
    draw_chart(
        spread_chart(list(spreads.values()), noun, room(), page_ink()),
        key="outliers_lines",
        alt="; ".join(
            f"{one.name}: median {percent(one.median)}, worst {percent(one.worst)}, "
            f"total {percent(one.total)}"
            for one in spreads.values()
        ),
    )
    rows = [
        (
            one.name,
            db(parts[key].error.sqnr_db),
            percent(one.median),
            percent(one.worst),
            EMPTY if one.outliers is None else percent(one.outliers),
            bits_words(operand_of_key(key, subject.role), subject.source.shape),
        )
        for key, one in spreads.items()
    ]
    lines_heads = (f"median {noun}", f"worst {noun}", "outliers, median")
    st.markdown(markdown_table(("recipe", "total SQNR", *lines_heads, "bits per element"), rows))
    draw_bf16([title for key, title in titles.items() if key not in parts])
    here().know.markdown(
        f"{_energy(next(iter(lines.values())), noun)} The error of a {noun} is ‖e‖ / ‖x‖ over its own "
        f"elements. A {noun} is an outlier where its rms is more than {FACTOR:g} times the median one; the "
        f"bar, the median and the worst are of all others. In total SQNR a {noun} counts by the square of "
        f"its size. The matmul multiplies a small {noun} by weights of its own, and reads from it what no "
        "large one says."
    )


def spread(title: str, mark: Mark, part: ErrorMap, lines: Lines) -> Spread:
    large, errors = lines.outliers(FACTOR), lines.rel_err
    small = errors[~large & (lines.energy > 0)]
    least, low, median, high, worst = map(float, np.percentile(small, (0, 5, 50, 95, 100)))
    return Spread(
        name=title,
        mark=mark,
        least=least,
        low=low,
        median=median,
        high=high,
        worst=worst,
        total=math.sqrt(part.error.total),
        outliers=float(np.median(errors[large])) if large.any() else None,
    )


def worst_line(spreads: dict[str, Spread], noun: str) -> str:
    one = max(spreads.values(), key=lambda one: one.worst / max(one.total, 1e-12))
    if not one.worst:
        return "Every number is a value of every chosen recipe: **the error is 0.**"
    return (
        f"Under {one.name} the error is {percent(one.total)} in all, "
        f"but **{percent(one.worst)}** in the worst normal {noun}."
    )


def outlier_energy(lines: Lines) -> float:
    return float(lines.energy[lines.outliers(FACTOR)].sum() / lines.energy.sum())


def _energy(lines: Lines, noun: str) -> str:
    large = lines.outliers(FACTOR)
    if not large.any():
        return f"No {noun} is an outlier here."
    return (
        f"{count(int(large.sum()), noun)} of {large.size:,} hold {percent(outlier_energy(lines), 3)} of ‖x‖²."
    )


LOST_BEFORE, CROSS_BEFORE = "lost before quantizing", "cross term with it"
PARTS = {"saturation": "saturated", "deadzone": "became 0", "grid": "rounded"}
RULES = (
    "With e = what is read − x, and shares of ‖x‖²:\n\n- **By element**, disjoint: *saturation* where x / "
    "scale rounds beyond the largest value of the format; *deadzone* where x is not zero but its code is; "
    "*grid noise* is all the rest. Where an operand is made of a saved copy, or rotated and rounded to bf16, "
    "what was lost before is a part of its own, with a cross term, because both happen in one element.\n- "
    "**By scale**: the ideal scale of a tile is amax over the format's largest value, not rounded. *Scale "
    "bias* is ‖read − ideal‖², ideal being x rounded alike, with the same random bits, under ideal scales. "
    "The two parts are no right-angled triangle: twice their inner product is the cross term. Below zero it "
    "says that the two errors cancel.\n- **By length**: α = ⟨x, read⟩ / ⟨x, x⟩. Below 1 the tensor was "
    "shortened, which biases every product with it. (1 − α)² is that part; the rest stands at a right angle "
    "to x, so there is no cross term."
)


def show_parts(controls: Controls) -> None:
    if (answer := error_maps(controls)) is None:
        return
    subject, parts = answer
    key = max(parts, key=lambda key: shares(parts[key])["deadzone"])
    draw_notice(
        f"Under {subject.titles[key]} **{percent(parts[key].error.logged.underflows / 100)} of the elements "
        f"become 0.** That is {percent(shares(parts[key])['deadzone'])} of its error."
    )
    ink = page_ink()
    colors = ink.scale, ink.lost, ink.mid
    lines = [
        Bar(
            name=subject.titles[key],
            pieces={PARTS[name]: 100 * share for name, share in shares(part).items()},
            label=f"zeros are {percent(shares(part)['deadzone'])} of its error",
        )
        for key, part in parts.items()
    ]
    draw_chart(
        bars(lines, dict.fromkeys(PARTS.values(), ""), "% of the recipe's own ‖e‖²", room(), ink, colors),
        key="outliers_parts",
        alt="; ".join(
            f"{subject.titles[key]}: {', '.join(f'{name} {percent(s)}' for name, s in shares(part).items())}"
            for key, part in parts.items()
        ),
    )
    st.markdown("**Under the names of a training log**")
    st.markdown(_log(subject, parts))
    st.caption(
        "Names as Transformer Engine logs them (LogFp8TensorStats). underflows%: codes that are zero. "
        "overflows%: |x| above Qmax · scale. mse: the mean of e². scale_inv: the factor of a code, "
        "all levels of scales together."
    )
    st.markdown("**The parts in numbers**, in millionths of ‖x‖². Each of the three splits adds up to ‖e‖².")
    st.markdown(_split_table(subject, parts))
    draw_bf16([title for key, title in subject.titles.items() if key not in parts])
    here().know.markdown(RULES)


def shares(part: ErrorMap) -> dict[str, float]:
    parts = part.error.parts
    return {name: getattr(parts, name) / (parts.total or 1.0) for name in PARTS}


def _log(subject: Subject, parts: dict[str, ErrorMap]) -> str:
    names = ("underflows", "overflows", "mse", "scale_inv_min", "scale_inv_max")
    rows = [
        (
            subject.titles[key],
            *(short(getattr(part.error.logged, name), 3) for name in names),
            db(part.error.sqnr_db),
            bits_words(operand_of_key(key, subject.role), subject.source.shape),
        )
        for key, part in parts.items()
    ]
    return markdown_table(("recipe", "underflows%", "overflows%", *names[2:], "SQNR", "bits"), rows)


def _split_table(subject: Subject, parts: dict[str, ErrorMap]) -> str:
    """A row a part, a column a recipe; a loss before quantizing only if some recipe has one."""
    columns = [_splits(part) for part in parts.values()]
    early = (f"· {LOST_BEFORE}", f"· {CROSS_BEFORE}")
    rows = [
        (name, *(column[name] for column in columns))
        for name in columns[0]
        if name not in early or any(column[name] != "0.0" for column in columns)
    ]
    return markdown_table(("", *(subject.titles[key] for key in parts)), rows)


def _splits(part: ErrorMap) -> dict[str, str]:
    error = part.error
    splits = {
        "‖e‖² by element": {
            "saturation": error.parts.saturation,
            "deadzone (became zero)": error.parts.deadzone,
            "grid noise": error.parts.grid,
            LOST_BEFORE: error.before.second,
            CROSS_BEFORE: error.before.cross,
        },
        "‖e‖² by scale": {
            "scale bias": error.bias.first,
            "error under the ideal scale": error.bias.second,
            "cross term of the two": error.bias.cross,
        },
        "‖e‖² by length": {"shrinkage, (1 − α)²": error.shrunk, "what no factor mends": error.beside},
    }
    lines = {}
    for head, split in splits.items():
        lines[f"**{head}**"] = f"**{millionths(error.total)}**"
        lines |= {f"· {name}": millionths(value) for name, value in split.items()}
    return lines | {"α": f"{error.alpha:.4f}"}


def millionths(share: float) -> str:
    """A share in millionths, such as ``1,234.5``; zero has no sign."""
    return f"{round(1e6 * share, 1) + 0.0:,.1f}".replace("-", "−")
