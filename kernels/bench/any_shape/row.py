"""The result of one drawn GEMM (AnyShapeRow): plain data that travels as JSON."""

from dataclasses import dataclass

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.typed import Count, Positive


@dataclass(frozen=True, kw_only=True)
class AnyShapeRow:
    """Times of one GEMM of a random shape: ours, and torch's best for the same recipe, in the same turns.

    - peer: the name of torch's op. It is bf16 torch.mm where torch has no op for the recipe.
    - body, blocks_title: the kernel body that ran, by its name in Body, and its blocks in words.
    - least_bytes: codes, scales and D once each.
    - seed: of the draw. A shape that someone chose has the seed 0.
    - regret: the time of the plan over that of the best candidate, minus 1. None where nobody searched.
    - date: YYYY-MM-DD, in UTC. versions: of torch, Triton and so on.
    - clock_mhz, peer_clock_mhz: the SM clock under each; None where it was not read.
    - turns: rounds of the timing. commit: of the code that ran. None where nobody wrote them down.

    Raises ValueError for an unknown recipe or matmul, and for no FLOP.
    """

    recipe: str
    matmul: str
    m: Count
    n: Count
    k: Count
    ours_us: Positive
    peer: str
    peer_us: Positive
    body: str
    blocks_title: str
    flop: Count
    least_bytes: Count
    seed: Count
    gpu: str
    date: str
    versions: dict[str, str]
    regret: float | None = None
    clock_mhz: Positive | None = None
    peer_clock_mhz: Positive | None = None
    turns: Count | None = None
    commit: str | None = None

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise ValueError(f"unknown recipe {self.recipe!r}; there are {', '.join(RECIPES)}")
        if self.matmul not in MATMULS:
            raise ValueError(f"unknown matmul {self.matmul!r}; there are {', '.join(MATMULS)}")
        if not self.flop or not self.least_bytes:
            raise ValueError(
                f"a timed GEMM has FLOP and bytes, got {self.flop} FLOP and {self.least_bytes} bytes"
            )

    @property
    def ratio(self) -> float:
        """Our speed over torch's; above 1 ours is faster."""
        return self.peer_us / self.ours_us

    @property
    def is_against_bf16(self) -> bool:
        """True where torch has no op for the recipe, so that bf16 is the peer."""
        return self.peer.startswith(FORMATS["bf16"].name)

    @property
    def intensity(self) -> float:
        """FLOP for each byte that has to move at least."""
        return self.flop / self.least_bytes

    @property
    def tflop_s(self) -> float:
        return self.flop / self.ours_us / 1e6

    @property
    def mnk(self) -> tuple[int, int, int]:
        return self.m, self.n, self.k
