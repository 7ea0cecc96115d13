"""What it means that a kernel quantizes as the reference does."""

import numpy as np
import torch

from fp8core import quantize as reference
from kernels.quantize.launch import QuantizedTensor


def assert_same_bits(own: QuantizedTensor, truth: reference.QuantizedTensor) -> None:
    codes = own.codes.contiguous().view(torch.uint8).cpu().numpy()
    np.testing.assert_array_equal(codes, truth.codes)
    scale = own.scale.contiguous().cpu().numpy()
    np.testing.assert_array_equal(np.isnan(scale), np.isnan(truth.scale))
    sound = ~np.isnan(scale)
    np.testing.assert_array_equal(scale[sound].view(np.int32), truth.scale[sound].view(np.int32))
