"""Datasheet peak rates by GPU generation, which no kernel exceeds: those of assets/peak_rates.toml.

They are dense (no structured sparsity), at the boost clock. A card at its power limit runs slower.
"""

import tomllib
from dataclasses import dataclass
from enum import Enum

from kernels.device import Device, Unsupported
from kernels.measure.rows import Peer, Recorded, Row
from kernels.paths import ASSETS
from kernels.typed import from_data


class Rate(Enum):
    """The operand format that a peak belongs to. All but fp32 run on tensor cores."""

    FP4 = "fp4"
    FP8 = "fp8"
    BF16 = "bf16"
    FP16 = "fp16"
    TF32 = "tf32"
    FP32 = "fp32"


@dataclass(frozen=True)
class Source:
    title: str
    url: str


@dataclass(frozen=True, kw_only=True)
class PeakRates:
    """One GPU's peaks; a rate is None where the tensor cores lack that format. device_name: CUDA's."""

    name: str
    generation: str
    capability: tuple[int, int]
    device_name: str
    tflop_s: dict[Rate, float | None]
    memory_gb_s: float
    sources: tuple[Source, ...]

    def ridge(self, rate: Rate) -> float | None:
        """FLOP per byte above which arithmetic is the limit, not memory; None without such a rate."""
        peak = self.tflop_s[rate]
        return None if peak is None else peak * 1e3 / self.memory_gb_s


_DATA = tomllib.loads((ASSETS / "peak_rates.toml").read_text(encoding="utf-8"))
_NO_RATES = {rate.value: None for rate in Rate}
_CARDS = (gpu | {"tflop_s": _NO_RATES | gpu["tflop_s"]} for gpu in _DATA["gpu"])
PEAK_RATES = {gpu["name"]: from_data(PeakRates, gpu) for gpu in _CARDS}


def peak_rates_of(device_name: str) -> PeakRates | None:
    return next((rates for rates in PEAK_RATES.values() if rates.device_name == device_name), None)


_FLOP_A_CYCLE = {tuple(map(int, first.split("."))): of for first, of in _DATA["flop_a_cycle"].items()}
"""FLOP of one SM's tensor cores in a clock cycle, by the first compute capability that has so many."""
TFLOP_S, GB_S = "TFLOP/s", "GB/s"


class Impossible(Unsupported):
    """Raised for a figure that this GPU cannot reach. The text is one sentence for the reader."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The highest TFLOP/s of a bf16 matmul and of any matmul, and GB/s of memory; None where unknown."""

    bf16_tflop_s: float | None = None
    tflop_s: float | None = None
    memory_gb_s: float | None = None
    source: str = ""
    memory_source: str = ""

    def fault(self, tflop_s: float) -> str:
        return _fault(tflop_s, self.tflop_s, TFLOP_S, self.source)

    def bf16_fault(self, tflop_s: float) -> str:
        return _fault(tflop_s, self.bf16_tflop_s, TFLOP_S, self.source)

    def memory_fault(self, gb_s: float) -> str:
        return _fault(gb_s, self.memory_gb_s, GB_S, self.memory_source)


def datasheet_limits(name: str) -> Limits:
    rates = peak_rates_of(name)
    if rates is None:
        return Limits()
    source = f"the datasheet of the {rates.name}"
    return Limits(
        bf16_tflop_s=rates.tflop_s[Rate.BF16],
        tflop_s=max(rate for rate in rates.tflop_s.values() if rate is not None),
        memory_gb_s=rates.memory_gb_s,
        source=source,
        memory_source=source,
    )


def limits_of(device: Device) -> Limits:
    """The datasheet's peaks, or else the rates of SMs and memory at their highest clocks."""
    known = datasheet_limits(device.name)
    if known.source or device.capability is None:
        return known
    major = device.capability[0]
    same = [first for first in _FLOP_A_CYCLE if first[0] == major and first <= device.capability]
    flop_a_cycle = _FLOP_A_CYCLE[max(same)] if same and device.clock_mhz else {}
    most = {rate: flop * device.sms * device.clock_mhz / 1e6 for rate, flop in flop_a_cycle.items()}
    return Limits(
        bf16_tflop_s=most.get(Rate.BF16.value),
        tflop_s=max(most.values(), default=None),
        memory_gb_s=device.memory_gb_s or None,
        source=f"{device.sms} SMs at {device.clock_mhz:,.0f} MHz",
        memory_source="the clock and the width of its memory",
    )


def measured_fault(row: Recorded, limits: Limits, l2_bytes: int | None = None) -> str:
    """A sentence on the first contender that is faster than its GPU can be; empty where none is.

    - row: one with `times` and `work`, as a ContestRow.
    - l2_bytes: so many bytes of operands may come from the L2. Without it, a GEMM's traffic is not judged.
    """
    for peer, timing in row.times.items():
        (flop, moved), us = row.work(peer), timing.median_us
        arithmetic = limits.bf16_fault if peer is Peer.BF16 else limits.fault
        if fault := arithmetic(flop / us / 1e6) or limits.memory_fault(moved / us / 1e3):
            return f"{timing.op or peer.value}: {fault}"
    if isinstance(row, Row) and row.ours and l2_bytes is not None and row.bytes > l2_bytes:
        fault = limits.memory_fault((row.bytes - l2_bytes) / row.ours.median_us / 1e3)
        return fault and f"the kernel's traffic: {fault}"
    return ""


def _fault(rate: float, limit: float | None, unit: str, source: str) -> str:
    if limit is None or rate <= limit:
        return ""
    return (
        f"{rate:,.0f} {unit} is more than this GPU can do ({limit:,.0f} {unit} by {source}), so the time is "
        "not that of the work"
    )
