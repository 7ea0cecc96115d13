"""Facts of the page "Fused quantization" for lessons, computed by what the page draws from."""

from collections.abc import Callable, Mapping

from fp8core.linear import LayerShape, LayerTensor
from fp8core.recipes import RECIPES, Recipe
from kernels.layer.timeline.job import Way
from kernels.layer.timeline.row import LayerRow, Role
from kernels.quantize.plan import HELD
from pages.fused import rows
from pages.fused.controls import ALL_CONTROLS, BLOCK, TENSOR, TOKENS, job_of, layer_of
from pages.fused.losses import Lost, Rates, losses, rates, sentence
from pages.fused.passes import Strategy, copies_of, layer_traffic, least_us, matmuls_us, together
from pages.kit.datasheet import GPU, card
from pages.kit.origins import span
from pages.kit.shared_controls import RECIPE
from pages.kit.widgets import Value

Settings = Mapping[str, Value]

CONTROLS = ALL_CONTROLS
_TOLD = {
    Way.NAIVE: "naive",
    Way.COMPILED: "compiled",
    Way.OURS: "fused",
    Way.BOUND: "if quantizing were free",
}


def recipe_in(settings: Settings) -> Recipe:
    """The published recipe of these values; the default one where the reader's own is chosen."""
    return RECIPES.get(str(settings[RECIPE.key]), RECIPES[RECIPE.default])


def _layer(settings: Settings) -> LayerShape:
    return layer_of(str(settings[TOKENS.key]))


def reads(settings: Settings) -> int:
    """How often the chosen tensor is read to make all its copies; 0 where it stays bf16."""
    tensor, layer = LayerTensor(settings[TENSOR.key]), _layer(settings)
    copies = copies_of(recipe_in(settings), tensor, layer)
    return together(copies).reads(layer.of(tensor), HELD) if copies else 0


def recorded(settings: Settings) -> str:
    """A sentence on the speeds that the first GPU with this step recorded; another one where none has it."""
    job = job_of(recipe_in(settings).name, str(settings[BLOCK.key]), str(settings[TOKENS.key]))
    every = (rows.timelines(source, job) for source in rows.source_control().options if source != rows.HERE)
    found = next(filter(None, every), [])
    rows_of = {one.row.way: one.row for one in found}
    told = [(words, rows_of[way]) for way, words in _TOLD.items() if way in rows_of]
    if not told:
        return "No GPU has recorded this step yet."
    speeds = ", ".join(f"{words} {row.times_bf16:.2f}" for words, row in told)
    days = span(row.date for _, row in told)
    return f"On the {told[0][1].machine.name}, {days}, speeds over bf16's were: {speeds}."


def _losses(settings: Settings) -> tuple[LayerRow, list[Lost], Rates] | None:
    """The fused step that the first GPU recorded, its losses and rates; None where none has it."""
    job = job_of(recipe_in(settings).name, str(settings[BLOCK.key]), str(settings[TOKENS.key]))
    for source in rows.source_control().options:
        found = [] if source == rows.HERE else rows.timelines(source, job)
        ours, reached = next((one.row for one in found if one.row.way is Way.OURS), None), rates(found)
        if ours is not None and reached is not None:
            return ours, losses(ours, reached), reached
    return None


def lost(settings: Settings) -> str:
    """A sentence on what the recorded fused step loses to its bounds; another one where none is recorded."""
    found = _losses(settings)
    return "No GPU has recorded this step yet." if found is None else sentence(*found)


def lost_in_matmuls(settings: Settings) -> float:
    """The share of matmuls in all the time that the recorded fused step loses; 0 where none is recorded."""
    found = _losses(settings)
    if found is None:
        return 0.0
    every = sum(one.lost_us for one in found[1])
    return sum(one.lost_us for one in found[1] if one.role is Role.MATMUL) / every if every else 0.0


def _moved(settings: Settings, strategy: Strategy) -> int:
    return layer_traffic(recipe_in(settings), _layer(settings), strategy).total


def _mib(strategy: Strategy) -> Callable[[Settings], float]:
    return lambda settings: _moved(settings, strategy) / (1 << 20)


def _us(strategy: Strategy) -> Callable[[Settings], float]:
    return lambda settings: least_us(_moved(settings, strategy), card(str(settings[GPU.key])))


def _share(strategy: Strategy) -> Callable[[Settings], float]:
    """The time of quantizing over that of the matmuls, both as short as the datasheet allows."""
    return lambda settings: _us(strategy)(settings) / _matmuls(settings)


def _matmuls(settings: Settings) -> float:
    return matmuls_us(_layer(settings), card(str(settings[GPU.key])))


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "reads": reads,
    "recorded": recorded,
    "lost": lost,
    "lost_in_matmuls": lost_in_matmuls,
    "apart_mib": _mib(Strategy.APART),
    "once_mib": _mib(Strategy.TOGETHER),
    "before_mib": _mib(Strategy.BEFORE),
    "apart_us": _us(Strategy.APART),
    "once_us": _us(Strategy.TOGETHER),
    "before_us": _us(Strategy.BEFORE),
    "matmuls_us": _matmuls,
    "apart_share": _share(Strategy.APART),
    "once_share": _share(Strategy.TOGETHER),
    "before_share": _share(Strategy.BEFORE),
}
