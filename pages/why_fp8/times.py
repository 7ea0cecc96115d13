"""The least time of one matmul: what memory allows, and what the tensor cores allow."""

from dataclasses import dataclass

from fp8core.formats import FORMATS
from fp8core.linear import LayerShape, LayerTensor
from kernels.bench.ceilings.peak_rates import PeakRates, Rate

FORMAT_OF = {Rate.BF16: "bf16", Rate.FP8: "e4m3", Rate.FP4: "e2m1"}
"""The operands' format at each rate. The result is bf16 at every rate."""
MEMORY, ARITHMETIC = "memory", "tensor cores"
_US = 1e6


@dataclass(frozen=True, kw_only=True)
class Bound:
    """y = x · wᵀ with operands of one format: the bytes that move, and two times that no kernel beats."""

    rate: Rate
    flop: int
    bytes: int
    memory_us: float
    arithmetic_us: float
    peak_tflop_s: float

    @property
    def us(self) -> float:
        """The least time: the longer of the two."""
        return max(self.memory_us, self.arithmetic_us)

    @property
    def limit(self) -> str:
        """What takes the longer time."""
        return MEMORY if self.memory_us > self.arithmetic_us else ARITHMETIC

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.flop / self.bytes

    @property
    def tflop_s(self) -> float:
        """The highest speed."""
        return self.flop / self.us / _US


def moved_bytes(layer: LayerShape, name: str) -> int:
    """Bytes of x and w in a format, without scales, and of y in bf16: each moves once."""
    (tokens, in_), (out, _) = layer.of(LayerTensor.X), layer.of(LayerTensor.W)
    inputs = (tokens + out) * in_ * FORMATS[name].packed_bits
    return (inputs + tokens * out * FORMATS["bf16"].packed_bits) // 8


def bounds(rates: PeakRates, layer: LayerShape) -> dict[Rate, Bound]:
    """The bounds at each rate that a card's tensor cores have."""
    flop = 2 * layer.tokens * layer.in_ * layer.out
    found = {}
    for rate, name in FORMAT_OF.items():
        peak = rates.tflop_s[rate]
        if peak is not None:
            moved = moved_bytes(layer, name)
            found[rate] = Bound(
                rate=rate,
                flop=flop,
                bytes=moved,
                memory_us=moved / rates.memory_gb_s / 1e3,
                arithmetic_us=flop / peak / _US,
                peak_tflop_s=peak,
            )
    return found
