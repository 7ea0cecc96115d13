"""Operations of the probe: each sums the same codes on the tensor core and in its model, to compare bits.

On an H200 (2026-11-20, torch 2.11.0+cu130, triton 3.6.0) no bit of 2,105,344 outputs differs; for torch's
ops none of 90,112 at K = 512 and 4096:

- A from registers adds like A from shared memory.
- The fp16 accumulator is the same sum, rounded to nearest even in fp16 after every step of 32.
- Below 64 rows Triton unpacks fp8 to fp16 for mma.sync: steps of 16, 25 fraction bits; of each 32 products
  those with k mod 4 in {0, 1} come first, then the others; fp8 subnormals are normal numbers there.
- torch._scaled_mm with fast accumulation is one chain; with use_fast_accum=False it promotes every 128.
- For few outputs and a long K cuBLAS uses split-K, each split a chain, added in fp32: 3 splits at
  K = 8192 and 6 at K = 16384 for 128 × 64 outputs, 22 k-tiles of 128 each, the last one shorter.
"""

import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import cycle, product
from math import prod
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, Accumulator, matmul, promoted
from fp8core.formats import FORMATS, FloatFormat
from kernels.device import COMPILE_OPTIONS
from kernels.files import replace_file


class Span(Enum):
    """Spread of the operands' exponents."""

    NORMAL = "normal"
    WIDE = "wide"
    SUBNORMAL = "subnormal"
    EVERY_CODE = "every_code"


class Start(Enum):
    """Size of c beside a product."""

    ZERO = "zero"
    SIMILAR = "similar"
    LARGE = "large"
    SMALL = "small"


_TIMES = {Start.ZERO: 0.0, Start.SIMILAR: 1.0, Start.LARGE: 2.0**12, Start.SMALL: 2.0**-16}
_WIDE_BINADES = 7


@dataclass(frozen=True, kw_only=True)
class Case:
    """Codes a uint8[M, K] and b uint8[N, K] of two formats, and c float32[M, N]."""

    a_format: str
    b_format: str
    a: NDArray[np.uint8]
    b: NDArray[np.uint8]
    c: NDArray[np.float32]
    span: Span = Span.NORMAL
    start: Start = Start.ZERO

    @property
    def title(self) -> str:
        formats = f"{self.a_format}·{self.b_format}"
        return f"{formats}, {self.span.value} codes, c {self.start.value}, K {self.a.shape[1]}"


def draw_case(
    a_format: str, b_format: str, span: Span, start: Start, shape: tuple[int, int, int], seed: int
) -> Case:
    """A case of shape (M, N, K); equal arguments give equal codes."""
    rng = np.random.default_rng(seed)
    m, n, k = shape
    a, b = (_codes(FORMATS[name], (rows, k), span, rng) for name, rows in ((a_format, m), (b_format, n)))
    size = _size(FORMATS[a_format], a) * _size(FORMATS[b_format], b)
    c = (rng.standard_normal((m, n)) * size * _TIMES[start]).astype(np.float32)
    return Case(a_format=a_format, b_format=b_format, span=span, start=start, a=a, b=b, c=c)


def _codes(
    format_: FloatFormat, shape: tuple[int, int], span: Span, rng: np.random.Generator
) -> NDArray[np.uint8]:
    if span is Span.EVERY_CODE:
        return rng.integers(0, 1 << format_.bits, shape).astype(np.uint8)
    x = rng.standard_normal(shape)
    if span is Span.WIDE:
        x *= np.exp2(rng.integers(-_WIDE_BINADES, _WIDE_BINADES, shape))
    if span is Span.SUBNORMAL:
        x *= format_.min_normal
    return format_.encode(x)


def _size(format_: FloatFormat, codes: NDArray[np.uint8]) -> float:
    values = format_.decode(codes)
    return float(np.median(np.abs(values[np.isfinite(values)])))


PAIRS = (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e5m2"))
WGMMA_ROWS = 64
STEP = ACCUMULATORS["hopper_fast"].fused_products
_LONGEST_BLOCK = 4 * STEP
LENGTHS = tuple(STEP * steps for steps in (1, 2, 4, 16))
SHAPE = (2 * WGMMA_ROWS, 64)
RECORDED_SHAPE = (64, 16)

Run = Callable[[Case], NDArray[np.float32]]


@dataclass(frozen=True)
class Operation:
    """One way to sum products on the device, and its model."""

    name: str
    title: str
    accumulator: Accumulator
    run: Run
    lengths: tuple[int, ...] = LENGTHS
    starts: tuple[Start, ...] = tuple(Start)
    pairs: tuple[tuple[str, str], ...] = PAIRS


def operations() -> tuple[Operation, ...]:
    fast, slow = ACCUMULATORS["hopper_fast"], ACCUMULATORS["hopper_promoted"]
    half, hmma = ACCUMULATORS["hopper_fp16_sum"], ACCUMULATORS["hopper_hmma"]
    of_torch = {"lengths": (512, 4096), "starts": (Start.ZERO,), "pairs": PAIRS[:-1]}
    slow_mm, fast_mm = _scaled_mm(fast=False), _scaled_mm(fast=True)
    return (
        Operation("wgmma", "wgmma, fp32 sum", fast, _triton()),
        Operation("registers", "wgmma, A from registers", fast, _triton(FROM_REGISTERS=True)),
        Operation("promoted", f"tl.dot promoted every {STEP}", promoted(fast, STEP), _triton(EVERY=STEP)),
        Operation("fp16_sum", "wgmma, fp16 sum", half, _triton(HALF=True)),
        Operation("hmma", "tl.dot of 32 rows: fp8 → fp16, mma.sync", hmma, _triton(BLOCK_M=WGMMA_ROWS // 2)),
        Operation("scaled_mm_fast", "torch._scaled_mm, fast accumulation", fast, fast_mm, **of_torch),
        Operation("scaled_mm_slow", "torch._scaled_mm, use_fast_accum=False", slow, slow_mm, **of_torch),
    )


def predict(operation: Operation, case: Case) -> NDArray[np.float32]:
    """float32: the result of the model."""
    c = case.c.astype(np.float16).astype(np.float32) if operation.name == "fp16_sum" else case.c
    return matmul(case.a, case.b, FORMATS[case.a_format], FORMATS[case.b_format], operation.accumulator, c)


def mismatches(result: NDArray[np.float32], predicted: NDArray[np.float32]) -> NDArray[np.bool_]:
    """True where bits differ; any NaN equals any NaN."""
    both_nan = np.isnan(result) & np.isnan(predicted)
    return (result.view(np.uint32) != predicted.view(np.uint32)) & ~both_nan


def difference(name: str, result: NDArray[np.float32], predicted: NDArray[np.float32]) -> tuple[int, str]:
    """The number of outputs that differ, and the first of them in words."""
    bad = mismatches(result, predicted)
    if not bad.any():
        return 0, ""
    m, n = np.argwhere(bad)[0]
    first = f"{name}, [{m}, {n}]: model {predicted[m, n]!r}, device {result[m, n]!r}"
    return int(bad.sum()), first


def cases(operation: Operation, outputs: int, seed: int) -> Iterator[Case]:
    """Cases over all lengths, format pairs, spans and starts, with new seeds, up to `outputs` outputs."""
    kinds = product(operation.lengths, operation.pairs, Span, operation.starts)
    for number, (k, pair, span, start) in enumerate(cycle(kinds)):
        if number * prod(SHAPE) >= outputs:
            return
        yield draw_case(*pair, span, start, (*SHAPE, k), seed + number + 1)


def _triton(**constants: int | bool) -> Run:
    def run(case: Case) -> NDArray[np.float32]:
        import torch

        from kernels.probe.kernel import probe_kernel

        m, n, k = case.a.shape[0], case.b.shape[0], case.a.shape[1]
        usual = {"BLOCK_M": WGMMA_ROWS, "BLOCK_N": 16, "FROM_REGISTERS": False, "HALF": False, "EVERY": 0}
        block = usual | constants
        a, b = _on_device(case.a, case.a_format), _on_device(case.b, case.b_format)
        c = torch.from_numpy(case.c).cuda()
        d = torch.full_like(c, float("nan"))
        grid = (m // block["BLOCK_M"], n // block["BLOCK_N"])
        options = {**block, "BLOCK_K": min(k, _LONGEST_BLOCK), "num_warps": 4, **COMPILE_OPTIONS}
        probe_kernel[grid](a, b, c, d, n, k, 0xFF, **options)
        return d.cpu().numpy()

    return run


def _scaled_mm(*, fast: bool) -> Run:
    def run(case: Case) -> NDArray[np.float32]:
        import torch

        a, b = _on_device(case.a, case.a_format), _on_device(case.b, case.b_format)
        one = torch.ones((), device="cuda")
        d = torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=fast)
        return d.cpu().numpy()

    return run


def _on_device(codes: NDArray[np.uint8], format_: str) -> "object":
    import torch

    from kernels.quantize.tensor import float8

    return torch.from_numpy(codes).cuda().view(float8(FORMATS[format_]))


_MACHINE = "machine"
"""Key of GPU, date and versions in a file of captured results."""


@dataclass(frozen=True, kw_only=True)
class Captured:
    """A case and the device's result d float32[M, N]. operation: its name."""

    operation: str
    case: Case
    d: NDArray[np.float32]


def _recorded_cases(operation: Operation) -> Iterator[tuple[tuple[str, str], Span, Start, int]]:
    """(formats, span, start, K): all cases at one step of wgmma, samples elsewhere."""
    first = operation.lengths[0]
    if operation.name == "wgmma":
        for pair in operation.pairs:
            yield from ((pair, span, start, first) for span in Span for start in Start)
            yield pair, Span.NORMAL, Start.LARGE, 4 * first
    elif first == STEP:
        for pair in operation.pairs[:2]:
            yield from ((pair, span, Start.SIMILAR, 2 * first) for span in (Span.NORMAL, Span.EVERY_CODE))
    else:
        yield operation.pairs[0], Span.NORMAL, Start.ZERO, first


def captured(seed: int) -> Iterator[Captured]:
    """Run each operation on its recorded cases."""
    for operation in operations():
        for pair, span, start, k in _recorded_cases(operation):
            seed += 1
            case = draw_case(*pair, span, start, (*RECORDED_SHAPE, k), seed)
            yield Captured(operation=operation.name, case=case, d=operation.run(case))


def write_vectors(path: Path, captured: Iterable[Captured], machine: Mapping[str, str]) -> None:
    """Raises OSError; the old file stays then."""
    arrays: dict[str, NDArray[np.generic]] = {_MACHINE: np.array(json.dumps(dict(machine)))}
    for one in captured:
        case = one.case
        length = str(case.a.shape[1])
        parts = (one.operation, case.a_format, case.b_format, case.span.value, case.start.value, length)
        key = "/".join(parts)
        arrays |= {f"{key}/a": case.a, f"{key}/b": case.b, f"{key}/c": case.c, f"{key}/d": one.d}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    replace_file(path, content.getvalue())


def read_machine(path: Path) -> dict[str, str]:
    """GPU, date and versions. Raises ValueError for a file without vectors."""
    with _opened(path) as arrays:
        machine = json.loads(str(arrays[_MACHINE]))
        if not isinstance(machine, dict):
            raise ValueError(f"{_MACHINE} is a JSON object, got {machine!r}")
        return machine


def read_vectors(path: Path) -> Iterator[Captured]:
    """Raises ValueError for a file without vectors."""
    with _opened(path) as arrays:
        for key in sorted({name.rsplit("/", 1)[0] for name in arrays.files} - {_MACHINE}):
            operation, a_format, b_format, span, start, _ = key.split("/")
            parts = {name: arrays[f"{key}/{name}"] for name in "abcd"}
            d, kinds = parts.pop("d"), {"span": Span(span), "start": Start(start)}
            case = Case(a_format=a_format, b_format=b_format, **kinds, **parts)
            yield Captured(operation=operation, case=case, d=d)


@contextmanager
def _opened(path: Path) -> Iterator[Mapping[str, NDArray[np.generic]]]:
    """A file's arrays. Any fault while they are read becomes one ValueError that names the file."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            yield arrays
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is empty"
        raise ValueError(f"{path.name} holds no captured vectors: {reason}") from error
