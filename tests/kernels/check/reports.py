"""A report with every kind of line, and the machines that no test has."""

from dataclasses import replace

from kernels.check.report import Ability, CheckJob, Facts, Figure, Group, Line, Reference, Report, Verdict

H200 = Facts(
    system="Linux x86_64",
    python="3.12.3",
    torch="2.11.0+cu130",
    triton="3.6.0",
    cuda="13.0",
    driver="580.65",
    seen_gpus=1,
    gpus=1,
    gpu="NVIDIA H200",
    capability=(9, 0),
    sms=132,
    memory_bytes=140 << 30,
    free_bytes=139 << 30,
    clock_mhz=345.0,
    max_clock_mhz=1980.0,
    power_w=75.5,
    power_limit_w=700.0,
    default_power_limit_w=700.0,
)
ADA = replace(H200, gpu="NVIDIA L4", capability=(8, 9), sms=58, memory_bytes=22 << 30, free_bytes=21 << 30)
B200 = replace(H200, gpu="NVIDIA B200", capability=(10, 0), sms=148)
RTX_5090 = replace(H200, gpu="NVIDIA GeForce RTX 5090", capability=(12, 0), sms=170)
A100 = replace(H200, gpu="NVIDIA A100-SXM4-80GB", capability=(8, 0), sms=108)
BUSY = replace(H200, gpu=None, capability=None, gpu_error="CUDA error: all devices are busy", memory_bytes=0)
FULL = replace(H200, free_bytes=100 << 20)
NO_GPU = Facts(system="Linux x86_64", python="3.12.3", torch="2.11.0+cu130", triton="3.6.0", cuda="13.0")
NO_CUDA = replace(NO_GPU, torch="2.11.0+cpu", cuda=None, seen_gpus=2)
DRIVER_TOO_OLD = replace(NO_GPU, seen_gpus=1, driver="470.0")
NO_TORCH = replace(NO_GPU, torch=None, triton=None, cuda=None, seen_gpus=1)
BROKEN_TORCH = replace(NO_GPU, torch_error="ImportError: libcudart.so.13: cannot open shared object file")
BROKEN_TRITON = replace(H200, triton_error="ImportError: libtriton.so: undefined symbol: PyX")
NO_TRITON = replace(H200, triton=None)
ROCM = replace(NO_GPU, torch="2.11.0+rocm7.0", cuda=None, hip="7.0", gpus=1, gpu="AMD Instinct MI300X")
ROCM = replace(ROCM, architecture="gfx942:sramecc+:xnack-")
INTERPRETED = replace(NO_GPU, interpreted=True)

REPORT = Report(
    job=CheckJob(quick=False, device=1),
    facts=H200,
    abilities=(
        Ability(name="fp8", title="FP8 tensor cores", available=True, reason="Compute capability 9.0."),
        Ability(name="block_scaled", title="Block-scaled MMA", available=False, reason="Not here."),
    ),
    lines=(
        Line(name="torch", group=Group.SETUP, verdict=Verdict.PASS, detail="torch 2.11.0 for CUDA 13.0."),
        Line(
            name="rowwise fprop",
            group=Group.GEMMS,
            verdict=Verdict.PASS,
            detail="6,724 outputs.",
            figures=(Figure("largest error over its bound", 0.12), Figure("outputs", 6724.0)),
        ),
        Line(
            name="copy",
            group=Group.SPEED,
            verdict=Verdict.SLOW,
            detail="61% of the NVIDIA H200 recorded on 2026-11-20: power-capped at 450 W.",
            figures=(Figure("rate", 610.0, "GB/s"), Figure("SM clock", 1100.0, "MHz")),
            reference=Reference(
                value=1000.0, gpu="NVIDIA H200", date="2026-11-20", versions={"torch": "2.11.0"}
            ),
        ),
        Line(name="fp8", group=Group.SPEED, verdict=Verdict.NOT_SUPPORTED, detail="No."),
    ),
    started="2026-11-20T12:00:00+00:00",
    seconds=12.5,
    finished=True,
)
