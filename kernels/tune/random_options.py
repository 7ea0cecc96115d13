"""The options of python -m kernels.tune --random."""

import argparse
from pathlib import Path

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES

RECIPES_DRAWN = ("per_tensor", "per_tensor_e4m3", "rowwise", "deepseek_v3", "mxfp8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a random draw."""
    group = parser.add_argument_group("random shapes")
    group.add_argument("--random", type=int, default=0, metavar="N", help="draw N layers and time them")
    group.add_argument("--seed", type=int, default=1, metavar="S", help="of the draw; 1 where none is given")
    group.add_argument("--recipes", nargs="+", choices=RECIPES, default=[*RECIPES_DRAWN], metavar="NAME")
    group.add_argument("--matmuls", nargs="+", choices=MATMULS, default=[*MATMULS], metavar="NAME")
    group.add_argument("--regret", type=int, default=0, metavar="K", help="time the model's K best, too")
    group.add_argument("--record", action="store_true", help="keep the rows for the page Benchmarks")
    group.add_argument("--samples", type=Path, help="a file that every launch's time is added to")
    group.add_argument("--fit", action="store_true", help="fit the cost model to --samples and what is timed")
