"""The jobs that the page "Benchmarks" runs on this server's GPU, and why it cannot without one."""

from collections.abc import Callable
from typing import Any

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.any_shape.job import AnyShapeDraw, AnyShapeJob
from kernels.bench.ceilings import CeilingsJob
from kernels.bench.job import Cache, GemmJob
from pages.benchmarks.controls import DRAW_COUNT, DRAW_SEED, SHAPE, SHAPES
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm.presets import refusal
from pages.kit.recipes import draw_recipe, recipe_values
from pages.kit.shared_controls import RECIPE
from pages.kit.view import here

NO_GPU = (
    "This server has no GPU, so nothing can be measured here. All figures are recorded ones. Start the app "
    "on a machine with a GPU that multiplies FP8, and this button measures there."
)


def draw_gemm(controls: Controls, matmul: str, cache: Cache) -> None:
    """Draw a recipe, a shape and the button that runs this matmul with them."""
    more = here().more
    more.markdown(f"**Measure one here**: {MATMULS[matmul].title}, {cache.value} L2")
    draw_recipe(controls, more)
    preset = SHAPES[controls.draw(SHAPE)]
    job = GemmJob(**recipe_values(controls), matmul=matmul, **preset.mnk(MATMULS[matmul]), cache=cache)
    _draw_run(job, "Run on the GPU", refusal(job, has_gpu=True))


def draw_any_shape(controls: Controls, matmul: str, draw_partial: Callable[[AnyShapeDraw], None]) -> None:
    """Draw a recipe, a seed and the button that times this matmul on the shapes of the seed.

    `draw_partial` draws the GEMMs that are timed so far.
    """
    more = here().more
    more.markdown(f"**Draw some here**: {MATMULS[matmul].title}, shapes that a seed gives")
    draw_recipe(controls, more)
    seed, count = controls.draw(DRAW_SEED), int(controls.draw(DRAW_COUNT))
    chosen = recipe_values(controls)
    name = RECIPE.default if chosen["own"] else chosen["recipe"]
    if chosen["own"]:
        title = RECIPES[name].title
        more.caption(f"A draw is of a published recipe, so {title} is drawn instead of your own.")
    job = AnyShapeJob(recipe=name, matmul=matmul, count=count, seed=seed)
    _draw_run(job, "Run on the GPU", None, draw_partial)


def draw_ceilings() -> None:
    """Draw the button that measures this GPU's ceilings."""
    _draw_run(CeilingsJob(), "Measure this GPU's ceilings", None)


def _draw_run(
    job: GemmJob | CeilingsJob | AnyShapeJob,
    label: str,
    reason: str | None,
    draw_partial: Callable[[Any], None] | None = None,
) -> None:
    more, reason = here().more, reason if gpu_queue.workers().has_gpu else NO_GPU
    more.button(
        label,
        type="primary",
        icon=":material/play_arrow:",
        key="run_benchmark",
        on_click=gpu_queue.submit,
        args=(job,),
        disabled=reason is not None,
    )
    if reason is not None:
        more.caption(reason)
    gpu_queue.draw_queue(draw_partial)
