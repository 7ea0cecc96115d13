"""Quantizers whose programs keep a block in shared memory: two layouts, whole columns, norms. For Hopper."""
