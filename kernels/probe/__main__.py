import sys

from kernels.moved import main

sys.exit(main("kernels.probe"))
