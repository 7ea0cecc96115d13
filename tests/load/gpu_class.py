"""A class on this host's GPUs: python -m tests.load.gpu_class --seed 1 --sessions 30 --heavy

Sessions press Run at once, with recipes, matmuls and shapes drawn at random, straight at the queue. Prints
the times to the first and to the careful answers as JSON. With --heavy, one more session runs the heaviest
job that is allowed, again and again.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.cores import processes_beside_app
from kernels.measure.jobs import Allowance, GemmJob
from kernels.precompile import precompile
from kernels.worker.jobs import Done, Failed, Final, Running, Stopped, Ticket, Waiting
from kernels.worker.queue import WorkerQueue
from kernels.worker.worker import launchers, visible_gpus
from pages.kit.gemm.presets import PRESETS, offered

TICK_S = 0.02
ODD = ((1000, 3000, 5000), (4097, 4096, 4096), (777, 8192, 2048), (64, 14336, 4096), (5120, 5120, 5120))
HEAVIEST = {"recipe": "mxfp8", "matmul": "fprop"}


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


def jobs(count: int, seed: int, *, odd: float = 0.3) -> list[GemmJob]:
    """Jobs as a class would ask for them: mostly what the buttons offer, some of odd shapes or seeds."""
    rng = random.Random(seed)
    drawn_jobs = []
    for _ in range(count):
        matmul = MATMULS[rng.choice([*MATMULS])]
        shape = rng.choice(PRESETS).mnk(matmul)
        if rng.random() < odd:
            mnk = rng.choice([*ODD, tuple(rng.randint(1, 6000) for _ in "mnk")])
            shape = dict(zip("mnk", mnk, strict=True))
        number = 0 if rng.random() < 0.7 else rng.randint(1, 99)
        drawn_jobs.append(GemmJob(recipe=rng.choice([*RECIPES]), matmul=matmul.name, seed=number, **shape))
    return drawn_jobs


def heaviest(allowance: Allowance) -> GemmJob:
    """The largest cube that is allowed."""
    sides = (GemmJob(**HEAVIEST, m=side, n=side, k=side) for side in range(65536, 0, -512))
    return next(job for job in sides if allowance.refusal(job) is None)


def spread(times: Sequence[float | None]) -> dict[str, float | int | None]:
    """The median, the 95th percentile and the longest of the times that are known."""
    ordered = sorted(time for time in times if time is not None)

    def part(share: float) -> float | None:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else None

    return {"p50_s": part(0.5), "p95_s": part(0.95), "max_s": part(1.0), "missing": len(times) - len(ordered)}


def run(options: argparse.Namespace) -> dict[str, object]:
    """Hold the class, and say how long everybody waited."""
    gpus, allowance = visible_gpus(os.environ), Allowance.of(os.environ)
    ends = time.monotonic() + options.seconds
    pool = precompile(offered(), processes_beside_app(len(gpus))) if gpus and not options.no_pool else None
    queue = WorkerQueue(
        launchers(gpus),
        allowance=allowance,
        precompile=pool,
        is_eager=bool(gpus),
    )
    try:
        began = time.monotonic()
        start = Reader(queue.submit(GemmJob(**HEAVIEST, m=64, n=64, k=64), "teacher"), began)
        while not start.has_ended and time.monotonic() < ends:
            start.look(queue)
            time.sleep(TICK_S)
        time.sleep(max(0.0, began + options.warm_s - time.monotonic()))
        heavy, hard = None, heaviest(allowance)
        if options.heavy:
            heavy = queue.submit(hard, "heavy")
            time.sleep(1.0)
        asked = time.monotonic()
        readers = [
            Reader(queue.submit(job, f"session {number}"), asked)
            for number, job in enumerate(jobs(options.sessions, options.seed, odd=options.odd))
        ]
        heavy_runs = 0
        while time.monotonic() < ends:
            for reader in readers:
                reader.look(queue)
            if heavy is not None and isinstance(queue.state(heavy), Final):
                heavy_runs += 1
                hard = replace(hard, seed=heavy_runs)
                heavy = queue.submit(hard, "heavy")
            if all(reader.has_ended for reader in readers):
                break
            time.sleep(TICK_S)
        return {
            "gpus": list(queue.devices) or ["none"],
            "sessions": options.sessions,
            "seed": options.seed,
            "heavy": hard.size if options.heavy else None,
            "heavy_runs": heavy_runs,
            "start_s": start.careful_s and round(start.careful_s, 2),
            "first": spread([reader.first_s for reader in readers]),
            "careful": spread([reader.careful_s for reader in readers]),
            "troubles": sorted({reader.trouble for reader in readers if reader.trouble}),
            "readers": [
                {
                    "job": f"{reader.ticket.job.title}, seed {reader.ticket.job.seed}",
                    "first_s": reader.first_s and round(reader.first_s, 2),
                    "careful_s": reader.careful_s and round(reader.careful_s, 2),
                }
                for reader in sorted(readers, key=lambda reader: reader.first_s or options.seconds)
            ]
            if options.all
            else [],
        }
    finally:
        queue.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.gpu_class")
    parser.add_argument("--seed", type=int, default=0, help="of the jobs that are drawn")
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--odd", type=float, default=0.3, help="the share of shapes that no button offers")
    parser.add_argument("--heavy", action="store_true", help="one more session runs the heaviest allowed job")
    parser.add_argument(
        "--warm-s", type=float, default=0.0, help="idle time before the class, spent getting ready"
    )
    parser.add_argument("--no-pool", action="store_true", help="no processes that compile ahead")
    parser.add_argument("--seconds", type=float, default=85.0, help="the end, whatever is still missing")
    parser.add_argument("--all", action="store_true", help="list every reader's times")
    sys.stdout.write(json.dumps(run(parser.parse_args(arguments)), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
