"""python -m kernels.worker: the worker process. The app starts it; it ends when its stdin closes."""

from kernels.worker.child import serve
from kernels.worker.engine import load

if __name__ == "__main__":
    serve(load)
