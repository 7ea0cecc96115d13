"""The peers of a kernel: torch's operations on the same operands, and speeds that others published."""
