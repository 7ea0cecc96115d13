"""Contract: a page that is closed or reloaded gives its jobs up: those that wait and the one that runs."""

import time

from tests.pages.served.visitor import PATIENCE_S, visiting
from tests.serving import serving

RUNNING = "my job: Running"


def wait_for(visitor, text: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (seen := visitor.run())[0] != text:
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)


def test_who_leaves_makes_room_for_who_is_there():
    with serving(script="tests/pages/served/shared_app.py") as server, visiting(server.url, "busy=3") as last:
        with visiting(server.url, "busy=1") as first, visiting(server.url, "busy=2") as ghost:
            wait_for(first, RUNNING)
            wait_for(ghost, "my job: Waiting")
            wait_for(last, "my job: Waiting")
        wait_for(last, RUNNING)
