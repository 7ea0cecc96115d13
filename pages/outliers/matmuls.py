"""Section "Three matmuls": the errors of y, dx and dw."""

from collections.abc import Mapping
from typing import TypeAlias

import streamlit as st

from fp8core.experiments.layer_error import ResultError
from fp8core.linear import MATMULS, Side
from fp8core.recipes.keys import recipe_of_key
from pages.kit.charts.bars import Part, grouped
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.words import bits_words
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.outliers.data import layer, layer_shape, tensor_of
from pages.outliers.subject import Subject, percent, subject_of

STAYS_BF16 = "stays bf16"
# One recipe's errors by the matmul's name; None for a matmul in bf16.
Results: TypeAlias = Mapping[str, ResultError | None]


def show(controls: Controls) -> None:
    request = subject_of(controls, here().control)
    calls = [Call(layer, (key, request.role, request.source)) for key in request.keys]
    answer = computed("outliers_matmuls", request, calls, label="Multiplying")
    if answer is None:
        return
    subject = answer.arguments
    results = {
        subject.titles[key]: results_of(key, part)
        for key, part in zip(subject.keys, answer.parts, strict=True)
    }
    colors = {title: mark_of(key).color for key, title in subject.titles.items()}
    draw_notice(notice(results))
    draw_chart(
        grouped(bars(results, colors), "error of the result, ‖D − exact‖ / ‖exact‖", room(), page_ink()),
        key="outliers_matmuls",
        alt="; ".join(
            f"{name}: " + ", ".join(f"{MATMULS[m].d.value} {error_text(e)}" for m, e in part.items())
            for name, part in results.items()
        ),
    )
    st.markdown(figures(subject, results))
    for key, title in subject.titles.items():
        if remark := recipe_of_key(key).remark:
            st.markdown(f"**{title}**: {remark}")
    shape = layer_shape(tensor_of(subject.role), subject.source.shape)
    here().know.caption(
        f"A layer of {shape.tokens:,} tokens, {shape.in_:,} in, {shape.out:,} out. The chosen numbers are "
        f"{tensor_of(subject.role).value}; the other tensors are drawn as they belong to them. Exact results "
        "are those of the bf16 tensors in float64. Quantized operands are multiplied and added in float64, "
        "too, so this is the error of the operands alone; “Accumulation” has that of adding."
    )


def results_of(key: str, part: Mapping[str, ResultError]) -> Results:
    recipe = recipe_of_key(key)
    return {name: part[name] if recipe.spec(matmul).quantized else None for name, matmul in MATMULS.items()}


def error_text(error: ResultError | None) -> str:
    return STAYS_BF16 if error is None else percent(error.rel_err)


def bars(results: Mapping[str, Results], colors: Mapping[str, str]) -> list[Part]:
    return [
        Part(
            group=f"{matmul.d.value}, {matmul.title}",
            series=title,
            share=0.0 if (error := part[name]) is None else error.rel_err,
            color=colors[title],
            words=f"{error_text(error)} {title}",
        )
        for name, matmul in MATMULS.items()
        for title, part in results.items()
    ]


def notice(results: Mapping[str, Results]) -> str:
    errors = {
        (title, name): error.rel_err
        for title, part in results.items()
        for name, error in part.items()
        if error is not None
    }
    if not errors:
        return "**0 matmuls** are quantized here."
    title, name = worst = max(errors, key=errors.__getitem__)
    best = min((one for one in errors if one[1] == name), key=errors.__getitem__)
    most = f"{MATMULS[name].d.value} has **an error of {percent(errors[worst])}** under {title}."
    return most if best == worst else f"{most} The least is {percent(errors[best])}, under {best[0]}."


def figures(subject: Subject, results: Mapping[str, Results]) -> str:
    heads = ("recipe", *(f"{m.d.value}: error, cosine" for m in MATMULS.values()), "bits: A, B of each")
    rows = [
        (
            title,
            *(
                STAYS_BF16 if error is None else f"{percent(error.rel_err)}, {error.cosine:.6f}"
                for error in results[title].values()
            ),
            _prices(key, subject),
        )
        for key, title in subject.titles.items()
    ]
    return markdown_table(heads, rows)


def _prices(key: str, subject: Subject) -> str:
    """Bits per element of both operands, equal pairs once."""
    recipe, shape = recipe_of_key(key), layer_shape(tensor_of(subject.role), subject.source.shape)
    pairs = (
        " + ".join(bits_words(recipe.operand(matmul, side), shape.of(matmul.operand(side))) for side in Side)
        for matmul in MATMULS.values()
    )
    return "; ".join(dict.fromkeys(pairs))
