"""Several faults at once while a small class works, as `make load` has each of them often."""

import asyncio
import random

from tests.asynchronous import complete
from tests.load.faults import FAULTS, OPTIONS, Class, Outcome, complaints, nothing, settle, suffer
from tests.serving import serving
from tests.sweeps import exhaustive

TOGETHER = {"a worker is killed": 1, "a CUDA fault": 1, "garbage in the pipe": 1, "readers vanish": 2}
GROWTH_MB = 40
GOOD = {"answers": 3, "told": ["The worker was ended by signal SIGKILL."], "may_be_told": 1}


async def all_at_once(class_: Class, times: int) -> None:
    await asyncio.gather(*(FAULTS[name][0](class_, often) for name, often in TOGETHER.items()))


@exhaustive
def test_faults_stay_small():
    with serving(*OPTIONS, module="tests.load.stand_in_server") as server:
        class_ = Class(server, students=2, draw=random.Random(1))

        async def suffer_twice() -> list[Outcome]:
            before = await suffer(class_, nothing, 0)
            before.left = await settle(class_)
            after = await suffer(class_, all_at_once, 1)
            after.left = await settle(class_)
            return [before, after]

        before, after = complete(suffer_twice())
        assert complaints(before) == complaints(after) == []
        assert after.times == sum(TOGETHER.values())
        assert after.left.descriptors <= before.left.descriptors
        assert after.left.processes <= before.left.processes
        assert after.left.rss_mb - before.left.rss_mb < GROWTH_MB


def test_a_fault_that_others_notice_is_a_complaint():
    assert complaints(Outcome(**GOOD)) == []
    for changed, why in (
        ({"lost": ["3 × 64 × 64"]}, "lost"),
        ({"wrong": ["3 × 64 × 64"]}, "wrong"),
        ({"may_be_told": 0}, "jobs of others"),
        ({"culprits_due": 1}, "were told"),
        ({"told": ["It lacks /usr/lib/libcuda.so."]}, "no sentence"),
    ):
        assert any(why in text for text in complaints(Outcome(**GOOD | changed))), why
