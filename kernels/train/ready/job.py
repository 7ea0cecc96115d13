"""A part of a training run that is compiled ahead (TrainReadyJob): plain data, without torch.

kernels.train.ready.measure does it. A run is many parts, so that several processes compile it at once, and so
that a worker soon gives way to others.
"""

from dataclasses import dataclass, replace

from fp8core.linear import MATMULS, OPERANDS
from kernels.train.job import BF16, TrainJob
from kernels.train.sizes import HEAD, SIZES
from kernels.train.variants import VARIANTS

IMPORTS = "imports"
"""What every process does for itself before its first run: import, and read the text."""
PIECES = "pieces"
"""The part between the linear layers: norms, attention, cross-entropy."""
CALLS = tuple(reversed((*(tensor.value for tensor in OPERANDS), *MATMULS)))
"""What a step calls for in a layer: copies of x, w and dy, and three matmuls. The last ones come first: a run
that has begun compiles the first ones itself.
"""


@dataclass(frozen=True, kw_only=True)
class TrainReadyJob:
    """Compile the kernels of one call of a linear layer's step, or the PIECES of a run; or only import.

    - recipe, model: as in TrainJob. layer: the name of a linear layer in every block, or HEAD; or PIECES, or
      IMPORTS.
    - call: one of CALLS for a layer; nothing else.

    Raises ValueError for an unknown layer or call, and as TrainJob does.
    """

    recipe: str
    model: str
    layer: str
    call: str = ""

    def __post_init__(self) -> None:
        others = (PIECES, IMPORTS)
        known = (*self.train.size_data.block_linears, HEAD, *others)
        if self.layer not in known:
            raise ValueError(f"a part to compile is one of {', '.join(known)}, got {self.layer!r}")
        calls = ("",) if self.layer in others else CALLS
        if self.call not in calls:
            asked = "nothing" if self.layer in others else f"one of {', '.join(CALLS)}"
            raise ValueError(f"the call to compile of {self.layer} is {asked}, got {self.call!r}")

    @property
    def train(self) -> TrainJob:
        """The run of one seed that this is a part of."""
        return TrainJob(recipe=self.recipe, model=self.model)

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        return f"Getting ready: {' '.join(filter(None, (self.layer, self.call)))} of {self.train.title}"

    @property
    def size(self) -> str:
        """The field that decides how much memory it needs, and its value."""
        return self.train.size

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return self.train.size_advice


@dataclass(frozen=True)
class TrainReadied:
    """A part that is compiled. It took so many seconds."""

    job: TrainReadyJob
    seconds: float


def parts_of(job: TrainJob) -> tuple[TrainReadyJob, ...]:
    """The parts of a run: what takes longest first."""
    layers = (*job.size_data.block_linears, *([HEAD] if job.head else []))
    parts = [TrainReadyJob(recipe=BF16, model=job.model, layer=PIECES)]
    if job.recipe != BF16:
        parts += [
            TrainReadyJob(recipe=job.recipe, model=job.model, layer=layer, call=call)
            for layer in layers
            for call in CALLS
        ]
    return tuple(parts)


def ready_jobs(model: str = next(iter(SIZES))) -> tuple[TrainReadyJob, ...]:
    """The parts of all changes that a button tries: what all of them share first."""
    runs = (replace(variant.job, model=model) for variant in VARIANTS.values())
    imports = TrainReadyJob(recipe=BF16, model=model, layer=IMPORTS)
    return tuple(dict.fromkeys((imports, *(part for run in runs for part in parts_of(run)))))
