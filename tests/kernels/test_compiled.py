"""Contract: without a GPU code is compiled for one and kept in a folder, which is used where it was copied
to, unless another one was chosen.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from kernels.compiled import use_compiled
from kernels.paths import TOP

COMPILE = """
import os, sys
from pathlib import Path
from kernels.compiled import use_compiled

use_compiled(folder=Path(sys.argv[1]))
import torch
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from kernels.check.quantizers import launch_cast, launch_quantizer
from kernels.device import HOPPER, current_device
from kernels.precompile import compile_only

compile_only(HOPPER)
from triton import knobs

hits = []
knobs.compilation.listener = lambda **told: hits.append((told["src"].name, told["cache_hit"]))
launch_cast(FORMATS["e4m3"])
launch_quantizer(RECIPES["deepseek_v3"].operand(MATMULS["fprop"], Side.A), (256, 256), 0, 1)
assert current_device() == HOPPER
assert HOPPER.place == "cpu"
assert not torch.cuda.is_initialized()
print(dict(hits))
"""


def hits(folder: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TRITON_")}
    env["PYTHONPATH"] = os.pathsep.join([str(TOP), *sys.path])
    command = [sys.executable, "-c", COMPILE, str(folder)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()


def test_a_copied_folder_has_every_kernel_that_was_compiled(tmp_path):
    (tmp_path / "made").mkdir()
    assert hits(tmp_path / "made") == "{'encode_kernel': False, 'quantize_kernel': False}"
    shutil.move(tmp_path / "made", tmp_path / "copied")
    assert hits(tmp_path / "copied") == "{'encode_kernel': True, 'quantize_kernel': True}"
    groups = [json.loads(path.read_text()) for path in (tmp_path / "copied").glob("*/__grp__*.json")]
    assert len(groups) == 2
    assert all(Path(path).exists() for group in groups for path in group["child_paths"].values())


def test_a_folder_is_used_where_it_is_there_and_no_other_was_chosen(tmp_path):
    for chosen, folder in (({}, tmp_path / "none"), ({"TRITON_CACHE_DIR": "/chosen"}, tmp_path)):
        environment = dict(chosen)
        use_compiled(environment, folder)
        assert environment == chosen
    use_compiled(environment := {}, tmp_path)
    assert environment == {"TRITON_CACHE_DIR": str(tmp_path)}
