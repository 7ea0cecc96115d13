"""python -m kernels.worker: the worker process. The app starts it; it ends when its stdin closes."""

from kernels.worker.child import load, main

if __name__ == "__main__":
    main(load)
