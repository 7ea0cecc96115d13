"""The timeline that the page measures on this server's GPU, and why it cannot without one."""

from collections.abc import Callable

from kernels.layer.timeline.job import TimelineJob
from kernels.layer.timeline.row import Timeline
from pages.fused.rows import HERE
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.view import here

NO_GPU = (
    "This server has no GPU, so nothing can be measured here. All timelines are recorded ones. Start the app "
    "on a machine with a GPU that multiplies FP8, and this button measures one there."
)


def draw_run(controls: Controls, job: TimelineJob, draw_partial: Callable[[Timeline], None]) -> None:
    """Draw the button that measures a job, and the queue. `draw_partial` draws what is timed so far."""
    has_gpu = gpu_queue.workers().has_gpu

    def run() -> None:
        controls.preset(fused_gpu=HERE)
        gpu_queue.submit(job)

    more = here().more
    more.markdown(f"**Measure it here**: {job.title}, every way in turn")
    more.button(
        "Run on the GPU",
        type="primary",
        icon=":material/play_arrow:",
        key="run_timeline",
        on_click=run,
        disabled=not has_gpu,
    )
    if not has_gpu:
        more.caption(NO_GPU)
    gpu_queue.draw_queue(draw_partial)
