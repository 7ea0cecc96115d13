"""Contract: what README shows to be run from a notebook runs as shown."""

import re
from pathlib import Path

import numpy as np

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()


def test_the_notebook_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    rng = np.random.default_rng(0)
    names = {"x": rng.standard_normal((256, 64)).astype(np.float32)}
    names["b"] = np.zeros((4, 64), np.uint8)
    exec(compile(example, "README.md", "exec"), names)
    assert names["quantized"].codes.shape == (256, 64)
    assert names["quantized"].scale.shape == (2, 64)


def test_every_page_is_in_the_table() -> None:
    app = (Path(__file__).resolve().parents[1] / "app.py").read_text()
    for title in re.findall(r'title="([^"]+)"', app):
        assert f"| {title} |" in README
