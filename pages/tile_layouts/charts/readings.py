"""The six readings of a training step: which matmul reads which copy of x, w and dy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fp8core.linear import MATMULS, LayerTensor, Matmul, Side
from pages.tile_layouts.charts.scene import CopyScene


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One matmul's reading of a tensor: its copy, or None for bf16. `repeated`: codes that another matmul
    reads as well, held once more in the other layout.
    """

    tensor: LayerTensor
    matmul: Matmul
    side: Side
    scene: CopyScene | None
    repeated: bool

    @property
    def k_is_rows(self) -> bool:
        return self.matmul.k_is_rows(self.side)


def readings(scenes: Mapping[LayerTensor, Sequence[CopyScene]]) -> list[Reading]:
    """The six readings of x, w and dy by the three matmuls, in their order."""
    cells, seen = [], set()
    for matmul in MATMULS.values():
        for side in Side:
            tensor, reader = matmul.operand(side), (matmul, side)
            scene = next((one for one in scenes[tensor] if reader in one.copy.readers), None)
            cells.append(
                Reading(
                    tensor=tensor,
                    matmul=matmul,
                    side=side,
                    scene=scene,
                    repeated=scene is not None and id(scene) in seen,
                )
            )
            seen.add(id(scene))
    return cells
