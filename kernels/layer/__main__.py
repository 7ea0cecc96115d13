"""python -m kernels.layer --model: train a Llama of transformers in bf16 and in recipes, side by side.

Eager, checkpointed and compiled. A layer's step kernel by kernel is `python -m kernels.measure layer`.

Exit codes: 0 all trained, 1 something is missing, 2 bad arguments, 130 stopped by Ctrl-C.
"""

import argparse
import sys
from collections.abc import Sequence

from kernels import moved
from kernels.device import Unsupported
from kernels.layer.plan import LAYER_RECIPES
from kernels.typed import check_whole

ALL = "all"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parser().parse_args(arguments)
    if not options.model:
        return moved.main("kernels.layer")
    try:
        sizes = {"--layers": options.layers, "--steps": options.steps}
        sizes |= {"--tokens": min(options.tokens or [1]), "--shape": min(options.shape or [1])}
        check_whole(1, 2**31 - 1, **sizes)
        from kernels.layer.llama import run

        if ALL in options.recipe:
            options.recipe = list(LAYER_RECIPES)
        return run(options)
    except KeyboardInterrupt:
        return 130
    except Unsupported as error:
        print(f"kernels.layer: {error}", file=sys.stderr)
        return 1
    except (ValueError, MemoryError) as error:
        print(f"kernels.layer: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.layer", description=(__doc__ or "").split("\n")[0]
    )
    recipes = [*LAYER_RECIPES, ALL]
    parser.add_argument("--model", action="store_true", help="the model of transformers")
    parser.add_argument("--recipe", nargs="+", default=["deepseek_v3"], choices=recipes, metavar="RECIPE")
    parser.add_argument("--tokens", nargs="+", type=int, help="of a step")
    parser.add_argument("--shape", nargs=2, type=int, metavar=("WIDTH", "HIDDEN"))
    parser.add_argument("--steps", type=int, default=30, help="of each model (default: %(default)s)")
    parser.add_argument("--layers", type=int, default=8, help="blocks of the model (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
