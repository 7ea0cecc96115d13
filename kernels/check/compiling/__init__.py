"""Compile what a check launches, ahead of it, in helper processes."""
