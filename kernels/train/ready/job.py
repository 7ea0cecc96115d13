"""A part of a training run that is compiled ahead (TrainReadyJob): plain data, without torch.

kernels.train.ready.measure does it. A run is several parts, so that a worker soon gives way to others.
"""

from dataclasses import dataclass

from kernels.train.job import BF16, TrainJob
from kernels.train.sizes import HEAD, SIZES
from kernels.train.variants import VARIANTS

PIECES = "pieces"
"""The part between the linear layers: norms, attention, cross-entropy."""


@dataclass(frozen=True, kw_only=True)
class TrainReadyJob:
    """Compile what a linear layer of a run computes, or its PIECES.

    - recipe, model: as in TrainJob. layer: the name of a linear layer in every block, HEAD, or PIECES.

    Raises ValueError for an unknown layer, and as TrainJob does.
    """

    recipe: str
    model: str
    layer: str

    def __post_init__(self) -> None:
        known = (*self.train.size_data.block_linears, HEAD, PIECES)
        if self.layer not in known:
            raise ValueError(f"a part to compile is one of {', '.join(known)}, got {self.layer!r}")

    @property
    def train(self) -> TrainJob:
        """The run of one seed that this is a part of."""
        return TrainJob(recipe=self.recipe, model=self.model)

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        return f"Getting ready: {self.layer} of {self.train.title}"

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


def ready_jobs(model: str = next(iter(SIZES))) -> tuple[TrainReadyJob, ...]:
    """The parts of all changes that a button tries: what all of them share first."""
    layers = tuple(SIZES[model].block_linears)
    parts = [TrainReadyJob(recipe=BF16, model=model, layer=PIECES)]
    for variant in VARIANTS.values():
        own = (*layers, HEAD) if variant.job.head else layers
        parts += [TrainReadyJob(recipe=variant.job.recipe, model=model, layer=layer) for layer in own]
    return tuple(dict.fromkeys(parts))
