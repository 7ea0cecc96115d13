"""Paths of the project's own files: measured data and pictures."""

from pathlib import Path

from fp8core.inputs.recorded import FOLDER

TOP = Path(__file__).resolve().parents[1]
"""The folder that holds app.py."""
ASSETS = TOP / "assets"
RECORDS = ASSETS / "bench"
"""<gpu>.jsonl: recorded benchmark rows."""
LAYER_RECORDS = ASSETS / "layer"
"""<gpu>.jsonl: recorded timelines of a layer's step."""
TUNED = ASSETS / "tuned"
"""<architecture>.json: the best blocks that were measured."""
COST = ASSETS / "cost"
"""<architecture>.json: the constants of the cost model."""
VECTORS = ASSETS / "vectors"
"""<gpu>.npz: outputs captured from real tensor cores."""
TRAIN = ASSETS / "train"
"""<gpu>.jsonl: recorded training runs."""
TENSORS = FOLDER
"""*.safetensors: crops of tensors of a training run; amax.json: amax of tensors step by step."""
