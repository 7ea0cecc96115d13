"""Times of a step: each recipe's captured step beside a plain bf16 loop that torch.compile makes."""

import time
from collections.abc import Iterable, Iterator

from kernels.bench.commit import commit
from kernels.bench.measure import today
from kernels.device import Unsupported
from kernels.text_table import columns, text
from kernels.train.counted import gemm_launches, launches, quantized_gemms
from kernels.train.job import TrainJob
from kernels.train.model.plain import compiled_step_ms
from kernels.train.place import Place
from kernels.train.row import Speed
from kernels.train.sizes import SIZES
from kernels.train.step import CHUNK, Trainer
from kernels.train.text import Text

_ROUNDS = 3
_HEADER = ("model", "recipe", "ms a step", "kB/s", "× compiled bf16 loop", "quantized GEMMs", "GEMM kernels")


def speeds(names: Iterable[str], models: Iterable[str], place: Place, text_: Text) -> Iterator[Speed]:
    """Time the steps of recipes, by the recipe's key. Raises Unsupported without a GPU."""
    if place.emulate:
        raise Unsupported("times of a step are a GPU's, and there is none here")
    names = list(names)
    for model in models:
        compiled = compiled_step_ms(SIZES[model], place.device)
        for name in names:
            trainer = place.trainer(TrainJob(recipe=name, model=model), text_)
            quantized = quantized_gemms(trainer)
            trainer.get_ready()
            trainer.run(0, CHUNK, CHUNK)
            best = min(_seconds(trainer) for _ in range(_ROUNDS))
            counted = launches(trainer) or {}
            yield Speed(
                model=model,
                recipe=name,
                step_ms=1e3 * best / CHUNK,
                compiled_ms=compiled,
                quantized_gemms=quantized,
                gemm_kernels=gemm_launches(counted) or 0,
                kernels=sum(counted.values()),
                machine=place.machine,
                date=today(),
                commit=commit(),
            )


def _seconds(trainer: Trainer) -> float:
    began = time.perf_counter()
    trainer.run(0, CHUNK, CHUNK)
    return time.perf_counter() - began


def speed_table(found: Iterable[Speed]) -> str:
    """A line a recipe."""
    return text(columns(map(_cells, found), header=_HEADER))


def _cells(one: Speed) -> tuple[str, ...]:
    rate = SIZES[one.model].bytes_per_step / one.step_ms
    times = f"{one.times_compiled:.2f}"
    counts = (str(one.quantized_gemms), str(one.gemm_kernels))
    return (one.model, one.recipe, f"{one.step_ms:.2f}", f"{rate:.0f}", times, *counts)
