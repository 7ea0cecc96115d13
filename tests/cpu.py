"""What a piece of work costs this process, on a machine that others use too.

Seconds on the clock grow with every neighbor; seconds of the processor grow less, but they only ever grow: of
several measurements the least is the closest to the cost.
"""

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object]) -> float:
    """The processor's seconds, of all threads of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def least(measure: Callable[[], float], bound: float, times: int = 3) -> float:
    """The least of some measurements; the first one that is within the bound is enough."""
    found = measure()
    for _ in range(times - 1):
        if found <= bound:
            break
        found = min(found, measure())
    return found
