"""Question "What is lost": the exact parts of the error, and its figures under the names of a log."""

import math
from collections.abc import Mapping

import streamlit as st

from pages.kit.chart import draw_chart, room
from pages.kit.charts.bars import Part, stacked
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.outliers.data import Measured, operand_of_key
from pages.outliers.subject import Subject, price, quantized
from pages.outliers.words import BF16, db, listed, percent, table

SHORT = {"saturation": "saturated", "deadzone": "became 0", "grid": "rounded"}
PARTS = {"saturation": "saturation", "deadzone": "deadzone (became zero)", "grid": "grid noise"}
MILLIONTHS, DECIMALS = 1e6, 1


def show(controls: Controls) -> None:
    """Draw the parts of each recipe's error, then the tables."""
    if (shown := quantized(controls)) is None:
        return
    subject, every = shown
    parts = {key: part for key, part in every.items() if part is not None}
    draw_notice(notice(subject, parts))
    draw_chart(
        stacked(bars(subject, parts, INKS[theme()]), "share of the recipe's own ‖e‖²", room(), INKS[theme()]),
        key="outliers_parts",
        is_rigid=True,
        alt="; ".join(
            f"{subject.titles[key]}: "
            + ", ".join(f"{name} {percent(share)}" for name, share in shares(p).items())
            for key, p in parts.items()
        ),
    )
    st.markdown("**Under the names of a training log**")
    st.markdown(log(subject, parts))
    st.caption(
        "Names as Transformer Engine logs them (LogFp8TensorStats). underflows%: codes that are zero. "
        "overflows%: |x| above Qmax · scale. mse: the mean of e². scale_inv: the factor of a code, "
        "all levels of scales together."
    )
    st.markdown("**The parts in numbers**, in millionths of ‖x‖². Each of the three splits adds up to ‖e‖².")
    st.markdown(split_table(subject, parts))
    if bf16 := [title for key, title in subject.titles.items() if key not in parts]:
        st.markdown(f"{listed(bf16)} {BF16}.")
    here().know.markdown(RULES)


def shares(part: Measured) -> dict[str, float]:
    """What quantizing adds, by element: shares of its own error."""
    parts = part.error.parts
    total = parts.total or 1.0
    return {name: getattr(parts, name) / total for name in PARTS}


def bars(subject: Subject, parts: dict[str, Measured], ink: Ink) -> list[Part]:
    """The parts of each recipe, one behind the other."""
    colors = {"saturation": ink.scale, "deadzone": ink.lost, "grid": ink.mid}
    pieces = []
    for key, part in parts.items():
        start = 0.0
        for name, share in shares(part).items():
            bar = {"group": subject.titles[key], "series": SHORT[name], "color": colors[name]}
            words = f"{percent(shares(part)['deadzone'])} became 0" if name == "grid" else ""
            pieces.append(Part(**bar, share=share, start=start, words=words))
            start += share
    return pieces


def notice(subject: Subject, parts: dict[str, Measured]) -> str:
    """The recipe that loses most by becoming zero."""
    key = max(parts, key=lambda key: shares(parts[key])["deadzone"])
    dead = parts[key].error.logged.underflows / 100
    return (
        f"Under {subject.titles[key]} **{percent(dead)} of the elements become 0.** "
        f"That is {percent(shares(parts[key])['deadzone'])} of its error."
    )


def log(subject: Subject, parts: dict[str, Measured]) -> str:
    """The table under the log's names."""
    heads = ("recipe", "underflows%", "overflows%", "mse", "scale_inv_min", "scale_inv_max", "SQNR", "bits")
    rows = []
    for key, part in parts.items():
        logged = part.error.logged
        values = (
            *(logged.underflows, logged.overflows, logged.mse),
            *(logged.scale_inv_min, logged.scale_inv_max),
        )
        bits = price(operand_of_key(key, subject.role), subject.source.shape)
        figures = (short(value, 3) for value in values)
        rows.append((subject.titles[key], *figures, db(part.error.sqnr_db), bits))
    return table(heads, rows)


def split_table(subject: Subject, parts: dict[str, Measured]) -> str:
    """One row a part, a column a recipe; the parts of each split add up to the digit that is shown."""
    columns = {key: splits(part) for key, part in parts.items()}
    first = next(iter(columns.values()))
    lines = [
        name for name in first if any(column[name][1] or not column[name][2] for column in columns.values())
    ]
    rows = [(name, *(column[name][0] for column in columns.values())) for name in lines]
    return table(("", *(subject.titles[key] for key in parts)), rows)


def splits(part: Measured) -> dict[str, tuple[str, bool, bool]]:
    """Every line of the table: its text, whether it is not zero, and whether it may be left out."""
    error = part.error
    by_element = {PARTS[name]: getattr(error.parts, name) for name in PARTS}
    early = {"lost before quantizing": error.before.second, "cross term with it": error.before.cross}
    by_scale = {
        "scale bias": error.bias.first,
        "error under the ideal scale": error.bias.second,
        "cross term of the two": error.bias.cross,
    }
    shrunk = {"shrinkage, (1 − α)²": error.shrunk, "what no factor mends": error.beside}
    lines: dict[str, tuple[str, bool, bool]] = {}
    for head, split in (
        ("‖e‖² by element", by_element | early),
        ("‖e‖² by scale", by_scale),
        ("‖e‖² by length", shrunk),
    ):
        scaled = {name: MILLIONTHS * value for name, value in split.items()}
        texts = adding_up(scaled, MILLIONTHS * error.total, DECIMALS)
        lines[f"**{head}**"] = (f"**{texts['']}**", True, False)
        for name, value in split.items():
            lines[f"· {name}"] = (texts[name], value != 0, name in early)
    lines["α"] = (f"{error.alpha:.4f}", True, False)
    return lines


def adding_up(parts: Mapping[str, float], total: float, decimals: int) -> dict[str, str]:
    """Parts rounded so that what is printed adds up to the printed total, `total` rounded.

    Each is rounded down, and the largest remainders are rounded up: none is off by a whole digit.
    """
    unit = 10.0**-decimals
    wanted = round(total / unit)
    floors = {name: math.floor(value / unit) for name, value in parts.items()}
    missing = wanted - sum(floors.values())
    by_rest = sorted(parts, key=lambda name: floors[name] - parts[name] / unit)
    for name in by_rest[: max(missing, 0)]:
        floors[name] += 1
    texts = {name: _fixed(count * unit, decimals) for name, count in floors.items()}
    return texts | {"": _fixed(wanted * unit, decimals)}


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return (text.lstrip("-") if not text.strip("-0.,") else text).replace("-", "−")


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
    "to x, so there is no cross term.\n\nFigures are rounded so that those printed add up: the largest "
    "remainders go up."
)
