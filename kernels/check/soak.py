"""The soak: random GEMMs and quantizers of all recipes, each launched thousands of times in one process.

A wait that ends too early, or a count that is reset too late, may show once in a thousand launches. Data that
is left from the launch before hides it. So the operands change from launch to launch, and each result is
overwritten before the next. Importing this needs no torch.
"""

from collections.abc import Iterator

import numpy as np

from fp8core.linear import MATMULS, LayerShape, LayerTensor
from fp8core.recipes import RECIPES
from kernels.bench.job import GemmJob, Into
from kernels.bench.quantizers.job import QuantizerJob, QuantizerKernel
from kernels.check.cases import DistinctGemm, distinct_gemms
from kernels.check.compiling.codes import PlannedCode
from kernels.check.facts import Facts
from kernels.check.report import Group, Line
from kernels.check.steps import SPEED_BYTES, Step
from kernels.device import Device, DeviceKind
from kernels.gemm.shape_class import FEW

CASES = 60
MAX_CASES = 10_000
_QUANTIZERS = 1 / 3
_FEW_TOKENS, _MANY = 0.7, 4096
_ODD = 0.3
_NARROWEST, _WIDEST = 64, 16_384
_STEP = 16
_INTERPRETED = 48
"""The largest side in Triton's interpreter, which takes a second for a few blocks."""


def soak_jobs(seed: int, count: int, *, small: bool = False) -> tuple[GemmJob | QuantizerJob, ...]:
    """Jobs of a seed, `count` of them, those of few tokens and odd sizes first.

    Two of three are GEMMs. Tokens are log-uniform: up to FEW in seven of ten jobs, to 4,096 in the
    others. Features are log-uniform from 64 to 16,384, and three of ten are no multiple of 16. `small` is for
    the interpreter. Raises ValueError for a count outside 1 to 10,000.
    """
    if not 1 <= count <= MAX_CASES:
        raise ValueError(f"a soak has 1 to {MAX_CASES:,} cases, got {count}")
    rng = np.random.default_rng(seed)
    gemms = distinct_gemms(MATMULS.values())
    jobs = [
        _quantizer(rng, small) if rng.random() < _QUANTIZERS else _gemm(rng, gemms, small)
        for _ in range(count)
    ]
    return tuple(sorted(jobs, key=_tokens))


def soak_steps(facts: Facts, seed: int, count: int) -> tuple[Step, ...]:
    """A step for each job of a soak."""
    jobs = dict.fromkeys(soak_jobs(seed, count, small=facts.interpreted))
    return tuple(_step(number, job, str(facts.gpu)) for number, job in enumerate(jobs, 1))


def _step(number: int, job: GemmJob | QuantizerJob, on: str) -> Step:
    name = f"{number}. {job.title}"

    def run() -> Iterator[Line]:
        from kernels.check.soak_launches import soak_line
        from kernels.device import current_device

        yield soak_line(job, name, current_device(), on)

    def codes(device: Device) -> Iterator[PlannedCode]:
        if isinstance(job, GemmJob) and device.kind is DeviceKind.GPU:
            yield PlannedCode(job)

    group = Group.GEMMS if isinstance(job, GemmJob) else Group.QUANTIZERS
    return Step(group=group, names=(name,), run=run, needed_bytes=SPEED_BYTES, codes=codes)


def _tokens(job: GemmJob | QuantizerJob) -> tuple[bool, bool]:
    """Sort key: few tokens first, and among them sizes that are no multiples of 16."""
    sizes = (job.m, job.n, job.k) if isinstance(job, GemmJob) else (job.rows, job.columns)
    return min(sizes) > FEW, not any(size % _STEP for size in sizes)


def _gemm(rng: np.random.Generator, gemms: tuple[DistinctGemm, ...], small: bool) -> GemmJob:
    own, layer = gemms[rng.integers(len(gemms))], _layer(rng, small)
    m, n, k = own.matmul.mnk(layer)
    fields = {"recipe": own.recipe.name, "matmul": own.matmul.name, "seed": int(rng.integers(1 << 31))}
    job = GemmJob(m=m, n=n, k=k, **fields)
    adds = job.writes_fp32 and rng.random() < 1 / 2
    return GemmJob(m=m, n=n, k=k, into=Into.ACCUMULATE, **fields) if adds else job


def _quantizer(rng: np.random.Generator, small: bool) -> QuantizerJob:
    """A quantizer in one layout or two, of a tensor or of what is computed on the way."""
    while True:
        recipe = RECIPES[list(RECIPES)[rng.integers(len(RECIPES))]]
        kernel = list(QuantizerKernel)[rng.integers(len(QuantizerKernel))]
        tensor = {
            QuantizerKernel.QUANTIZE: list(LayerTensor)[rng.integers(3)],
            QuantizerKernel.SWIGLU_BACKWARD: LayerTensor.DY,
        }.get(kernel, LayerTensor.X)
        readers = [matmul.name for matmul in MATMULS.values() if matmul.side_of(tensor) is not None]
        matmuls = tuple(readers if rng.random() < 1 / 2 else [readers[rng.integers(len(readers))]])
        rows, columns = _layer(rng, small).of(tensor)
        columns += columns % 2 * (kernel is QuantizerKernel.SWIGLU_BACKWARD)
        try:
            return QuantizerJob(
                kernel=kernel,
                recipe=recipe.name,
                tensor=tensor.value,
                matmuls=matmuls,
                rows=rows,
                columns=columns,
            )
        except ValueError:  # the recipe leaves this tensor in bf16
            continue


def _layer(rng: np.random.Generator, small: bool) -> LayerShape:
    most = FEW if rng.random() < _FEW_TOKENS else _MANY
    tokens = _log_uniform(rng, 1, _INTERPRETED if small else most)
    low, high = (1, _INTERPRETED) if small else (_NARROWEST, _WIDEST)
    features = [_log_uniform(rng, low, high) for _ in range(2)]
    whole = rng.random() >= _ODD
    in_, out = (-(-size // _STEP) * _STEP if whole else size for size in features)
    return LayerShape(tokens=tokens, in_=in_, out=out)


def _log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return round(low * (high / low) ** rng.random())
