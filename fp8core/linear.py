"""A linear layer's three matmuls: which stored tensor is which operand, and which axis is contracted.

    Fprop  y[tokens, out]  = x[tokens, in]  · w[out, in]ᵀ        contracts in
    Dgrad  dx[tokens, in]  = dy[tokens, out] · w[out, in]        contracts out
    Wgrad  dw[out, in]     = dy[tokens, out]ᵀ · x[tokens, in]    contracts tokens

In the matmul's own dims this is D[M, N] = A[M, K] · B[K, N], with K always the contracted one.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from fp8core.checks import instance, whole


class Axis(Enum):
    TOKENS = "tokens"
    IN = "in"
    OUT = "out"


class LayerTensor(Enum):
    X = "x"
    W = "w"
    DY = "dy"
    Y = "y"
    DX = "dx"
    DW = "dw"

    @property
    def axes(self) -> tuple[Axis, Axis]:
        return _AXES[self]


_AXES = {
    LayerTensor.X: (Axis.TOKENS, Axis.IN),
    LayerTensor.W: (Axis.OUT, Axis.IN),
    LayerTensor.DY: (Axis.TOKENS, Axis.OUT),
    LayerTensor.Y: (Axis.TOKENS, Axis.OUT),
    LayerTensor.DX: (Axis.TOKENS, Axis.IN),
    LayerTensor.DW: (Axis.OUT, Axis.IN),
}

OPERANDS = (LayerTensor.X, LayerTensor.W, LayerTensor.DY)


class Side(Enum):
    A = "A"
    B = "B"


@dataclass(frozen=True)
class LayerShape:
    """Sizes of the layer's axes, at least 0. Raises ValueError for another size."""

    tokens: int
    in_: int
    out: int

    def __post_init__(self) -> None:
        for name, size in (("tokens", self.tokens), ("in", self.in_), ("out", self.out)):
            whole(f"the layer's size of {name}", size, 0)

    def size(self, axis: Axis) -> int:
        sizes = {Axis.TOKENS: self.tokens, Axis.IN: self.in_, Axis.OUT: self.out}
        return sizes[instance("an axis", axis, Axis)]

    def of(self, tensor: LayerTensor) -> tuple[int, int]:
        rows, columns = instance("a stored tensor", tensor, LayerTensor).axes
        return self.size(rows), self.size(columns)


@dataclass(frozen=True, kw_only=True)
class Matmul:
    """D[M, N] = A[M, K] · B[K, N] of the layer's tensors."""

    name: str
    a: LayerTensor
    b: LayerTensor
    d: LayerTensor

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @cached_property
    def m(self) -> Axis:
        return self.d.axes[0]

    @cached_property
    def n(self) -> Axis:
        return self.d.axes[1]

    @cached_property
    def k(self) -> Axis:
        """Axis that D lacks."""
        return next(axis for axis in Axis if axis not in self.d.axes)

    def operand(self, side: Side) -> LayerTensor:
        return self.a if instance("a side", side, Side) is Side.A else self.b

    def free(self, side: Side) -> Axis:
        """Axis of an operand that is not contracted: M of A, N of B."""
        return self.m if instance("a side", side, Side) is Side.A else self.n

    def side_of(self, tensor: LayerTensor) -> Side | None:
        """Side on which this matmul reads a tensor, or None."""
        return {self.a: Side.A, self.b: Side.B}.get(instance("a stored tensor", tensor, LayerTensor))

    def k_is_rows(self, side: Side) -> bool:
        """Return True if K runs down the operand's stored rows: K is not its contiguous dim."""
        return self.operand(side).axes[0] is self.k

    def is_transposed(self, side: Side) -> bool:
        """Return True if A[M, K] or B[K, N] is the transpose of its stored tensor."""
        return self.k_is_rows(side) if side is Side.A else not self.k_is_rows(side)

    def symbol(self, side: Side) -> str:
        """Operand in the equation, such as ``wᵀ``."""
        return self.operand(side).value + ("ᵀ" if self.is_transposed(side) else "")

    def mnk(self, layer: LayerShape) -> tuple[int, int, int]:
        return layer.size(self.m), layer.size(self.n), layer.size(self.k)

    def layer(self, m: int, n: int, k: int) -> LayerShape:
        """Layer whose matmul of this name has these dims."""
        size = {self.m: m, self.n: n, self.k: k}
        return LayerShape(size[Axis.TOKENS], size[Axis.IN], size[Axis.OUT])


FPROP = Matmul(name="fprop", a=LayerTensor.X, b=LayerTensor.W, d=LayerTensor.Y)
DGRAD = Matmul(name="dgrad", a=LayerTensor.DY, b=LayerTensor.W, d=LayerTensor.DX)
WGRAD = Matmul(name="wgrad", a=LayerTensor.DY, b=LayerTensor.X, d=LayerTensor.DW)

MATMULS: dict[str, Matmul] = {matmul.name: matmul for matmul in (FPROP, DGRAD, WGRAD)}
