"""Steps of the tests on Live GEMM."""

from tests.pages.gemm_rows import run_until
from tests.pages.texts import is_quiet

PAGE = "pages/live_gemm.py"
SMALL = {"m": "64", "n": "64", "k": "64"}


def first_row(at) -> dict[str, object]:
    """The first line of the table of results."""
    return at.dataframe[0].value.iloc[0].to_dict()


def headings(at) -> list[str]:
    """The lines above the parts of the picture."""
    return [one.value for one in at.markdown if one.value[:1] in "□■" and one.value]


def run_job(at):
    at.button(key="run").click().run()
    run_until(at, is_quiet)
