"""What the worker runs: kernels.measure, on the GPU if there is one and in Triton's interpreter if not."""

from collections.abc import Callable

from kernels.device import DeviceKind, NoTriton, choose_backend, current_device
from kernels.rows import GemmJob, Row
from kernels.worker.child import CannotRun, Engine, out_of_memory


def load() -> Engine:
    """Import torch and triton; where one is missing, every job is answered with the sentence that says so."""
    try:
        choose_backend()
    except NoTriton as error:
        return _without(str(error))
    import torch

    from kernels.measure import measure

    device = current_device()
    is_gpu = device.kind is DeviceKind.GPU
    memory_gib = torch.cuda.get_device_properties().total_memory / 2**30 if is_gpu else 0.0

    def measure_here(job: GemmJob, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Row:
        try:
            row = measure(job, progress=progress, stopped=stopped)
        except torch.OutOfMemoryError as error:
            raise CannotRun(out_of_memory(job, f"the {memory_gib:.0f} GiB of this {device.name}")) from error
        finally:
            if is_gpu:
                torch.cuda.empty_cache()
        return row

    return Engine(device=device.name, measure=measure_here)


def _without(sentence: str) -> Engine:
    def refuse(job: GemmJob, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Row:
        raise CannotRun(sentence)

    return Engine(device="nothing", measure=refuse)
