"""Section "Train one": a run of the reader's choice, on this server."""

from fp8core.recipes import RECIPES
from kernels.train.job import BF16, TrainJob
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.recipes import draw_recipe, draw_source, recipe_values
from pages.kit.shared_controls import SEED
from pages.kit.terms.explain import draw_text
from pages.kit.view import here, stage
from pages.loss import words
from pages.loss.charts.curves import Label
from pages.loss.controls import HEAD, HELD_OUT, LAST_BF16, PLAIN, SIZE
from pages.loss.curves import draw_lines
from pages.loss.gaps import FEWEST, finals, line, mean_line
from pages.loss.live import draw_button, draw_run, job_for
from pages.loss.runs import Group, key_of
from pages.loss.state import group_here
from pages.loss.step_times import draw_step_times

IDEA = (
    "Train the model yourself. Every linear layer of its blocks runs in the recipe, in all three matmuls. "
    "The embedding, the head, the norms and attention stay in bf16. The weights have a master copy "
    "in fp32. The text is Python: sources of a package that comes with torch, byte by byte."
)
_CHANCE = (
    "A run that ends above another one shows nothing: seeds differ as much. “Curves”, “Ends” says by "
    "how much."
)


def show(controls: Controls) -> None:
    """Draw the button, and the recorded runs of the recipe until there is one of the reader's own."""
    view, group = here(), group_here(controls)
    plain_bf16 = controls.draw(PLAIN)
    recipe = None if plain_bf16 else draw_recipe(controls, view.more)
    seed = controls.draw(SEED)
    switches = {"last_bf16": False, "head": False}
    if recipe is not None:
        switches = {"last_bf16": controls.draw(LAST_BF16), "head": controls.draw(HEAD)}
    job = TrainJob(
        recipe=BF16 if recipe is None else recipe_key(controls),
        model=controls.value(SIZE),
        seed=seed,
        **switches,
    )
    title = "bf16" if recipe is None else recipe.title
    asked = job_for(job, group)
    draw_button(asked, f"Train {title}", view.control, key="loss_train")
    if not draw_run(asked, key="loss_train"):
        _draw_recorded(job, title, group)
    draw_text(IDEA, view.know)
    view.know.markdown(_CHANCE)
    with view.know:
        draw_step_times(controls.value(SIZE))
        if recipe is not None:
            draw_source(recipe)


def _draw_recorded(job: TrainJob, title: str, group: Group | None) -> None:
    """The recorded runs of the same kind over the band of bf16."""
    if group is None or len(group.bf16) < FEWEST:
        stage().info(words.NOTHING if group is None else words.FEW)
        return
    is_recipe = job.recipe in RECIPES
    lines = [
        line(run, group, HELD_OUT, recipe=job.recipe if is_recipe else "") for run in group.of(key_of(job))
    ]
    lines = [one for one in lines if one.steps]
    found = finals(group, [key_of(job)])
    if found:
        told = f"{count(found[0].gap.runs, 'recorded run')} of {title} end **{words.gap_text(found[0])}"
        draw_notice(f"{told} from bf16**. Train one more.")
    else:
        draw_notice(f"No whole run of {title} is recorded. The band is **{len(group.bf16)} seeds** of bf16.")
    labels = []
    if lines:
        lines.append(mean_line(lines))
        last = lines[-1].percent[-1]
        labels = [Label(percent=last, figure=words.rough(last), name=title, told="recorded, mean")]
    draw_lines(lines, group, HELD_OUT, labels, key="loss_recorded")
    here().know.caption(words.where(group))


def recipe_key(controls: Controls) -> str:
    """The recipe as a job names it: its key, or the line of one's own."""
    chosen = recipe_values(controls)
    return chosen["own"] or chosen["recipe"]
