"""python -m kernels.layer --model: train a Llama of transformers in bf16 and in recipes, side by side.

A recipe trains twice: with its linear layers converted, and with a SwigluMlp in each block as well.

Models take turns of a few steps, so that a slow moment of the machine slows all: eager, checkpointed and
compiled. It needs `pip install transformers`.

Exit codes: 0 all trained, 1 something is missing, 2 bad arguments, 130 stopped by Ctrl-C.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import cycle, product
from typing import Any, NamedTuple

import torch
from torch import nn

from kernels import moved
from kernels.device import Unsupported
from kernels.layer.convert import convert_to_float8_training
from kernels.layer.mlp import SwigluMlp
from kernels.layer.plan import LAYER_RECIPES
from kernels.layer.timeline.trace import wait
from kernels.text_table import columns, text
from kernels.train.job import HEAD_DIM
from kernels.train.text import installed_text
from kernels.typed import check_whole

ALL = "all"
BF16 = "bf16"
WAYS = ("eager", "checkpointed", "compiled")
_HEAD, _LENGTH, _RATE = "lm_head", 2048, 1e-4
_TURN_STEPS, _WARM_STEPS = 3, 3
_MIB = 1 << 20
_HEADER = ("recipe", "ms a step", "× bf16", "MiB at most", "first loss", "last loss")


class Llama(NamedTuple):
    """Sizes; the defaults have 509 million weights in 57 linear layers."""

    layers: int = 8
    width: int = 2048
    hidden: int = 5632
    vocabulary: int = 24_000

    def model(self, device: torch.device) -> nn.Module:
        """A new model in bf16. Raises Unsupported if transformers is not installed."""
        try:
            from transformers import LlamaConfig, LlamaForCausalLM
        except ImportError as error:
            raise Unsupported(
                f"the model is transformers' Llama: {error}; pip install transformers"
            ) from error
        config = LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.width,
            intermediate_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=max(1, self.width // HEAD_DIM),
            use_cache=False,
            attn_implementation="sdpa",
        )
        torch.manual_seed(0)
        with device:
            return LlamaForCausalLM(config).to(torch.bfloat16)


class Contender:
    """One model in training; its head stays in bf16."""

    def __init__(
        self, sizes: Llama, recipe: str, way: str, tokens: int, device: torch.device, *, fuses: bool = False
    ) -> None:
        """fuses: with a SwigluMlp in each block."""
        self.name, self.losses, self._times_ms = f"{recipe}, SwigluMlp" if fuses else recipe, [], []
        self._windows = _windows(tokens, _text(device))
        before = torch.cuda.memory_allocated()
        model = sizes.model(device)
        if recipe != BF16:
            _convert(model, recipe, device.type != "cuda", fuses)
        if way == "checkpointed":
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        self._optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, fused=True)
        self._run: Callable[..., Any] = torch.compile(model.train()) if way == "compiled" else model.train()
        for _ in range(_WARM_STEPS):
            self._step()
        wait()
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        self._step()
        self.peak_mib = (torch.cuda.max_memory_allocated() - before) / _MIB

    def turn(self) -> None:
        wait()
        start = time.perf_counter()
        for _ in range(_TURN_STEPS):
            self._step()
        wait()
        self._times_ms.append(1e3 * (time.perf_counter() - start) / _TURN_STEPS)

    @property
    def step_ms(self) -> float:
        return statistics.median(self._times_ms)

    def cells(self, bf16_ms: float) -> tuple[str, ...]:
        times = f"{self.step_ms:.1f}", f"{bf16_ms / self.step_ms:.2f}"
        losses = (f"{float(self.losses[at]):.3f}" for at in (0, -1))
        return (self.name, *times, f"{self.peak_mib:,.0f}", *losses)

    def _step(self) -> None:
        windows = next(self._windows)
        loss = self._run(input_ids=windows, labels=windows).loss
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.losses.append(loss.detach())


def _convert(model: nn.Module, recipe: str, emulate: bool, fuses: bool) -> None:
    convert_to_float8_training(
        model,
        recipe=recipe,
        emulate=emulate,
        module_filter_fn=lambda layer, fqn: fqn != _HEAD and not (fuses and ".mlp." in fqn),
    )
    for block in model.model.layers if fuses else ():
        mlp = block.mlp
        block.mlp = SwigluMlp.from_linears(mlp.gate_proj, mlp.up_proj, mlp.down_proj, recipe, emulate=emulate)


@cache
def _text(device: torch.device) -> torch.Tensor:
    """uint8[bytes] of kernels.train. A copy in each step would wait for all that the GPU has to do."""
    return torch.from_numpy(installed_text().train.copy()).to(device)


def _windows(tokens: int, text: torch.Tensor) -> Iterator[torch.Tensor]:
    """int64[sequences, length]: bytes of a text, again and again."""
    length = min(tokens, _LENGTH)
    size = max(1, tokens // length) * length
    for batch in cycle(text[: len(text) // size * size].split(size)):
        yield batch.view(-1, length).long()


def contest(
    sizes: Llama, recipes: Sequence[str], way: str, tokens: int, steps: int, device: torch.device
) -> list[Contender]:
    pairs = [(recipe, fuses) for recipe in recipes for fuses in (False, True) if recipe != BF16 or not fuses]
    contenders = [Contender(sizes, name, way, tokens, device, fuses=fuses) for name, fuses in pairs]
    while len(contenders[0].losses) < max(steps, _WARM_STEPS + 1 + _TURN_STEPS):
        for each in contenders:
            each.turn()
    return contenders


def run(options: argparse.Namespace) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    where = torch.cuda.get_device_name() if device.type == "cuda" else "CPU, by the reference's rules"
    width, hidden = options.shape
    sizes = Llama(layers=options.layers, width=width, hidden=hidden)
    print(f"Llama, {sizes.layers} layers of {sizes.width} × {sizes.hidden}, on {where}, ", end="")
    print(f"torch {torch.__version__}")
    for way, tokens in product(options.way, options.tokens):
        contenders = contest(sizes, (BF16, *options.recipe), way, tokens, options.steps, device)
        rows = [each.cells(contenders[0].step_ms) for each in contenders]
        print(f"\n{way}, {tokens} tokens a step, {len(contenders[0].losses)} steps")
        print(text(columns(rows, header=_HEADER)), flush=True)
        del contenders
        torch.cuda.empty_cache()


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if not options.model:
        return moved.main("kernels.layer")
    try:
        for name in ("layers", "steps", "tokens", "shape"):
            value = getattr(options, name)
            check_whole(1, 2**31 - 1, **{f"--{name}": min(value) if isinstance(value, Sequence) else value})
        if ALL in options.recipe:
            options.recipe = list(LAYER_RECIPES)
        run(options)
        return 0
    except KeyboardInterrupt:
        return 130
    except torch.OutOfMemoryError:
        print("kernels.layer: the GPU is full; each recipe trains two models: name fewer", file=sys.stderr)
        return 2
    except (Unsupported, ValueError, MemoryError) as error:
        print(f"kernels.layer: {error}", file=sys.stderr)
        return 1 if isinstance(error, Unsupported) else 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels.layer", description=(__doc__ or "").split("\n")[0]
    )
    sizes, shape = Llama(), ("WIDTH", "HIDDEN")
    parser.add_argument("--model", action="store_true", help="the model of transformers")
    recipes, words = [*LAYER_RECIPES, ALL], "each trains two models (default: deepseek_v3)"
    parser.add_argument(
        "--recipe", nargs="+", default=["deepseek_v3"], choices=recipes, metavar="RECIPE", help=words
    )
    parser.add_argument("--way", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--tokens", nargs="+", type=int, default=[4096, 16384], help="of a step")
    parser.add_argument("--shape", nargs=2, type=int, default=(sizes.width, sizes.hidden), metavar=shape)
    parser.add_argument("--steps", type=int, default=30, help="of each model (default: %(default)s)")
    parser.add_argument(
        "--layers", type=int, default=sizes.layers, help="blocks of the model (default: %(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
