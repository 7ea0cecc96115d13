"""python -m kernels.check; see kernels.check.cli."""

import sys

from kernels.check.cli import main

if __name__ == "__main__":
    sys.exit(main())
