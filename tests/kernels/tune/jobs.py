"""A GEMM that the tuner is asked for."""

from kernels.bench.job import GemmJob

JOB = GemmJob(recipe="rowwise", matmul="dgrad", m=64, n=4096, k=14336)
