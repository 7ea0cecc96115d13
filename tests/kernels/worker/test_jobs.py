"""Contract: every kind of job and its result survive the pipe; the real worker takes a sweep as it takes a
GEMM, and without a Hopper GPU says in a sentence why not.
"""

import os
import time

import pytest

from fp8core.experiments.dot_terms import TermKind
from kernels.bench.machine import Machine
from kernels.bench.ready.job import Readied, ReadyJob
from kernels.layer.timeline.job import Way
from kernels.layer.timeline.row import LeftOut, Timeline
from kernels.probe.job import ProbeJob, ProbeRow, SweepPoint
from kernels.train.job import TrainJob
from kernels.train.ready.job import TrainReadied, TrainReadyJob
from kernels.train.sizes import ON_CPU
from kernels.worker.jobs import KINDS, Job, kind_of, packed, unpacked
from kernels.worker.launch import launchers, visible_gpus
from kernels.worker.messages import Do, Finished, decode, encode
from kernels.worker.queue import WorkerQueue
from kernels.worker.states import Done, Failed, Stopped
from tests.kernels.bench.any_shape.made_up import DRAW
from tests.kernels.bench.made_up import CEILINGS
from tests.kernels.check.reports import REPORT
from tests.kernels.layer.timeline.made_up import JOB
from tests.kernels.layer.timeline.steps import every_way
from tests.kernels.train.made_up import ROW as RUN
from tests.kernels.worker.stand_in import Act, job, row

PATIENCE_S = 120.0
PROBE = ProbeJob(operation="wgmma", terms=TermKind.SAME_SIGN, format="e4m3", seed=3, lengths=(32, 256))
SWEPT = ProbeRow(
    job=PROBE,
    machine=Machine(name="NVIDIA H200", capability=(9, 0), versions={"torch": "2.11.0"}),
    date="2026-11-20",
    points=(SweepPoint(k=32, rms=1e-4, bias=-1e-5, outputs=1024, mismatches=0),),
)
PART = TrainReadyJob(recipe="nvfp4", model="s", layer="qkv", call="x")
EXAMPLES = {
    "gemm": (job(Act.FINE), row(job(Act.FINE))),
    "probe": (PROBE, SWEPT),
    "ceilings": (CEILINGS.job, CEILINGS),
    "check": (REPORT.job, REPORT),
    "any_shape": (DRAW.job, DRAW),
    "train": (RUN.job, RUN),
    "timeline": (
        JOB,
        Timeline(job=JOB, rows=tuple(every_way()), left_out=(LeftOut(way=Way.NAIVE, reason="none"),)),
    ),
    "ready": (ReadyJob(job(Act.FINE)), Readied(ReadyJob(job(Act.FINE)), 1.5)),
    "train_ready": (PART, TrainReadied(PART, 1.5)),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_job_and_its_result_survive_the_pipe(kind):
    asked, came = EXAMPLES[kind.name]
    assert (kind_of(asked), kind_of(came)) == (kind, kind)
    assert decode(encode(Do(1, asked))) == Do(1, asked)
    assert decode(encode(Finished(1, came))) == Finished(1, came)
    assert asked.title
    assert "smaller" in asked.size_advice
    assert asked.size


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        {},
        {"kind": "other"},
        {"kind": []},
        {"kind": "probe"},
        packed(PROBE) | {"lengths": 7},
        packed(PROBE) | {"terms": "no"},
        packed(PROBE) | {"more": 1},
        packed(PROBE) | {"kind": "gemm"},
    ],
    ids=str,
)
def test_what_is_no_job_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        unpacked(Job, data)


def test_the_real_worker_takes_a_sweep_and_goes_on():
    gpus = visible_gpus(os.environ)
    queue = WorkerQueue(launchers(gpus)[:1])
    try:
        for asked in (PROBE, job(Act.FINE), TrainJob(recipe="mxfp8", model=ON_CPU, steps=2)):
            ticket = queue.submit(asked, "s")
            deadline = time.monotonic() + PATIENCE_S
            while not isinstance(state := queue.state(ticket), (Done, Failed, Stopped)):
                assert time.monotonic() < deadline, f"still {state}"
                time.sleep(0.02)
            if asked is PROBE and not gpus:
                assert isinstance(state, Failed)
                assert "Hopper's tensor core (compute capability 9.0)" in state.reason
            else:
                assert state.row.job == asked
                assert asked is not PROBE or state.row.mismatches == 0
    finally:
        queue.close()
