"""Checks of a machine's facts before anything runs: the abilities of its GPU, and missing parts."""

from kernels.check.facts import Facts
from kernels.check.report import FP8, Ability, Group, Line, Verdict
from kernels.device import Unsupported, amd_refusal, parsed_triton, slowed, too_old
from kernels.gemm.plan import MIN_CAPABILITY

NEEDED_BYTES = 1 << 30
"""Free memory that the comparisons take, rounded up."""

_BLACKWELL = 10
_PIP = "pip install -r requirements.txt"


def abilities(facts: Facts) -> tuple[Ability, ...]:
    """The abilities of the GPU with these facts, with the reason where it lacks one."""
    missing = no_gpu(facts)
    if missing or facts.capability is None:
        return tuple(
            Ability(name=name, title=title, available=False, reason=missing)
            for name, title in _TITLES.items()
        )
    major, minor = facts.capability
    this = f"compute capability {major}.{minor}"
    first = ".".join(map(str, MIN_CAPABILITY))
    found = {
        FP8: (
            facts.capability >= MIN_CAPABILITY,
            f"{this}; FP8 tensor cores start at {first} (Ada)",
        ),
        "block_scaled": (
            major >= _BLACKWELL,
            f"{this}; MMA with a scale every few elements starts at {_BLACKWELL}.0 (Blackwell)",
        ),
        "stochastic_cast": (
            major == _BLACKWELL,
            f"{this}; cvt.rs, the cast that rounds stochastically, is of {_BLACKWELL}.x (B200, B300) only",
        ),
    }
    return tuple(
        Ability(name=name, title=_TITLES[name], available=can, reason=f"{why[0].upper()}{why[1:]}.")
        for name, (can, why) in found.items()
    )


_TITLES = {
    FP8: "FP8 tensor cores",
    "block_scaled": "Block-scaled MMA (MXFP8)",
    "stochastic_cast": "Stochastic rounding in the cast (cvt.rs)",
}


def no_gpu(facts: Facts) -> str:
    """A sentence on why there is no NVIDIA GPU to check; empty where there is one."""
    if facts.torch is None or facts.torch_error:
        return "Nothing is known of the GPU without a torch that loads."
    if facts.hip:
        return amd_refusal(facts.gpu or "This GPU", facts.architecture, facts.hip)
    if facts.gpu is not None:
        return ""
    if facts.gpu_error:
        return f"torch counts {facts.gpus}, but this GPU cannot be opened: {facts.gpu_error}"
    seen = facts.seen_gpus or 0
    if facts.cuda is None and seen:
        return (
            f"nvidia-smi lists {seen} GPU{'s' if seen > 1 else ''}, but this torch, {facts.torch}, is built "
            "without CUDA and can use none: install PyTorch's CUDA build, see pytorch.org/get-started."
        )
    if seen:
        return (
            f"nvidia-smi lists {seen} GPU{'s' if seen > 1 else ''}, and torch {facts.torch} can use none: "
            f"either CUDA_VISIBLE_DEVICES hides them, or the driver ({facts.driver}) is too old for CUDA "
            f"{facts.cuda}."
        )
    return "There is no NVIDIA GPU here: nvidia-smi lists none and torch finds none."


def setup_lines(facts: Facts) -> tuple[Line, ...]:
    """The lines on what is installed, on the GPU and on its memory; no Triton line where no GPU needs it."""
    lines = [_torch(facts), _gpu(facts)]
    if facts.gpu is not None and not facts.hip:
        lines.append(_memory(facts))
    if facts.interpreted or (facts.gpu is not None and not facts.hip):
        lines.append(_triton(facts))
    return tuple(lines)


def _line(name: str, verdict: Verdict, detail: str) -> Line:
    return Line(name=name, group=Group.SETUP, verdict=verdict, detail=detail)


def _torch(facts: Facts) -> Line:
    if facts.torch_error:
        return _line("torch", Verdict.FAIL, f"torch cannot be imported: {facts.torch_error}")
    if facts.torch is None:
        return _line("torch", Verdict.FAIL, f"torch is not installed: {_PIP}")
    built = f"CUDA {facts.cuda}" if facts.cuda else f"ROCm {facts.hip}" if facts.hip else "the CPU"
    return _line("torch", Verdict.PASS, f"torch {facts.torch}, built for {built}.")


def _gpu(facts: Facts) -> Line:
    missing = no_gpu(facts)
    if missing:
        unseen = facts.torch is not None and facts.cuda is not None and facts.seen_gpus
        broken = facts.gpu_error or (unseen and not facts.torch_error)
        return _line("GPU", Verdict.FAIL if broken else Verdict.NOT_SUPPORTED, missing)
    fp8 = next(ability for ability in abilities(facts) if ability.name == FP8)
    if not fp8.available:
        return _line("GPU", Verdict.NOT_SUPPORTED, f"{facts.gpu} has no FP8: {_lower(fp8.reason)}")
    return _line("GPU", Verdict.PASS, f"{facts.gpu}, {_lower(fp8.reason)}")


def _memory(facts: Facts) -> Line:
    free, total = facts.free_bytes / 2**30, facts.memory_bytes / 2**30
    told = f"{free:.1f} of {total:.1f} GiB are free"
    if facts.free_bytes < NEEDED_BYTES:
        need = f"{NEEDED_BYTES / 2**30:g} GiB"
        return _line("memory", Verdict.NOT_RUN, f"{told}, a check takes {need}: end what else uses this GPU.")
    return _line("memory", Verdict.PASS, f"{told}.")


def _triton(facts: Facts) -> Line:
    if facts.triton_error:
        detail = f"Triton cannot be imported: {facts.triton_error}. Install it anew: {_PIP}"
        return _line("Triton", Verdict.FAIL, detail)
    if facts.triton is None:
        return _line("Triton", Verdict.FAIL, f"Triton is not installed: {_PIP} (it exists for Linux only)")
    try:
        triton = parsed_triton(facts.triton)
    except Unsupported as error:
        return _line("Triton", Verdict.FAIL, f"{error.reason}.")
    if reason := too_old(triton):
        return _line("Triton", Verdict.FAIL, f"Triton {facts.triton}: {reason}. Install it anew: {_PIP}")
    rest = slowed(triton, facts.capability)
    return _line("Triton", Verdict.PASS, f"Triton {facts.triton}{rest and ': '}{rest}.")


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
