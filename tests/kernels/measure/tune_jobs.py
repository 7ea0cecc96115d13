"""A GEMM that the tuner is asked for."""

from kernels.measure.jobs import GemmJob

JOB = GemmJob(recipe="rowwise", matmul="dgrad", m=64, n=4096, k=14336)
