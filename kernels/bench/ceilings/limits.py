"""Limits that no GPU exceeds: the peaks of its datasheet, or the rates that its clocks allow.

A time beyond these limits did not measure the whole work.
"""

from dataclasses import dataclass

from kernels.bench.ceilings.job import Ceilings
from kernels.bench.ceilings.peak_rates import Rate, flop_a_cycle, peak_rates_of
from kernels.bench.row import Row
from kernels.device import Device, Unsupported

TFLOP_S, GB_S = "TFLOP/s", "GB/s"


class Impossible(Unsupported):
    """Raised for a figure that this GPU cannot reach. The text is one sentence for the reader."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The highest TFLOP/s of a bf16 matmul and of any matmul, and GB/s of memory; None where unknown.

    `source` says where the limits on arithmetic and on memory come from.
    """

    bf16_tflop_s: float | None = None
    tflop_s: float | None = None
    memory_gb_s: float | None = None
    source: str = ""
    memory_source: str = ""

    def fault(self, tflop_s: float) -> str:
        """A sentence on why no matmul can be as fast as this; empty where one can."""
        return _fault(tflop_s, self.tflop_s, TFLOP_S, self.source)

    def bf16_fault(self, tflop_s: float) -> str:
        """A sentence on why no bf16 matmul can be as fast as this; empty where one can."""
        return _fault(tflop_s, self.bf16_tflop_s, TFLOP_S, self.source)

    def memory_fault(self, gb_s: float) -> str:
        """A sentence on why memory cannot give this much; empty where it can."""
        return _fault(gb_s, self.memory_gb_s, GB_S, self.memory_source)


def datasheet_limits(name: str) -> Limits:
    """The peaks of the card with this CUDA name; no limits for a card without a datasheet here."""
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
    """The datasheet's peaks; without a datasheet, the rates of the GPU's SMs and memory at their highest
    clocks.
    """
    known = datasheet_limits(device.name)
    if known.source or device.capability is None:
        return known
    most = {
        rate: flop * device.sms * device.clock_mhz / 1e6
        for rate, flop in flop_a_cycle(device.capability).items()
        if device.clock_mhz
    }
    return Limits(
        bf16_tflop_s=most.get(Rate.BF16),
        tflop_s=max(most.values(), default=None),
        memory_gb_s=device.memory_gb_s or None,
        source=f"{device.sms} SMs at {device.clock_mhz:,.0f} MHz",
        memory_source="the clock and the width of its memory",
    )


def row_fault(row: Row, limits: Limits, l2_bytes: int | None = None) -> str:
    """A sentence on the first figure of a row that is faster than its GPU can be; empty where all are
    possible.

    l2_bytes: the size of the L2, from which that many bytes of an operand may come. Without it, traffic is
    not judged.
    """
    timings = {
        "the kernel": row.gemm,
        "the simple kernel": row.simple,
        row.torch_op or "torch's op": row.torch_scaled,
        "tl.dot_scaled": row.dot_scaled,
    }
    for name, timing in timings.items():
        fault = limits.fault(row.job.flop / timing.median_us / 1e6) if timing else ""
        if fault:
            return f"{name}: {fault}"
    if row.bf16 and (fault := limits.bf16_fault(row.job.flop / row.bf16.median_us / 1e6)):
        return f"bf16 torch.mm: {fault}"
    if row.gemm and l2_bytes is not None and row.bytes > l2_bytes:
        fault = limits.memory_fault((row.bytes - l2_bytes) / row.gemm.median_us / 1e3)
        return fault and f"the kernel's traffic: {fault}"
    return ""


def ceilings_fault(found: Ceilings, limits: Limits) -> str:
    """A sentence on measured ceilings that are higher than the GPU can reach; empty where all are
    possible.
    """
    faults = {
        "copy": limits.memory_fault(found.copy_gb_s.median),
        "bf16 matmul": limits.bf16_fault(found.bf16_tflop_s.median),
        "fp8 matmul": limits.fault(found.fp8_tflop_s.median) if found.fp8_tflop_s else "",
    }
    return next((f"{name}: {fault}" for name, fault in faults.items() if fault), "")


def measured_fault(measured: Row | Ceilings, limits: Limits, l2_bytes: int | None = None) -> str:
    """A sentence on a figure of a measurement that its GPU cannot reach; empty where all are possible."""
    if isinstance(measured, Ceilings):
        return ceilings_fault(measured, limits)
    return row_fault(measured, limits, l2_bytes)


def _fault(rate: float, limit: float | None, unit: str, source: str) -> str:
    if limit is None or rate <= limit:
        return ""
    return (
        f"{rate:,.0f} {unit} is more than this GPU can do ({limit:,.0f} {unit} by {source}), so the time is "
        "not that of the work"
    )
