"""What a piece of work costs this process, on a machine that others use too.

Seconds on the clock grow with every neighbor; seconds of the processor hardly do.
"""

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object]) -> float:
    """The processor's seconds, of all threads of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start
