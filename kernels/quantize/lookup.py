"""Tables of codes on a device, for formats that are encoded by looking a number's top bits up."""

from typing import TYPE_CHECKING

import numpy as np

from fp8core.formats import FORMATS
from fp8core.rounding import Rounding
from kernels.launching.launch import constant
from kernels.quantize.tables import code_table

if TYPE_CHECKING:
    import torch


@constant
def lookup_tables(
    name: str, rounding: Rounding, device: "torch.device"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """uint8, the table of `tables.code_table`, and float32[codes], the value of each code."""
    import torch

    codes = torch.from_numpy(code_table(FORMATS[name], rounding)).to(device)
    values = torch.from_numpy(np.asarray(FORMATS[name].values, np.float32)).to(device)
    return codes, values
