"""The server's memory and cores: freed arrays leave it, and collections leave modules alone."""

import os
import platform
import subprocess
import sys

import pytest

from tests.pages.gemm_rows import TOP

ARRAYS, MEGABYTES = 100, 150
# A server's life without its processes: reruns in threads use 150 MB each, and keep small arrays
PROGRAM = f"""
import asyncio, gc, sys, threading
import pages.kit.server.lifespan as server

def rss():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

class NoPool:
    def start(self): pass
    def close(self): pass

def rerun(stays):
    import numpy as np
    arrays = []
    for size in range(1, {ARRAYS} + 1):
        arrays.append(np.ones(size * {MEGABYTES} * 2_000_000 // {ARRAYS}**2 // 8))
        stays.append(np.ones(100))

async def main():
    server.pool = NoPool
    async with server.lifespan(None):
        import numpy
        before, stays = rss(), []
        for _ in range(4):
            threads = [threading.Thread(target=rerun, args=(stays,)) for _ in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        import threadpoolctl
        libraries = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
        cores = max(one["num_threads"] for one in libraries)
        print(rss() - before, gc.get_freeze_count(), "pages.scaling.window" in sys.modules, cores)

asyncio.run(main())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such settings")
def test_what_reruns_free_leaves_the_server_and_what_stays_is_searched_by_no_collection():
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=TOP,
        env={key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    kept_mb, frozen, imported, cores = answer.stdout.splitlines()[-1].split()
    assert float(kept_mb) < 30
    assert int(frozen) > 50_000
    assert imported == "True"
    assert cores == "1", "of each matrix: sessions are many"
