"""A class on this host's GPUs: python -m tests.load.gpu_class --seed 1 --sessions 30

Sessions press Run at once, with recipes, matmuls and shapes drawn at random, straight at the queue. Prints
the times to the first and to the careful answers as JSON.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.cores import processes_beside_app
from kernels.measure.jobs import Allowance, GemmJob
from kernels.nvml import driver
from kernels.precompile import precompile
from kernels.worker.jobs import Done, Failed, Running, Stopped, Ticket, Waiting
from kernels.worker.queue import WorkerQueue
from kernels.worker.worker import launchers, visible_gpus
from pages.kit.gemm.presets import PRESETS, offered

TICK_S = 0.02
ODD = ((1000, 3000, 5000), (4097, 4096, 4096), (777, 8192, 2048), (64, 14336, 4096), (5120, 5120, 5120))
ODD_SHARE = 0.3


@dataclass
class Reader:
    """One session: its ticket, and the seconds until its answers."""

    ticket: Ticket
    asked: float
    first_s: float | None = None
    careful_s: float | None = None
    trouble: str = ""

    @property
    def has_ended(self) -> bool:
        """True if no further answer comes."""
        return self.careful_s is not None or bool(self.trouble)

    def look(self, queue: WorkerQueue) -> None:
        """Note what has come."""
        if self.has_ended:
            return
        state = queue.state(self.ticket)
        since = time.monotonic() - self.asked
        has_partial = isinstance(state, Waiting | Running) and state.partial is not None
        if self.first_s is None and (has_partial or isinstance(state, Done)):
            self.first_s = since
        if isinstance(state, Done):
            self.careful_s = since
        if isinstance(state, Failed | Stopped):
            self.trouble = state.reason


def jobs(count: int, seed: int) -> list[GemmJob]:
    """Jobs as a class would ask for them: mostly what the buttons offer, some of odd shapes or seeds."""
    rng = random.Random(seed)
    drawn_jobs = []
    for _ in range(count):
        matmul = MATMULS[rng.choice([*MATMULS])]
        shape = rng.choice(PRESETS).mnk(matmul)
        if rng.random() < ODD_SHARE:
            mnk = rng.choice([*ODD, tuple(rng.randint(1, 6000) for _ in "mnk")])
            shape = dict(zip("mnk", mnk, strict=True))
        number = 0 if rng.random() < 0.7 else rng.randint(1, 99)
        drawn_jobs.append(GemmJob(recipe=rng.choice([*RECIPES]), matmul=matmul.name, seed=number, **shape))
    return drawn_jobs


def spread(times: Sequence[float | None]) -> dict[str, float | int | None]:
    """The median, the 95th percentile and the longest of the times that are known."""
    ordered = sorted(time for time in times if time is not None)

    def part(share: float) -> float | None:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else None

    return {"p50_s": part(0.5), "p95_s": part(0.95), "max_s": part(1.0), "missing": len(times) - len(ordered)}


def run(options: argparse.Namespace) -> dict[str, object]:
    """Hold the class, and say how long everybody waited."""
    gpus = visible_gpus(os.environ)
    ends = time.monotonic() + options.seconds
    queue = WorkerQueue(
        launchers(gpus),
        allowance=Allowance.of(os.environ),
        precompile=precompile(offered(), processes_beside_app(len(gpus))) if gpus else None,
        is_eager=bool(gpus),
    )

    def answered(asked: dict[str, GemmJob]) -> list[Reader]:
        began = time.monotonic()
        readers = [Reader(queue.submit(job, session), began) for session, job in asked.items()]
        while not all(reader.has_ended for reader in readers) and time.monotonic() < ends:
            for reader in readers:
                reader.look(queue)
            time.sleep(TICK_S)
        return readers

    try:
        (start,) = answered({"teacher": GemmJob(recipe="mxfp8", matmul="fprop", m=64, n=64, k=64)})
        drawn = jobs(options.sessions, options.seed)
        readers = answered({f"session {number}": job for number, job in enumerate(drawn)})
        return {
            "gpus": list(driver().names) or ["none"],
            "sessions": options.sessions,
            "seed": options.seed,
            "start_s": start.careful_s and round(start.careful_s, 2),
            "first": spread([reader.first_s for reader in readers]),
            "careful": spread([reader.careful_s for reader in readers]),
            "troubles": sorted({reader.trouble for reader in readers if reader.trouble}),
        }
    finally:
        queue.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.gpu_class")
    parser.add_argument("--seed", type=int, default=0, help="of the jobs that are drawn")
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=85.0, help="the end, whatever is still missing")
    sys.stdout.write(json.dumps(run(parser.parse_args(arguments)), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
