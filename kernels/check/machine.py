"""The machine of a check: its facts, its GPU's abilities, and what is missing before anything runs."""

import platform
from dataclasses import asdict, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kernels.check.report import FP8, Ability, Facts, Group, Line, Verdict
from kernels.device import Unsupported, amd_refusal, interpreting, parse_triton, slowed, too_old
from kernels.faults import BROKEN_IMPORTS, first_line, named
from kernels.gemm.plan import MIN_CAPABILITY
from kernels.nvml import Gauges, driver, gauges

NEEDED_BYTES = 1 << 30  # of free memory, for the comparisons

_BLACKWELL = 10
_GIB = 2**30
_PIP = "pip install -r requirements.txt"


def host() -> Facts:
    return Facts(system=f"{platform.system()} {platform.machine()}", python=platform.python_version())


class Machine:
    def gpus(self) -> int:
        torch, *_ = _package("torch")
        return torch.cuda.device_count() if torch is not None and torch.cuda.is_available() else 0

    def facts(self, device: int) -> Facts:
        torch, torch_version, torch_error = _package("torch")
        _, triton_version, triton_error = _package("triton")
        listed, gpus = driver(), self.gpus()
        facts = replace(
            host(),
            torch=torch_version,
            torch_error=torch_error,
            triton=triton_version,
            triton_error=triton_error,
            cuda=torch.version.cuda if torch is not None else None,
            hip=torch.version.hip if torch is not None else None,
            driver=listed.version,
            seen_gpus=len(listed.uuids) or None,
            interpreted=interpreting(),
            gpus=gpus,
        )
        if device >= gpus:
            return facts
        try:
            gpu = torch.cuda.get_device_properties(device)
            free, total = torch.cuda.mem_get_info(device)
            read = Gauges() if facts.hip else gauges(self.uuid(device))
        except RuntimeError as error:
            return replace(facts, gpu_error=first_line(error))
        return replace(
            facts,
            gpu=gpu.name,
            architecture=getattr(gpu, "gcnArchName", "") if facts.hip else "",
            capability=None if facts.hip else (gpu.major, gpu.minor),
            sms=gpu.multi_processor_count,
            memory_bytes=total,
            free_bytes=free,
            **{name: value for name, value in asdict(read).items() if name != "reasons"},
        )

    def uuid(self, device: int) -> str:
        return f"GPU-{import_module('torch').cuda.get_device_properties(device).uuid}"

    def select(self, device: int) -> None:
        import_module("torch").cuda.set_device(device)

    def release(self) -> None:
        import_module("torch").cuda.empty_cache()

    def fault(self) -> str:
        try:
            import_module("torch").cuda.synchronize()
        except RuntimeError as error:
            return first_line(error)
        return ""


def _package(name: str) -> tuple[Any, str | None, str]:
    """(module, version, why it does not load); (None, None, "") if it is not installed."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        return None, None, ""
    try:
        module = import_module(name)
    except BROKEN_IMPORTS as error:
        return None, installed, named(error)
    return module, str(module.__version__), ""


def abilities(facts: Facts) -> tuple[Ability, ...]:
    missing, capability = _no_gpu(facts), facts.capability or (0, 0)
    major, first = capability[0], ".".join(map(str, MIN_CAPABILITY))
    mma = f"MMA with a scale every few elements starts at {_BLACKWELL}.0 (Blackwell)"
    cast = f"cvt.rs, the cast that rounds stochastically, is of {_BLACKWELL}.x (B200, B300) only"
    each = (
        (FP8, "FP8 tensor cores", capability >= MIN_CAPABILITY, f"FP8 tensor cores start at {first} (Ada)"),
        ("block_scaled", "Block-scaled MMA (MXFP8)", major >= _BLACKWELL, mma),
        ("stochastic_cast", "Stochastic rounding in the cast (cvt.rs)", major == _BLACKWELL, cast),
    )
    this = "Compute capability " + ".".join(map(str, capability))
    return tuple(
        Ability(name=name, title=title, available=can and not missing, reason=missing or f"{this}; {why}.")
        for name, title, can, why in each
    )


def fp8(facts: Facts) -> Ability:
    return next(ability for ability in abilities(facts) if ability.name == FP8)


def _no_gpu(facts: Facts) -> str:
    if facts.torch is None or facts.torch_error:
        return "Nothing is known of the GPU without a torch that loads."
    if facts.hip:
        return amd_refusal(facts.gpu or "This GPU", facts.architecture, facts.hip)
    if facts.gpu is not None:
        return ""
    if facts.gpu_error:
        return f"torch counts {facts.gpus}, but this GPU cannot be opened: {facts.gpu_error}"
    listed = f"nvidia-smi lists {facts.seen_gpus} GPU{'s' if (facts.seen_gpus or 0) > 1 else ''}"
    if facts.seen_gpus and facts.cuda is None:
        return (
            f"{listed}, but this torch, {facts.torch}, is built without CUDA and can use none: install "
            "PyTorch's CUDA build, see pytorch.org/get-started."
        )
    if facts.seen_gpus:
        return (
            f"{listed}, and torch {facts.torch} can use none: either CUDA_VISIBLE_DEVICES hides them, or the "
            f"driver ({facts.driver}) is too old for CUDA {facts.cuda}."
        )
    return "There is no NVIDIA GPU here: nvidia-smi lists none and torch finds none."


def setup_lines(facts: Facts) -> tuple[Line, ...]:
    """Lines on what is installed, on the GPU and its memory; no Triton line where no GPU needs it."""
    verdicts = {"torch": _torch(facts), "GPU": _gpu(facts)}
    has_gpu = facts.gpu is not None and not facts.hip
    if has_gpu:
        verdicts["memory"] = _memory(facts)
    if has_gpu or facts.interpreted:
        verdicts["Triton"] = _triton(facts)
    return tuple(
        Line(name=name, group=Group.SETUP, verdict=verdict, detail=detail)
        for name, (verdict, detail) in verdicts.items()
    )


def _torch(facts: Facts) -> tuple[Verdict, str]:
    if facts.torch_error:
        return Verdict.FAIL, f"torch cannot be imported: {facts.torch_error}"
    if facts.torch is None:
        return Verdict.FAIL, f"torch is not installed: {_PIP}"
    built = f"CUDA {facts.cuda}" if facts.cuda else f"ROCm {facts.hip}" if facts.hip else "the CPU"
    return Verdict.PASS, f"torch {facts.torch}, built for {built}."


def _gpu(facts: Facts) -> tuple[Verdict, str]:
    missing = _no_gpu(facts)
    if missing:
        hidden = facts.torch is not None and not facts.torch_error and facts.cuda and facts.seen_gpus
        return Verdict.FAIL if facts.gpu_error or hidden else Verdict.NOT_SUPPORTED, missing
    reason = lower(fp8(facts).reason)
    if not fp8(facts).available:
        return Verdict.NOT_SUPPORTED, f"{facts.gpu} has no FP8: {reason}"
    return Verdict.PASS, f"{facts.gpu}, {reason}"


def _memory(facts: Facts) -> tuple[Verdict, str]:
    free = f"{facts.free_bytes / _GIB:.1f} of {facts.memory_bytes / _GIB:.1f} GiB are free"
    if facts.free_bytes < NEEDED_BYTES:
        need = f"{NEEDED_BYTES / _GIB:g} GiB"
        return Verdict.NOT_RUN, f"{free}, a check takes {need}: end what else uses this GPU."
    return Verdict.PASS, f"{free}."


def _triton(facts: Facts) -> tuple[Verdict, str]:
    if facts.triton_error:
        return Verdict.FAIL, f"Triton cannot be imported: {facts.triton_error}. Install it anew: {_PIP}"
    if facts.triton is None:
        return Verdict.FAIL, f"Triton is not installed: {_PIP} (it exists for Linux only)"
    try:
        triton = parse_triton(facts.triton)
    except Unsupported as error:
        return Verdict.FAIL, f"{error.reason}."
    if reason := too_old(triton):
        return Verdict.FAIL, f"Triton {facts.triton}: {reason}. Install it anew: {_PIP}"
    rest = slowed(triton, facts.capability)
    return Verdict.PASS, f"Triton {facts.triton}{rest and ': '}{rest}."


def lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
