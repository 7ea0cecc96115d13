"""What a fused kernel is given, and the shape of its result."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Source:
    """What the kernel computes a result [rows, halves · columns] from.

    - name: as the kernel's SOURCE has it. x, other: tensors that it reads; other may be None.
    - eps: the bits of what a norm adds to the mean square; 0 where nothing is normed.
    - halves: the result has so many halves, each of `columns`.
    """

    name: str
    x: "torch.Tensor"
    other: "torch.Tensor | None"
    rows: int
    columns: int
    halves: int = 1
    eps: int = 0

    @property
    def given(self) -> "tuple[torch.Tensor, ...]":
        return (self.x,) if self.other is None else (self.x, self.other)

    @property
    def reads(self) -> float:
        """Numbers that are read for each one of the result."""
        given = self.x.numel() + (0 if self.is_norm or self.other is None else self.other.numel())
        return given / max(1, self.rows * self.columns * self.halves)

    @property
    def shape(self) -> tuple[int, int]:
        """That of the result."""
        return self.rows, self.columns * self.halves

    @property
    def is_norm(self) -> bool:
        return self.name == "rms norm"

    @property
    def result(self) -> "torch.Tensor":
        """A tensor with the result's shape and device, and any numbers."""
        return self.x[:, : self.columns * self.halves]
