"""The bench of quantizers: each beside a copy and beside torch.compile of the same operations.

Importing this needs neither torch nor a GPU.
"""

from kernels.bench.quantizers.job import QuantizerJob, QuantizerKernel
from kernels.bench.quantizers.records import (
    quantizer_path,
    read_quantizers,
    record_quantizer,
)
from kernels.bench.quantizers.row import QuantizerRow

__all__ = [
    "QuantizerJob",
    "QuantizerKernel",
    "QuantizerRow",
    "quantizer_path",
    "read_quantizers",
    "record_quantizer",
]
