"""How fast are the kernels, and how exact? Measurements: jobs, rows, records."""
