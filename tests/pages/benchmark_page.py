"""The page "Benchmarks" as its tests read it."""

import json

from kernels.bench.job import GemmJob

PAGE = "pages/benchmarks.py"
JOB = GemmJob(recipe="per_tensor", matmul="fprop", m=4096, n=4096, k=7168)


def texts(at) -> str:
    """All running text of the page."""
    kinds = (at.markdown, at.caption, at.info, at.error, at.title, at.header)
    return "\n".join(element.value for kind in kinds for element in kind)


def layers(at) -> list[dict]:
    """The layers of the page's one chart."""
    (found,) = at.get("vega_lite_chart")
    return json.loads(found.proto.spec)["layer"]
