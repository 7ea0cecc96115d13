"""A GEMM to run (GemmJob) and what came of it (Row): plain data that travels as JSON between processes,
pages and recorded files. Importing this needs neither torch nor a GPU.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from fp8core.errors import sqnr_db
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, Matmul
from fp8core.recipes import RECIPES, Recipe
from kernels.family import Accumulation
from kernels.machine import Machine, Timing
from kernels.typed import checked, whole

MAX_DIM = 65536
MAX_RUNS = 1000
MAX_SEED = 0xFFFF_FFFF
MAX_TURN_MS = 1000


class Provenance(Enum):
    """Where a figure comes from; every page says which. A GPU row read from a file is a recorded one."""

    GPU = "gpu"
    INTERPRETER = "interpreter"


class Cache(Enum):
    """What the L2 holds when a timed launch starts.

    HOT: what the launches before it left, back to back over rotated buffers, as in training. COLD: none of
    its operands: the L2 is flushed before each launch, and each launch is timed alone.
    """

    HOT = "hot"
    COLD = "cold"


class Into(Enum):
    """Where the product goes: a NEW D, or added to what an fp32 D holds (ACCUMULATE), as a weight gradient is
    over micro-batches.
    """

    NEW = "new"
    ACCUMULATE = "accumulate"


@dataclass(frozen=True, kw_only=True)
class GemmJob:
    """One GEMM to run and measure; `turn_ms` is how long each contender runs in each of the `runs` rounds of
    a hot timing, and `settle_ms` how long before it is timed, hot or cold: a card at its power limit takes
    its clock from what ran before. Raises ValueError where a field is outside what it can be.
    """

    recipe: str
    matmul: str
    m: int
    n: int
    k: int
    input: InputKind = InputKind.GAUSSIAN
    seed: int = 0
    accumulation: Accumulation = Accumulation.RECIPE
    cache: Cache = Cache.HOT
    into: Into = Into.NEW
    runs: int = 20
    turn_ms: int = 20
    settle_ms: int = 0

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise ValueError(f"unknown recipe {self.recipe!r}; there are {', '.join(RECIPES)}")
        if self.matmul not in MATMULS:
            raise ValueError(f"unknown matmul {self.matmul!r}; there are {', '.join(MATMULS)}")
        for name in ("m", "n", "k"):
            size = getattr(self, name)
            if not whole(size, 0, MAX_DIM):
                raise ValueError(f"{name.upper()} is a whole number from 0 to {MAX_DIM}, got {size!r}")
        if not whole(self.seed, 0, MAX_SEED):
            raise ValueError(f"the seed is a whole number from 0 to 2**32 - 1, got {self.seed!r}")
        if not whole(self.runs, 1, MAX_RUNS):
            raise ValueError(f"runs is a whole number from 1 to {MAX_RUNS}, got {self.runs!r}")
        if not whole(self.turn_ms, 1, MAX_TURN_MS):
            raise ValueError(f"turn_ms is a whole number from 1 to {MAX_TURN_MS}, got {self.turn_ms!r}")
        if not whole(self.settle_ms, 0, MAX_TURN_MS):
            raise ValueError(f"settle_ms is a whole number from 0 to {MAX_TURN_MS}, got {self.settle_ms!r}")
        if self.into is Into.ACCUMULATE and not self.writes_fp32:
            raise ValueError(
                f"adding into D needs an fp32 D, and {self.matmul_data.title} of {self.recipe_data.title} "
                f"writes {self.recipe_data.spec(self.matmul_data).out.name}"
            )

    @property
    def recipe_data(self) -> Recipe:
        return RECIPES[self.recipe]

    @property
    def matmul_data(self) -> Matmul:
        return MATMULS[self.matmul]

    @property
    def writes_fp32(self) -> bool:
        """Whether D is fp32, so that a product can be added into it."""
        return self.recipe_data.spec(self.matmul_data).out == FORMATS["fp32"]

    @property
    def flop(self) -> int:
        """2 · M · N · K."""
        return 2 * self.m * self.n * self.k

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        added = ", added into D" if self.into is Into.ACCUMULATE else ""
        cold = ", cold L2" if self.cache is Cache.COLD else ""
        return (
            f"{self.recipe_data.title}, {self.matmul_data.title}, {self.m} × {self.n} × {self.k}{added}{cold}"
        )

    @property
    def size(self) -> str:
        """What decides how much memory it needs, and its values."""
        return f"M × N × K = {self.m} × {self.n} × {self.k}"

    @property
    def size_advice(self) -> str:
        """How to need less memory."""
        return "Make M, N or K smaller"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), **{name: getattr(self, name).value for name in _ENUMS}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "GemmJob":
        """The inverse of to_dict. Raises ValueError for what a job cannot be."""
        fields = dict(data)
        try:
            for name in _ENUMS.keys() & fields.keys():
                fields[name] = _member(_ENUMS[name], name, fields[name])
            return cls(**fields)
        except TypeError as error:
            raise ValueError(
                f"a job has the fields {', '.join(cls.__dataclass_fields__)}: {error}"
            ) from error


_ENUMS = {"input": InputKind, "accumulation": Accumulation, "cache": Cache, "into": Into}


@dataclass(frozen=True, kw_only=True)
class Worst:
    """One output element with a large error: its place, the fp64 truth and what the kernel gave."""

    m: int
    n: int
    truth: float
    result: float


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How many sampled outputs the accumulator's model predicted, how many of them came out bit-equal, and
    the first that did not, in words.
    """

    outputs: int
    equal: int
    first_difference: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one GemmJob measured.

    rel_err: result against the fp64 product of the unquantized operands.
    quantization_rel_err: the exact product of the quantized operands against the same.
    kernel_rel_err: result against the exact product of the quantized operands, as before any refolding.
    error_map: [bands of M][bands of N], the largest |result - truth| in each patch over the rms of the truth.
    Timings: the GEMM alone, quantizing A and B, bf16 torch.mm and torch's scaled op of the same recipe in the
    same run; None where there is none, and then `peer_note` says why. `torch_op` names the op: the fastest of
    those that compute at least what was asked for.
    why: one sentence on why that kernel and its blocks, as GemmPlan has it; empty where nobody recorded it.
    simple: the simple kernel in the same run; None where it is the one that `kernel` names, or refuses.
    dot_scaled: tl.dot_scaled in the same run, for MXFP8 on a GPU where Triton emulates it; else None, and
    where it did not run, `peer_note` says why.
    prediction: the kernel's bits against the accumulator's model; None where there is no model of this GPU.
    error_note: which rows of D the errors were taken over, where not all.
    bytes: least traffic of the GEMM: codes, scales and D once each, D twice where it is added into.
    """

    job: GemmJob
    provenance: Provenance
    machine: Machine
    date: str
    kernel: str
    out: str
    rel_err: float
    quantization_rel_err: float
    kernel_rel_err: float
    error_map: tuple[tuple[float, ...], ...]
    worst: tuple[Worst, ...]
    bytes: int
    gemm: Timing | None
    quantize: Timing | None
    bf16: Timing | None
    torch_scaled: Timing | None
    peer_note: str = ""
    error_note: str = ""
    prediction: Prediction | None = None
    simple: Timing | None = None
    torch_op: str = ""
    why: str = ""
    dot_scaled: Timing | None = None

    @property
    def sqnr_db(self) -> float:
        return sqnr_db(self.rel_err)

    @property
    def tflop_s(self) -> float | None:
        return self.job.flop / self.gemm.median_us / 1e6 if self.gemm else None

    @property
    def gb_s(self) -> float | None:
        return self.bytes / self.gemm.median_us / 1e3 if self.gemm else None

    @property
    def times_bf16(self) -> float | None:
        """Speed over bf16 torch.mm of the same run, GEMM only."""
        return _ratio(self.bf16, self.gemm)

    @property
    def times_torch_scaled(self) -> float | None:
        """Speed over torch's scaled op of the same recipe of the same run, GEMM only."""
        return _ratio(self.torch_scaled, self.gemm)

    @property
    def times_simple(self) -> float | None:
        """Speed over the simple kernel of the same run, GEMM only."""
        return _ratio(self.simple, self.gemm)

    @property
    def times_dot_scaled(self) -> float | None:
        """Speed over tl.dot_scaled of the same run, GEMM only."""
        return _ratio(self.dot_scaled, self.gemm)

    @property
    def times_bf16_with_quantize(self) -> float | None:
        """Speed over bf16 with both operands' quantization counted."""
        if self.bf16 is None or self.gemm is None or self.quantize is None:
            return None
        return self.bf16.median_us / (self.gemm.median_us + self.quantize.median_us)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "job": self.job.to_dict(), "provenance": self.provenance.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Row":
        """The inverse of to_dict. Raises ValueError naming what does not fit."""
        fields = dict(data)
        try:
            fields["job"] = GemmJob.from_dict(fields["job"])
            fields["provenance"] = Provenance(fields["provenance"])
            fields["machine"] = Machine.from_dict(fields["machine"])
            for name in ("gemm", "quantize", "bf16", "torch_scaled"):
                fields[name] = Timing.from_dict(name, fields[name])
            for name in ("simple", "dot_scaled"):
                fields[name] = Timing.from_dict(name, fields.get(name))
            fields["error_map"] = tuple(tuple(band) for band in fields["error_map"])
            fields["worst"] = tuple(Worst(**worst) for worst in fields["worst"])
            if fields.get("prediction"):
                fields["prediction"] = Prediction(**fields["prediction"])
            return _sound(checked(cls(**fields)))
        except KeyError as error:
            raise ValueError(f"this is not a measured row: {error} is missing") from error
        except (TypeError, ValueError) as error:
            raise ValueError(f"this is not a measured row: {error}") from error


def _sound(row: Row) -> Row:
    """A row whose figures can be shown. Raises ValueError for one that cannot."""
    if any(error < 0 for error in (row.rel_err, row.quantization_rel_err, row.kernel_rel_err)):
        raise ValueError("an error is 0 or more, got one below 0")
    if len({len(band) for band in row.error_map}) > 1:
        raise ValueError("the bands of error_map differ in length")
    return row


def _member(enum: type[Enum], name: str, value: object) -> Any:
    try:
        return enum(value)
    except ValueError as error:
        options = ", ".join(member.value for member in enum)
        raise ValueError(f"unknown {name} {value!r}; there are {options}") from error


def _ratio(peer: Timing | None, own: Timing | None) -> float | None:
    return peer.median_us / own.median_us if peer and own else None
