"""The constants of the cost model, one file an architecture in assets/cost/.

`python -m kernels.tune --random N --fit` measures and fits them.

A file has {gpu, date, versions, sms, clock_mhz, memory_gb_s, shared, bodies, variants, error}. See Shared, Of
and Rate for the numbers; error says how far the fit is from its own measurements.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernels.device import Device
from kernels.files import replace_file
from kernels.gemm.cost.variant import Variant
from kernels.gemm.tuned import architecture
from kernels.paths import COST
from kernels.typed import from_data, to_data

_DOUBT = 0.1
"""Of a rate that nobody measured. Of many candidates the one most underestimated would win. A judgment."""
PASS_BITS = (4, 6, 8, 16)
_ARCHITECTURE = "sm_90"
"""The architecture whose constants stand in for one that was never measured."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Constants that all kernels of a GPU have in common.

    - dram_gb_s, l2_gb_s: what all SMs together read. sm_gb_s: what one SM reads at most.
    - idle: the part that memory loses where hardly any SM has work.
    - write_cost: a byte written to memory, in bytes read. page_bytes: what one more run of bytes costs.
    - zero_row_ns: for a row of 128 zeros, which TMA makes beyond an operand.
    - latency_ns: from the request of a stage until it is there.
    - pass_us: one more launch before the kernel. pass_4_gb_s to pass_16_gb_s: its rate, by the bits of what
      it reads.
    - sharpness: how little of the shorter of two overlapping times shows: 1 for all of it.
    - heat: what a card slows down by where all its tensor cores are always busy.
    """

    dram_gb_s: float
    idle: float
    write_cost: float
    page_bytes: float
    l2_gb_s: float
    sm_gb_s: float
    zero_row_ns: float
    latency_ns: float
    pass_us: float
    pass_4_gb_s: float
    pass_6_gb_s: float
    pass_8_gb_s: float
    pass_16_gb_s: float
    sharpness: float
    heat: float

    def pass_gb_s(self, bits: int) -> float:
        """The rate of a pass that reads codes of so many bits."""
        return getattr(self, f"pass_{bits}_gb_s")


@dataclass(frozen=True, kw_only=True)
class Of:
    """Constants that all blocks of one body have in common.

    - launch_us: from the launch to the first product, and from the last one to the end.
    - alone: a step's time where a program has its SM for itself, in steps of one that shares it.
    - split_us, run_us, split_gb_s: where programs share a block, what that costs once and for each of them,
      and the rate at which one program adds their parts of the sum. again_us: a wave more of such programs,
      each of which has one run. uneven_us: where parts are uneven, what it costs to go on with
      another program's sum, beside its bytes.
    """

    launch_us: float
    alone: float
    split_us: float
    run_us: float
    split_gb_s: float
    again_us: float
    uneven_us: float


@dataclass(frozen=True, kw_only=True)
class Rate:
    """One variant: time of a step along K and of all else a block takes, in ns. count: measurements of it,
    those of earlier fits too.
    """

    variant: Variant
    step_ns: float
    fixed_ns: float
    count: int = 0

    @property
    def doubt(self) -> float:
        """Part of a prediction that is added to it: much where nothing was measured."""
        return _DOUBT / (1 + self.count)


@dataclass(frozen=True, kw_only=True)
class Error:
    """How far predictions are from the measurements that they were fitted to: |log(predicted / measured)|."""

    measurements: int
    median: float
    p95: float


@dataclass(frozen=True, kw_only=True)
class Constants:
    """All constants of one GPU."""

    gpu: str
    date: str
    versions: Mapping[str, str]
    sms: int
    clock_mhz: float
    memory_gb_s: float
    shared: Shared
    bodies: Mapping[str, Of]
    variants: tuple[Rate, ...]
    error: Error

    def rate(self, variant: Variant) -> Rate:
        """The rate of a variant; one that was never measured takes that of the nearest, by its products."""
        found = self._rates.get(variant)
        if found is None:
            found = self._rates[variant] = self._estimated(variant)
        return found

    @property
    def _rates(self) -> dict[Variant, Rate]:
        kept = self.__dict__.get("_kept")
        if kept is None:
            kept = {rate.variant: rate for rate in self.variants}
            object.__setattr__(self, "_kept", kept)
        return kept

    def _estimated(self, variant: Variant) -> Rate:
        near = min(self.variants, key=lambda rate: variant.distance(rate.variant))
        ratio = variant.products / near.variant.products
        ratio *= 2 ** ((variant.multiplied == "bf16") - (near.variant.multiplied == "bf16"))
        area = variant.block_m * variant.block_n / (near.variant.block_m * near.variant.block_n)
        return Rate(variant=variant, step_ns=near.step_ns * ratio, fixed_ns=near.fixed_ns * area)

    def body(self, name: str) -> Of:
        """The constants of a body; of a body that was never measured, those of the first."""
        return self.bodies.get(name) or next(iter(self.bodies.values()))

    def on(self, device: Device) -> "Constants":
        """These constants for another device: memory and clock as its own facts have them, where known."""
        memory = device.memory_gb_s / self.memory_gb_s if device.memory_gb_s and self.memory_gb_s else 1.0
        clock = device.clock_mhz / self.clock_mhz if device.clock_mhz and self.clock_mhz else 1.0
        wide = clock * device.sms / self.sms
        if memory == clock == wide == 1.0:
            return self
        shared = replace(
            self.shared,
            dram_gb_s=self.shared.dram_gb_s * memory,
            l2_gb_s=self.shared.l2_gb_s * wide,
            sm_gb_s=self.shared.sm_gb_s * clock,
            **{f"pass_{bits}_gb_s": self.shared.pass_gb_s(bits) * memory for bits in PASS_BITS},
        )
        rates = tuple(
            replace(rate, step_ns=rate.step_ns / clock, fixed_ns=rate.fixed_ns / clock)
            for rate in self.variants
        )
        return replace(self, shared=shared, variants=rates)

    def write(self, path: Path) -> None:
        """Write a file that `read` reads, one variant a line."""
        data = to_data(self)
        variants = ",\n".join(json.dumps(rate) for rate in data.pop("variants"))
        head = json.dumps(data, ensure_ascii=False, indent=1).removesuffix("\n}")
        replace_file(path, f'{head},\n "variants": [\n{variants}\n]}}\n'.encode())


def read(path: Path) -> Constants:
    """Constants from a file. Raises ValueError naming the file and the fault."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return from_data(Constants, data)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.name} has no constants of a cost model: {error}") from error


def cost_path(capability: tuple[int, int]) -> Path:
    """Path of an architecture's constants, even where there is no such file."""
    return COST / f"{architecture(capability)}.json"


@lru_cache(maxsize=16)
def constants_of(device: Device) -> Constants:
    """The constants for a device: its architecture's own, or Hopper's, scaled by the device's facts."""
    own = cost_path(device.capability or (0, 0))
    return read(own if own.exists() else COST / f"{_ARCHITECTURE}.json").on(device)
