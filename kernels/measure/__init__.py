"""Measurements of speed and errors: jobs, rows, records.

A module's `measure(job, progress, stopped)` gives the job's row. It raises Unsupported where nothing can be
measured, Impossible for a figure that the GPU cannot reach, MemoryError, and StoppedEarly once `stopped()`.
"""
