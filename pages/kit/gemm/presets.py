"""Ready-made GEMMs to run."""

import os
from dataclasses import dataclass

from fp8core.linear import MATMULS, LayerShape, Matmul
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, INTERPRETER, Unsupported, missing_package
from kernels.gemm.plan import plan_gemm
from kernels.measure.jobs import CUBE, LAYER, MNK, STANDARD, Allowance, GemmJob, shape_text


@dataclass(frozen=True)
class Preset:
    """Shape behind a button: of a matmul (M, N, K), or of a layer."""

    label: str
    shape: MNK | LayerShape

    @classmethod
    def of(cls, shape: MNK | LayerShape) -> "Preset":
        return cls(f"{'Layer: ' * isinstance(shape, LayerShape)}{shape_text(shape)}", shape)

    def mnk(self, matmul: Matmul) -> dict[str, int]:
        shape = matmul.mnk(self.shape) if isinstance(self.shape, LayerShape) else self.shape
        return dict(zip(("m", "n", "k"), shape, strict=True))


SMALL = Preset.of((256, 256, 256))
_OPENED_WITH = "deepseek_v3"

PRESETS = (SMALL, *map(Preset.of, (CUBE, STANDARD[0], LAYER)))


def offered() -> tuple[GemmJob, ...]:
    """GEMMs of the buttons: the one that Live GEMM opens with, its shape, other shapes."""
    return tuple(
        GemmJob(recipe=recipe, matmul=matmul.name, **preset.mnk(matmul))
        for preset in (*PRESETS[2:3], *PRESETS[:2], *PRESETS[3:])
        for matmul in MATMULS.values()
        for recipe in sorted(RECIPES, key=lambda name: name != _OPENED_WITH)
    )


def refusal(job: GemmJob, *, has_gpu: bool) -> str | None:
    """Reason why the job cannot run here, without asking a GPU; None if it can."""
    if (fault := missing_package()) is not None:
        return f"This cannot run here: {fault.reason}."
    if has_gpu and (reason := Allowance.of(os.environ).refusal(job)):
        return reason
    device = HOPPER if has_gpu else INTERPRETER
    spec = job.spec
    plan = plan_gemm(spec, job.mnk, device, job.accumulation)
    if isinstance(plan, Unsupported):
        return f"This cannot run here: {plan.reason}."
    return None
