"""Section "Train one": a run of the reader's choice, on this server."""

import streamlit as st

from kernels.train.job import BF16, TrainJob
from pages.kit.controls import Controls
from pages.kit.recipes import draw_recipe, draw_source, recipe_values
from pages.kit.shared_controls import SEED
from pages.sections.loss.controls import HEAD, LAST_BF16, PLAIN, SIZE
from pages.sections.loss.live import draw_run, job_for
from pages.sections.loss.state import group_here
from pages.sections.loss.step_times import draw_step_times

IDEA = (
    "Train the model yourself. Every linear layer of its blocks runs in the recipe, in all three matmuls. "
    "The embedding, the head, the norms and attention stay in bf16. The weights have a master copy "
    "in fp32. The text is Python: sources of a package that comes with torch, byte by byte."
)
_CHANCE = (
    "A run that ends above another one shows nothing: seeds differ as much. “How sure?” says by how much."
)


def show(controls: Controls) -> None:
    """Draw the choice of the run, the button, and what comes of it."""
    st.markdown(IDEA)
    group = group_here(controls)
    plain_bf16 = controls.draw(PLAIN)
    recipe = None if plain_bf16 else draw_recipe(controls)
    row = st.container(horizontal=True, vertical_alignment="bottom")
    seed = controls.draw(SEED, row.container(width=140))
    switches = {"last_bf16": False, "head": False}
    if recipe is not None:
        switches = {"last_bf16": controls.draw(LAST_BF16, row), "head": controls.draw(HEAD, row)}
    job = TrainJob(
        recipe=BF16 if recipe is None else recipe_key(controls),
        model=controls.value(SIZE),
        seed=seed,
        **switches,
    )
    draw_run(job_for(job, group), "Train", key="loss_train")
    st.caption(_CHANCE)
    draw_step_times(controls.value(SIZE))
    if recipe is not None:
        draw_source(recipe)


def recipe_key(controls: Controls) -> str:
    """The recipe as a job names it: its key, or the line of one's own."""
    chosen = recipe_values(controls)
    return chosen["own"] or chosen["recipe"]
