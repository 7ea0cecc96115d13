"""Facts of the page "Fused quantization" for the lesson."""

from collections.abc import Callable

from fp8core.linear import LayerShape, LayerTensor
from fp8core.recipes import RECIPES, Recipe
from kernels.layer.timeline.row import LayerRow, Role, Way
from pages.fused import rows
from pages.fused.amax import TENSOR, Strategy, layer_traffic, least_us, matmuls_us, reads_of
from pages.fused.kernels import KERNEL
from pages.fused.rows import SHOW, TOKENS, layer_of
from pages.fused.timeline import BLOCK, WAY, WAY_NAMES, job_of, lost_time, sentence
from pages.kit.origins import span
from pages.kit.shared_controls import GPU, RECIPE, RECIPE_CONTROLS, card
from pages.kit.widgets import Settings

CONTROLS = (SHOW, *RECIPE_CONTROLS, BLOCK, WAY, TOKENS, TENSOR, KERNEL, GPU)
NOT_RECORDED = "No GPU has recorded this step yet."
_QUOTED = (Way.NAIVE, Way.COMPILED, Way.OURS, Way.BOUND)


def recipe_in(settings: Settings) -> Recipe:
    """The published recipe of these values; the default in place of the reader's own."""
    return RECIPES.get(str(settings[RECIPE.key]), RECIPES[RECIPE.default])


def _layer(settings: Settings) -> LayerShape:
    return layer_of(str(settings[TOKENS.key]))


def _ways(settings: Settings) -> list[LayerRow]:
    job = job_of(recipe_in(settings).name, str(settings[BLOCK.key]), str(settings[TOKENS.key]))
    return next(filter(None, (rows.timelines(gpu, job) for gpu in rows.recorded().rows)), [])


def recorded(settings: Settings) -> str:
    rows_quoted = [row for row in _ways(settings) if row.way in _QUOTED]
    if not rows_quoted:
        return NOT_RECORDED
    speeds = ", ".join(f"{WAY_NAMES[row.way.value]} {row.times_bf16:.2f}" for row in rows_quoted)
    days = span(row.date for row in rows_quoted)
    return f"On the {rows_quoted[0].gpu}, {days}, speeds over bf16's were: {speeds}."


def lost(settings: Settings) -> str:
    step = lost_time(_ways(settings))
    return NOT_RECORDED if step is None else sentence(*step)


def lost_in_matmuls(settings: Settings) -> float:
    """The matmuls' share of the time that the recorded fused step loses."""
    pieces = step[1] if (step := lost_time(_ways(settings))) else []
    every = sum(one.lost_us for one in pieces)
    return sum(one.lost_us for one in pieces if one.role is Role.MATMUL) / every if every else 0.0


def _bytes(settings: Settings, strategy: Strategy) -> int:
    return layer_traffic(recipe_in(settings), _layer(settings), strategy).total()


def _mib(strategy: Strategy) -> Callable[[Settings], float]:
    return lambda settings: _bytes(settings, strategy) / (1 << 20)


def _us(strategy: Strategy) -> Callable[[Settings], float]:
    return lambda settings: least_us(_bytes(settings, strategy), card(str(settings[GPU.key])))


def _matmuls(settings: Settings) -> float:
    return matmuls_us(_layer(settings), card(str(settings[GPU.key])))


FACTS = {
    "reads": lambda settings: reads_of(
        recipe_in(settings), LayerTensor(settings[TENSOR.key]), _layer(settings)
    ),
    "recorded": recorded,
    "lost": lost,
    "lost_in_matmuls": lost_in_matmuls,
    "apart_mib": _mib(Strategy.APART),
    "once_mib": _mib(Strategy.TOGETHER),
    "once_us": _us(Strategy.TOGETHER),
    "before_us": _us(Strategy.BEFORE),
    "matmuls_us": _matmuls,
    "once_share": lambda settings: _us(Strategy.TOGETHER)(settings) / _matmuls(settings),
}
