"""Names of the report lines for torch's own matmuls."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

SHARE_OF_COPY = "share of a copy"
"""The figure of a quantizer's line."""
COPY, BF16, FP8 = "copy", "bf16 (torch.mm)", "fp8 (torch._scaled_mm)"
