"""Matmuls that quantize their own operands: why none does here, and what two that did were measured at."""

import tomllib
from dataclasses import dataclass
from functools import cache

from kernels.bench.job import GemmJob
from kernels.paths import RECORDS
from kernels.typed import Count, Positive, from_data
from pages.kit.origins import Measured, recorded_on, told, told_versions

<<<<<<< HEAD
from kernels.bench.fused_gemms import FusedGemmRow, read_fused_gemms
from kernels.bench.lines import slug
from pages.kit.file_stamps import Stamp, stamps
from pages.kit.gemm import results as gemm_results
from pages.kit.in_code.source_text import Source, explanation, files, text
from pages.kit.inert import plain
from pages.kit.origins import Measured, recorded_on, told, told_versions
from pages.kit.tables.arrow_table import arrow_table
from pages.kit.tables.draw import draw_rows
from pages.kit.terms.explain import draw_text

MATMUL = Source(
    title="A matmul that quantizes: A as it loads it, or D as it leaves",
    places=(("gemm/fused/simple_kernel.py", "fused_gemm_kernel"),),
    explained_in="gemm/fused/quantizing_kernel.py",
)
IN_MATMUL = (
    "A matmul can quantize its own A while loading it: no pass, and no codes in memory. But every block of D "
    "needs whole rows of A. So each row is quantized **as often as D is blocks wide**, beside the "
    "tensor cores' work. One pass before it quantizes each row once. Quantizing D on its way out has no "
    "such price: a block of D is written once."
)
_FOLDERS_KEPT = 2
_READING = threading.Lock()
"""Sessions that come first at the same time read the files once."""
_NUMBER = st.column_config.NumberColumn
_COLUMNS = {
    "fused, µs": _NUMBER(format="%.1f"),
    "two kernels, µs": _NUMBER(format="%.1f", help="The quantizer and the matmul, one after the other"),
    "× two kernels": _NUMBER(format="%.2f", help="Above 1, fusing pays"),
    "× matmul alone": _NUMBER(format="%.2f", help="1 is quantizing for nothing"),
}
=======
_FILE = RECORDS / "fused_matmuls.toml"
>>>>>>> nofuse


@dataclass(frozen=True, kw_only=True)
class Times:
    """Microseconds of a matmul that quantizes, and of a quantizer and a matmul one after the other."""

    fused_us: Positive
    apart_us: Positive

    @property
    def ratio(self) -> float:
        """Time over that of two kernels; below 1 fusing pays."""
        return self.fused_us / self.apart_us


@dataclass(frozen=True, kw_only=True)
class FusedMatmuls:
    """Recorded times of a matmul that quantizes A as it loads it (a), and of one that quantizes D as it
    stores it (d).
    """

    job: GemmJob
    a: Times
    d: Times
    rounds: Count
    gpu: str
    date: str
    versions: dict[str, str]
    commit: str

    @property
    def origin(self) -> str:
        """The GPU, the day, the versions and the commit, in words."""
        versions = told_versions(self.versions)
        return told(
            [Measured(place=recorded_on(self.gpu), date=self.date, versions=versions, commit=self.commit)]
        )


@cache
def recorded() -> FusedMatmuls:
    """The recorded times. Raises ValueError for a file that holds something else."""
    return from_data(FusedMatmuls, tomllib.loads(_FILE.read_text(encoding="utf-8")))


<<<<<<< HEAD
def _measured(row: FusedGemmRow) -> Measured:
    return Measured(
        place=recorded_on(row.gpu),
        date=row.date,
        versions=told_versions(row.versions),
        commit=row.commit or "",
    )


def draw(gpu: str) -> None:
    """Draw a part that is closed at first: the words, the times, the kernel's source."""
    with st.expander("A matmul that quantizes, with its source"):
        draw_text(IN_MATMUL)
        if rows := recorded(gpu):
            draw_rows(arrow_table(lines(rows)), column_config=_COLUMNS)
            st.caption(plain(f"{told(map(_measured, rows))}."))
        st.markdown(explanation(MATMUL.explained_in))
        st.markdown(f"**{MATMUL.title}**, the kernel to read: {files(MATMUL)}")
        st.code(text(MATMUL), language="python")
=======
def reason(found: FusedMatmuls) -> str:
    """The paragraph that says why no matmul here quantizes its own operands, in Markdown."""
    return (
        "No matmul here quantizes its own operands. A block of D needs whole rows of A. So a matmul that "
        "quantizes A quantizes each row **as often as D is blocks wide**. A kernel before it quantizes each "
        "row once. A matmul can quantize D, too: it stores each block of D once. Both were timed beside a "
        f"quantizer and a matmul, one after the other ({found.job.title}). Quantizing A in the matmul took "
        f"**{found.a.ratio:.2f}** times as long, quantizing D **{found.d.ratio:.2f}** times. So this program "
        "has neither."
    )
>>>>>>> nofuse
