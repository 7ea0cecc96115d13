"""What one page measures with formats, scales and rotations."""
