"""Section "Three matmuls": what reaches y, dx and dw?"""

from collections.abc import Mapping
from typing import TypeAlias

import streamlit as st

from fp8core.experiments.layer_error import ResultError
from fp8core.linear import MATMULS, Side
from fp8core.recipes.keys import recipe_of_key
from pages.kit.chart import draw_chart, room
from pages.kit.charts.bars import Part, grouped
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.outliers.data import layer, layer_shape, tensor_of
from pages.outliers.subject import Subject, price, subject_of
from pages.outliers.words import listed, percent, table

STAYS_BF16 = "stays bf16"
Results: TypeAlias = Mapping[str, ResultError | None]
"""The errors of one recipe by the matmul's name; None for a matmul that it does not quantize."""


def show(controls: Controls) -> None:
    """Draw the error of each result under each recipe."""
    wanted = subject_of(controls, here().control)
    calls = [Call(layer, (key, wanted.role, wanted.source)) for key in wanted.keys]
    shown = computed("outliers_matmuls", wanted, calls, doing="Multiplying")
    if shown is None:
        return
    subject = shown.asked
    by_key = {key: quantized(key, part) for key, part in zip(subject.keys, shown.parts, strict=True)}
    results = {subject.titles[key]: part for key, part in by_key.items()}
    draw_notice(notice(results))
    draw_chart(
        grouped(
            bars(results, {subject.titles[key]: mark_of(key).color for key in by_key}),
            "error of the result, ‖D − exact‖ / ‖exact‖",
            room(),
            INKS[theme()],
        ),
        key="outliers_matmuls",
        is_rigid=True,
        alt="; ".join(
            f"{name}: " + ", ".join(f"{MATMULS[m].d.value} {error_text(e)}" for m, e in part.items())
            for name, part in results.items()
        ),
    )
    st.markdown(figures(subject, results))
    shape = layer_shape(tensor_of(subject.role), subject.source.shape)
    here().know.caption(
        f"A layer of {shape.tokens:,} tokens, {shape.in_:,} in, {shape.out:,} out. The chosen numbers are "
        f"{tensor_of(subject.role).value}; the other tensors are drawn as they belong to them. Exact results "
        "are those of the bf16 tensors in float64. Quantized operands are multiplied and added in float64, "
        "too, so this is the error of the operands alone; “Accumulation” has that of adding."
    )


def quantized(key: str, part: Mapping[str, ResultError]) -> Results:
    """The errors of a recipe in the matmuls that it quantizes."""
    recipe = recipe_of_key(key)
    return {name: part[name] if recipe.spec(matmul).quantized else None for name, matmul in MATMULS.items()}


def error_text(error: ResultError | None) -> str:
    """The error of a result, such as ``2.6%``; words where its matmul is not quantized."""
    return STAYS_BF16 if error is None else percent(error.rel_err)


def bars(results: Mapping[str, Results], colors: Mapping[str, str]) -> list[Part]:
    """A group a result, a bar a recipe."""
    return [
        Part(
            group=f"{matmul.d.value}, {matmul.title}",
            series=title,
            share=0.0 if error is None else error.rel_err,
            color=colors[title],
            words=f"{error_text(error)} {title}",
        )
        for name, matmul in MATMULS.items()
        for title, error in ((title, part[name]) for title, part in results.items())
    ]


def notice(results: Mapping[str, Results]) -> str:
    """The largest error of all results, and the least of the same result."""
    pairs = ((title, *pair) for title, part in results.items() for pair in part.items())
    errors = {(title, name): error for title, name, error in pairs if error}
    if not errors:
        return "**0 matmuls** are quantized here."
    title, name = max(errors, key=lambda at: errors[at].rel_err)
    worst = (
        f"{MATMULS[name].d.value} has **an error of {percent(errors[title, name].rel_err)}** under {title}."
    )
    best = min((at for at in errors if at[1] == name), key=lambda at: errors[at].rel_err)
    if best[0] == title:
        return worst
    return f"{worst} The least is {percent(errors[best].rel_err)}, under {best[0]}."


def cosine(error: ResultError) -> str:
    """A cosine with as many nines as there are, and two digits more."""
    if error.off_cosine == 0:
        return "1"
    off = error.off_cosine
    digits = 2
    while off < 1 and digits < 9:
        off *= 10
        digits += 1
    return f"{error.cosine:.{digits}f}"


def figures(subject: Subject, results: Mapping[str, Results]) -> str:
    """Error and cosine of each result, and the price of each operand."""
    heads = ("recipe", *(f"{m.d.value}: error, cosine" for m in MATMULS.values()), "bits: A, B of each")
    rows = []
    for key, title in subject.titles.items():
        part = results[title]
        cells = (
            STAYS_BF16 if error is None else f"{percent(error.rel_err)}, {cosine(error)}"
            for error in (part[name] for name in MATMULS)
        )
        rows.append((title, *cells, prices(key, subject)))
    remarks = [
        f"{listed([subject.titles[key]])}: {recipe_of_key(key).remark}"
        for key in subject.keys
        if recipe_of_key(key).remark
    ]
    return table(heads, rows) + ("\n\n" + " ".join(remarks) if remarks else "")


def prices(key: str, subject: Subject) -> str:
    """Bits an element of both operands of each matmul."""
    shape = layer_shape(tensor_of(subject.role), subject.source.shape)
    pairs = []
    for matmul in MATMULS.values():
        pair = [
            price(recipe_of_key(key).operand(matmul, side), shape.of(matmul.operand(side))) for side in Side
        ]
        pairs.append(" + ".join(pair))
    return "; ".join(dict.fromkeys(pairs))
