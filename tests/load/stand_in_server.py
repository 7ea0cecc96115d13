"""The app with stand-ins for its GPU workers: a job's seed says what they do (tests.kernels.worker.stand_in).
SIGUSR1 makes it collect its garbage, so that what is left afterwards is in use.

python -m tests.load.stand_in_server run app.py --server.port 8501      as `python -m streamlit` otherwise
"""

import gc
import os
import signal
import sys

from streamlit.web.cli import main

from kernels.worker import worker
from tests.kernels.worker.stand_in import STAND_IN

GPUS = "0,1"

if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = GPUS
    signal.signal(signal.SIGUSR1, lambda *_: gc.collect())
    worker._COMMAND = (sys.executable, str(STAND_IN))
    sys.exit(main())
