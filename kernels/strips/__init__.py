"""Two layouts of one read on Hopper, for tiles that are lines: the fastest way, where shapes are even."""
