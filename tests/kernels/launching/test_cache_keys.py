"""Contract: a kernel's key does not depend on what its process launched before: another process finds it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from kernels.launching import launch as launches

TOP = Path(__file__).parents[3]


def test_every_function_is_hashed_after_its_callees_and_no_name_stands_for_two_constants():
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "tests.kernels.launching.keys", "3"]
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, check=True, text=True)
    facts = json.loads(done.stdout)
    assert facts.pop("functions") > 150
    assert facts == {"early": [], "twice": []}


def test_a_launch_hashes_its_kernel_so(monkeypatch):
    hashed = []
    monkeypatch.setattr(launches, "hash_callees_first", hashed.append)
    kernel = {(1,): lambda **options: "handle"}
    assert launches.launch(kernel, (1,)) == "handle"
    assert hashed == [kernel]
