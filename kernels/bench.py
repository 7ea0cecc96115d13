import sys

from kernels.moved import main

if __name__ == "__main__":
    sys.exit(main("kernels.bench"))
