"""The shapes to benchmark, to tune for and to compare. Pure data."""

from dataclasses import replace

from fp8core.linear import LayerShape

MNK = tuple[int, int, int]

LAYER = LayerShape(tokens=4096, in_=4096, out=14336)
"""A linear layer: its Fprop, Dgrad and Wgrad have M, N and K of their own."""
CUBE: MNK = (4096, 4096, 4096)
"""What is multiplied where nothing else is asked for."""
CHECKED: MNK = (4096, 4096, 7168)
"""What a sanity check times, one of those that are recorded."""
STANDARD: tuple[MNK | LayerShape, ...] = (
    CHECKED,
    (8192, 8192, 8192),
    (4096, 7168, 4096),
    LAYER,
)
SKINNY = tuple(replace(LAYER, tokens=16 << doubling) for doubling in range(5))
"""The same layer at few tokens, as in decoding and in fine-grained experts."""


def shape_text(shape: MNK | LayerShape) -> str:
    """A shape in words: 8192³, 4096 × 4096 × 7168, or a layer's tokens and features."""
    if isinstance(shape, LayerShape):
        return f"{shape.tokens} tokens, {shape.in_} → {shape.out}"
    return f"{shape[0]}³" if len(set(shape)) == 1 else " × ".join(map(str, shape))
