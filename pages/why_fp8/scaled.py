"""Section "What is scaled": a transformer's parts by format, and the share of the work in fp8."""

from pages.kit.controls import Controls
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.why_fp8.charts.rows import block
from pages.why_fp8.controls import CONTEXT, MODEL, context_of, model_of
from pages.why_fp8.sourced import Model, draw_sources, links, sourced

IDEA = (
    "In training, FP8 is for the **inputs of matmuls with a weight**. Their rounding errors have both signs "
    "and grow no faster than the sum, so thousands of products are about as exact as a few. A scale comes "
    "out of the sum for free: it is one factor. A softmax, a norm or an update of a weight is no matmul. All "
    "that lies between two matmuls stays bf16 or fp32, and is **quantized again** before the next one."
)


def show(controls: Controls) -> None:
    know = here().know
    controls.draw(CONTEXT, here().control)
    controls.draw(MODEL)
    settings = controls.values()
    model, context = model_of(settings), context_of(settings)
    work = shares(model, context)
    boxes = [
        {"title": part.title, "format": part.format, "share": work.get(part.work), "why": part.why}
        for part in sourced().parts
    ]
    draw_notice(
        f"With {context:,} tokens, **{quantized_share(model, context):.0%} of the matmuls' work** is in fp8. "
        "Attention grows with the context and stays bf16."
    )
    draw_chart(
        block(boxes, room(), page_ink()),
        key="why_scaled",
        alt="Parts of a transformer from top to bottom: "
        + "; ".join(
            f"{part.title} {part.format}" + (f" {work[part.work]:.1%} of the work" if part.work else "")
            for part in sourced().parts
        ),
    )
    know.markdown(IDEA)
    know.markdown("\n".join(f"- **{part.title}**, {part.format}: {part.why}" for part in sourced().parts))
    know.markdown(
        f"Work: operations of the matmuls per token of a training sequence of {model.title}, attention "
        f"causal. A doubled rate for {quantized_share(model, context):.0%} of it makes all matmuls together "
        f"at most {matmul_gain(model, context):.2f} times as fast. The choice of parts follows the first "
        "source. Other runs keep some blocks in bf16 too."
    )
    draw_sources(links([*sourced().parts, model]), know)


def operations(model: Model, context: int) -> dict[str, float]:
    """Operations per token, forward. The mean token of causal attention sees half the context."""
    return {
        "projections": 2.0 * model.layers * model.projections,
        "attention": 4.0 * model.layers * model.heads * model.head_dim * (context + 1) / 2,
        "ffn": 2.0 * model.layers * model.ffns,
        "head": 2.0 * model.vocabulary * model.width,
    }


def shares(model: Model, context: int) -> dict[str, float]:
    every = operations(model, context)
    return {part: amount / sum(every.values()) for part, amount in every.items()}


def quantized_share(model: Model, context: int) -> float:
    work = shares(model, context)
    return sum(work[part.work] for part in sourced().parts if part.format == "fp8")


def matmul_gain(model: Model, context: int) -> float:
    return 1 / (1 - quantized_share(model, context) / 2)
