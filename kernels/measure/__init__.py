"""Measurements of speed and errors: jobs, rows, records."""
