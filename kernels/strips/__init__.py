"""Quantizers whose programs keep a block in shared memory: down columns, in two layouts. For Hopper."""
