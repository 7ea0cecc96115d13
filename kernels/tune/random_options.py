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


def check(options: argparse.Namespace) -> None:
    """Raise ValueError for numbers out of range, and a fit that has nothing to fit to."""
    for name, least in (("random", 0), ("regret", 0), ("seed", 0), ("workers", 1)):
        if getattr(options, name) < least:
            raise ValueError(f"--{name} is a whole number from {least}, got {getattr(options, name)}")
    if not options.budget > 0:
        raise ValueError(f"--budget is above 0, got {options.budget:g}")
    has_samples = options.samples is not None and options.samples.is_file()
    if options.fit and not (options.random or has_samples):
        raise ValueError(f"--fit needs --random N, or a file of --samples; got {options.samples}")
