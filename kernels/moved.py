"""Older names of command lines, and their new ones."""

import sys

NOW = {
    "kernels.layer": "python -m kernels.measure layer (here stays --model)",
    "kernels.bench": "python -m kernels.measure gemm, quantizer, ceilings or host",
    "kernels.tune": "python -m kernels.measure tune or random",
    "kernels.probe": "python -m kernels.measure probe",
}


def main(name: str) -> int:
    print(f"{name} is now {NOW[name]}: run python -m kernels.measure --help", file=sys.stderr)
    return 2
