"""How fast are the kernels, and how exact? Every measurement, its job, its row and its records."""
