"""Experiments with formats, scales and rotations; each serves one page."""
