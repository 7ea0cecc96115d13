"""A recipe as data: a spec for each of a layer's three matmuls, and its source."""

from dataclasses import dataclass
from enum import Enum

from fp8core.checks import instance
from fp8core.linear import MATMULS, LayerTensor, Matmul, Side
from fp8core.recipes.operand import Copy, Operand, same_copy
from fp8core.recipes.spec import MatmulSpec
from fp8core.tiles import TileGrid


class Family(Enum):
    PER_TENSOR = "per tensor"
    PER_ROW = "per row"
    BLOCKS = "blocks"
    MX = "MX"
    TWO_LEVEL = "two levels"
    OWN = "yours"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A way to train a linear layer: a spec for each matmul, and its source.

    `remark`: facts beyond the specs, such as layers that stay in bf16. Raises ValueError for a matmul that is
    no MatmulSpec.
    """

    name: str
    title: str
    family: Family
    source: str
    fprop: MatmulSpec
    dgrad: MatmulSpec
    wgrad: MatmulSpec
    remark: str = ""

    def __post_init__(self) -> None:
        instance("a recipe's family", self.family, Family)
        for matmul in MATMULS.values():
            instance(matmul.name, self.spec(matmul), MatmulSpec)

    def spec(self, matmul: Matmul) -> MatmulSpec:
        """Spec of a matmul. Raises ValueError for another one."""
        instance("a matmul", matmul, Matmul)
        if matmul.name not in MATMULS:
            raise ValueError(f"a recipe has a spec for {', '.join(MATMULS)}, got {matmul.name!r}")
        return {"fprop": self.fprop, "dgrad": self.dgrad, "wgrad": self.wgrad}[matmul.name]

    def operand(self, matmul: Matmul, side: Side) -> Operand | None:
        """Operand on its stored tensor; None if it stays bf16."""
        spec = self.spec(matmul).operand(side)
        return spec and Operand(spec=spec, k_is_rows=matmul.k_is_rows(side))

    def operands(self, matmul: Matmul) -> tuple[Operand | None, Operand | None]:
        return self.operand(matmul, Side.A), self.operand(matmul, Side.B)

    def grid(self, matmul: Matmul, side: Side, shape: tuple[int, int]) -> TileGrid | None:
        """Tiles of an operand on its stored tensor; None if it stays bf16."""
        operand = self.operand(matmul, side)
        return operand and operand.grid(shape)

    def quantized_copies(self, tensor: LayerTensor) -> tuple[Copy, ...]:
        """Distinct quantized copies of a stored tensor in one training step.

        A result needs none, and a reader in bf16 reads the tensor itself.
        """
        readers: dict[object, list[tuple[Matmul, Side]]] = {}
        for matmul in MATMULS.values():
            side = matmul.side_of(tensor)
            operand = side and self.operand(matmul, side)
            if operand is not None:
                readers.setdefault(same_copy(operand), []).append((matmul, side))
        return tuple(
            Copy(tensor=tensor, operand=self.operand(*who[0]), readers=tuple(who)) for who in readers.values()
        )

    def copies(self, tensor: LayerTensor) -> int:
        """Number of quantizations of a tensor in a step: 1 if all readers share codes and scales.

        It counts values: Hopper's layout may need the same codes twice (`Copy.k_major`).
        """
        return len(self.quantized_copies(tensor))
