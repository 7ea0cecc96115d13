"""Operations of a decoder's matmuls for each token of a training sequence, by the part that does them."""

from pages.kit.sourced import Model, Part, sourced


def operations(model: Model, context: int) -> dict[str, float]:
    """Operations a token, forward; the backward pass does twice as many of each.

    Attention is causal: the mean token sees half of the context, itself included.
    """
    seen = (context + 1) / 2
    return {
        "projections": 2.0 * model.layers * model.projections,
        "attention": 4.0 * model.layers * model.heads * model.head_dim * seen,
        "ffn": 2.0 * model.layers * model.ffns,
        "head": 2.0 * model.vocabulary * model.width,
    }


def shares(model: Model, context: int) -> dict[str, float]:
    """The share of each part in all operations of matmuls."""
    found = operations(model, context)
    every = sum(found.values())
    return {part: amount / every for part, amount in found.items()}


def quantized_share(model: Model, context: int) -> float:
    """The share of the operations that are done in fp8."""
    found = shares(model, context)
    return sum(found[part.work] for part in quantized())


def quantized() -> list[Part]:
    """The parts whose matmuls are in fp8."""
    return [part for part in sourced().parts if part.format == "fp8"]
