# make app     installs what the app needs into .venv and starts it     PORT=8501 HOST=localhost NAMES= BASE=
# make app CLUSTER=10.0.0.1   further hosts may lend it their GPUs; that is this host's address
# make cluster HEAD=10.0.0.1  lends this host's GPUs to the app that runs there
# make check   does FP8 work on the GPUs here? A verdict in a minute or two     CHECK="--quick --json a.json"
# make warm    compiles what the pages open with into .compiled, to copy     GPU="NVIDIA H200", if none is here
# make test    installs what the tests need as well, and runs them       WORKERS=3
# make quick   the tests of a minute: no browser, no kernel is run or compiled, no page as a whole
# make test-all   every case of every sweep as well
# make gpu-test   the tests that need a GPU, those that need it for themselves last      GPU_WORKERS=10
# make load    thirty and passing sessions use every page, workers are killed and stopped, for minutes
#              LOAD="--phase steady --sessions 60"
# make cluster-test   installs Ray as well, and tests two nodes on this host
# make site    a folder for any web host: the pictures, which a hand moves without Python
#              SITE=site LIVE=https://fp8.example.org links each picture to a running app
# make lint, make format, make clean

PORT ?= 8501
HOST ?= localhost
NAMES ?=
BASE ?=
CLUSTER ?=
HEAD ?=
# Of two cores a third is idle under two workers: a page in a browser waits for its server, and back.
WORKERS ?= 3
CORES = $(shell getconf _NPROCESSORS_ONLN)
GPU_WORKERS ?= $(shell echo $$(($(CORES) < 10 ? $(CORES) : 10)))
LOAD ?=
GPU ?= here
SITE ?= site
LIVE ?=
PYTHON ?= python3

RUN = .venv/bin/python -m
PIP = $(RUN) pip install --disable-pip-version-check --quiet

.PHONY: app cluster check warm test quick test-all gpu-test cluster-test load site lint format clean

app: .venv/.app-installed $(if $(CLUSTER),.venv/.cluster-installed)
	@$(RUN) pages.kit.server.start "$(HOST)" "$(PORT)" "$(BASE)"
	@FP8_EXPLORER_NAMES="$(NAMES)" $(if $(CLUSTER),$(RUN) kernels.worker.cluster head "$(CLUSTER)" --) \
	  $(RUN) streamlit run app.py --server.port $(PORT) --server.address $(HOST) --server.baseUrlPath "$(BASE)"

cluster: .venv/.cluster-installed
	@$(RUN) kernels.worker.cluster join "$(HEAD)"

check: .venv/.app-installed
	@$(RUN) kernels.check $(CHECK)

warm: .venv/.app-installed
	@$(RUN) pages.kit.gemm.warm --gpu "$(GPU)"

# A thread a process: the workers share the cores, and threads of theirs would wait for each other. Compiled
# files are kept, whatever the environment says: hundreds of processes read them.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) pytest --numprocesses $(WORKERS) --dist loadfile
QUICK = tests/fp8core tests/kernels/measure/test_tune_search.py tests/kernels/gemm/test_plan.py tests/kernels/gemm/test_planned.py \
  tests/pages/kit tests/assets tests/test_layering.py tests/test_prose.py

test: .venv/.tests-installed lint
	$(PYTEST) --no-loadscope-reorder

quick: .venv/.tests-installed lint
	$(PYTEST) $(QUICK)

test-all: .venv/.tests-installed lint
	$(PYTEST) --no-loadscope-reorder -m "not cluster"

# A worker takes over cases of another's file: most compile kernels, and one file holds a third of all.
GPU_TESTS = OMP_NUM_THREADS=1 $(RUN) pytest tests/kernels --durations=15
GPU_MARKS = gpu and not exhaustive and not cluster

gpu-test: .venv/.tests-installed
	@$(RUN:-m=-c) 'import sys, torch; sys.exit(None if torch.cuda.is_available() else "gpu-test needs a GPU that torch can use")'
	$(GPU_TESTS) -m "$(GPU_MARKS) and not alone" -n $(GPU_WORKERS) --dist worksteal; parallel=$$?; \
	  $(GPU_TESTS) -m "$(GPU_MARKS) and alone" -n 0 && exit $$parallel

cluster-test: .venv/.tests-installed .venv/.cluster-installed
	OMP_NUM_THREADS=1 $(RUN) pytest -m cluster tests/kernels/worker/cluster

load: .venv/.tests-installed
	@$(RUN) tests.load.run $(LOAD)

site: .venv/.site-installed
	@$(RUN) pages.kit.site "$(SITE)" $(LIVE)

lint: .venv/.tests-installed
	$(RUN) ruff check .
	$(RUN) ruff format --check .

format: .venv/.tests-installed
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

clean:
	rm -rf .venv .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The empty files say that an installation reached its end: without one, it is taken up again.
.venv/.app-installed: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "FP8 Explorer needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv module is missing. On Debian: apt-get install python3-venv"; exit 1; }
	@$(RUN) pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo "Installing what the app needs into .venv; torch is large, this takes minutes."
	@$(PIP) -r requirements.txt
	@touch $@

.venv/.tests-installed: tests/requirements.txt .venv/.app-installed
	@$(PIP) -r tests/requirements.txt
	@touch $@

.venv/.cluster-installed: requirements-cluster.txt .venv/.app-installed
	@$(PIP) -r requirements-cluster.txt
	@touch $@

.venv/.site-installed: requirements-site.txt .venv/.app-installed
	@$(PIP) -r requirements-site.txt
	@touch $@
