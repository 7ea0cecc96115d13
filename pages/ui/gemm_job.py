"""The controls that say which GEMM to run, and what has to be true before it can."""

from dataclasses import dataclass, replace

from streamlit.delta_generator import DeltaGenerator

from fp8core.inputs import INPUT_NOTES, InputKind, rules
from fp8core.linear import MATMULS, Axis, LayerShape, Matmul
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, INTERPRETER, Unsupported, missing_package
from kernels.family import REFOLDED_WORDS
from kernels.mx_plan import refolded_spec
from kernels.plan import plan_gemm
from kernels.rows import MAX_DIM, MAX_RUNS, Accumulation, GemmJob
from kernels.shapes import CUBE, LAYER, MNK, STANDARD, shape_text
from pages.ui.controls import Choice, ChoiceStyle, Controls, Whole
from pages.ui.shared import MATMUL, RECIPE, SEED

_STEP = 256


class _Dim(Whole):
    """M, N or K, whose label says which axis of the layer it is."""

    def narrow(self, *, axis: Axis) -> "_Dim":
        summed = ", summed" if self.key == "k" else ""
        return replace(self, label=f"{self.label}: {axis.value}{summed}")


def _dim(letter: str, default: int) -> _Dim:
    return _Dim(key=letter, label=letter.upper(), low=1, high=MAX_DIM, default=default, step=_STEP)


M, N, K = (_dim(letter, size) for letter, size in zip("mnk", STANDARD[0], strict=True))
INPUT = Choice(
    key="a_input",
    label="Input",
    options={kind.value: note.title for kind, note in INPUT_NOTES.items()},
    default=InputKind.GAUSSIAN.value,
    style=ChoiceStyle.SELECT,
    help="What x, w and dy are drawn from. "
    + " ".join(f"**{note.title}**: {rules(kind)}." for kind, note in INPUT_NOTES.items()),
)
ACCUMULATION = Choice(
    key="accumulation",
    label="Accumulation",
    options={
        Accumulation.RECIPE.value: "As in the recipe",
        Accumulation.FAST.value: "Fast",
        Accumulation.PROMOTED.value: "Promoted",
        Accumulation.REFOLDED.value: REFOLDED_WORDS.capitalize(),
    },
    default=Accumulation.RECIPE.value,
    style=ChoiceStyle.SELECT,
    help="Fast leaves the sum over all of K to the tensor core, which on Hopper keeps only some of fp32's "
    "bits (`use_fast_accum=True` in torch). Promoted takes a partial sum out at fixed steps along K and adds "
    "these in fp32. Refolded, for MXFP8: a pass of its own, whose time counts, makes one scale of those in a "
    "longer line of A or in a square of B, so that the FP8 tensor core can multiply where it takes no "
    "scales; what is far below the largest value there is rounded again.",
)
RUNS = Whole(
    key="runs",
    label="Timed runs",
    low=1,
    high=MAX_RUNS,
    default=20,
    help="The time shown is their median; its whisker runs from the 20th to the 80th percentile.",
)
CONTROLS = (RECIPE, MATMUL, M, N, K, INPUT, SEED, ACCUMULATION, RUNS)


@dataclass(frozen=True)
class Preset:
    """A shape behind a button: of the matmul (M, N, K), or of the layer whose matmul it is."""

    label: str
    shape: MNK | LayerShape

    @classmethod
    def of(cls, shape: MNK | LayerShape) -> "Preset":
        """A shape under its own name."""
        return cls(f"{'Layer: ' * isinstance(shape, LayerShape)}{shape_text(shape)}", shape)

    def mnk(self, matmul: Matmul) -> dict[str, int]:
        """The controls it sets, by key."""
        shape = matmul.mnk(self.shape) if isinstance(self.shape, LayerShape) else self.shape
        return dict(zip(("m", "n", "k"), shape, strict=True))


SMALL = Preset.of((256, 256, 256))
PRESETS = (SMALL, *map(Preset.of, (CUBE, STANDARD[0], LAYER)))


def draw_job(controls: Controls, place: DeltaGenerator) -> GemmJob:
    """Draw the controls; the job they describe."""
    recipe, matmul = controls.draw(RECIPE, place), controls.draw(MATMUL, place)
    plays = MATMULS[matmul]
    sizes = {
        control.key: controls.draw(control, place, axis=axis)
        for control, axis in ((M, plays.m), (N, plays.n), (K, plays.k))
    }
    row = place.container(horizontal=True, gap="xsmall")
    for preset in PRESETS:
        row.button(
            preset.label,
            key=f"preset {preset.label}",
            on_click=controls.preset,
            kwargs=preset.mnk(plays),
            help="Set M, N and K",
        )
    return GemmJob(
        recipe=recipe,
        matmul=matmul,
        **sizes,
        input=InputKind(controls.draw(INPUT, place)),
        seed=controls.draw(SEED, place),
        accumulation=Accumulation(controls.draw(ACCUMULATION, place, options=_offered(recipe, plays))),
        runs=controls.draw(RUNS, place),
    )


def _offered(recipe: str, matmul: Matmul) -> dict[str, str]:
    """The accumulations to choose from; refolding only for a recipe whose scales fold."""
    options = dict(ACCUMULATION.options)
    if isinstance(refolded_spec(RECIPES[recipe].spec(matmul), HOPPER), Unsupported):
        del options[Accumulation.REFOLDED.value]
    return options


def refusal(job: GemmJob, *, has_gpu: bool) -> str | None:
    """Why the job cannot run here, as far as that is known without asking a GPU; None where it can."""
    missing = missing_package()
    if missing is not None:
        return f"This cannot run here: {missing.reason}."
    device = HOPPER if has_gpu else INTERPRETER
    spec = job.recipe_data.spec(job.matmul_data)
    plan = plan_gemm(spec, (job.m, job.n, job.k), device, job.accumulation)
    if isinstance(plan, Unsupported):
        return f"This cannot run here: {plan.reason}."
    return None


def small_instead(job: GemmJob, *, has_gpu: bool) -> dict[str, int] | None:
    """The controls that make a refused job runnable by its shape alone; None where the shape is not why."""
    small = SMALL.mnk(job.matmul_data)
    return small if refusal(replace(job, **small), has_gpu=has_gpu) is None else None
