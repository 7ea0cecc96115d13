"""A check's knowledge of its machine (Facts), as plain data.

It comes from the operating system, torch, Triton and nvidia-smi. A field is None, or empty, where none of
them tells. Importing this needs neither torch nor a GPU.
"""

from dataclasses import dataclass

from kernels.typed import Count


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One GPU and the software installed around it.

    `torch` and `triton` are versions, None where not installed. Their errors say why an import failed.
    `gpu_error` says why a GPU that torch counts could not be opened. `cuda` and `hip` are the versions that
    torch was built for. `gpus` is how many GPUs torch can use, `seen_gpus` how many nvidia-smi lists.
    `clock_mhz` and `power_w` were read at rest; the maximum and the limits are settings.
    """

    system: str
    python: str
    torch: str | None = None
    torch_error: str = ""
    triton: str | None = None
    triton_error: str = ""
    cuda: str | None = None
    hip: str | None = None
    driver: str | None = None
    seen_gpus: Count | None = None
    gpus: Count = 0
    gpu: str | None = None
    gpu_error: str = ""
    architecture: str = ""
    interpreted: bool = False
    capability: tuple[Count, Count] | None = None
    sms: Count = 0
    memory_bytes: Count = 0
    free_bytes: Count = 0
    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None

    @property
    def versions(self) -> dict[str, str]:
        """The versions that a recorded measurement states beside its figure."""
        named = {"python": self.python, "torch": self.torch, "triton": self.triton}
        return {name: version for name, version in named.items() if version}
