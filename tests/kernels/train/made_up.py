"""Training runs that nobody made."""

from kernels.measure.rows import Machine, Provenance
from kernels.train.job import TrainJob
from kernels.train.row import CopyStatistics, ProductStatistics, Speed, Statistics, TextUsed, TrainRow

JOB = TrainJob(recipe="mxfp8", seed=3, steps=40)
_THREE = (1.0, 2.5, None)
ROW = TrainRow(
    job=JOB,
    provenance=Provenance.GPU,
    machine=Machine(name="A GPU", capability=(9, 0), versions={"torch": "1"}),
    date="2026-11-23",
    text=TextUsed(
        name="sympy",
        version="1.14",
        sha256="0" * 64,
        bytes=1000,
        files=20,
        held_out_bytes=50,
        held_out_files=1,
    ),
    steps=40,
    done=35,
    loss_every=10,
    losses=(5.5, 4.5, 3.5, None),
    held_out_at=(20,),
    held_out=(4.0,),
    step_ms=4.5,
    quantized_gemms=72,
    gemms=75,
    statistics=(
        Statistics(
            step=20,
            layers=("0.qkv", "0.proj", "0.down"),
            copies=(
                CopyStatistics(
                    tensor="x",
                    matmul="fprop",
                    sqnr_db=_THREE,
                    underflows_percent=_THREE,
                    overflows_percent=_THREE,
                    scale_inv_min=_THREE,
                    scale_inv_max=_THREE,
                    mse=_THREE,
                    amax=_THREE,
                ),
            ),
            products=(ProductStatistics(tensor="y", matmul="fprop", sqnr_db=_THREE),),
        ),
    ),
    failure="step 36: the loss is not finite",
    commit="abc",
)
SPEED = Speed(
    model="s",
    recipe="mxfp8",
    step_ms=4.0,
    compiled_ms=5.0,
    quantized_gemms=72,
    gemm_kernels=72,
    kernels=400,
    machine=ROW.machine,
    date="2026-11-23",
)
