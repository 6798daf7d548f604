# Needs python3 (3.11 or newer) and make; everything else goes into .venv.
# ARGS is handed to the command behind a target: make test ARGS="-k align_up"

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
ULLAGE := $(VENV)/bin/ullage
SPECS  := specs/sglang
OUT    := generated/ullage_generated
ARGS   ?=

# The stamp's name is a checksum of all that decides what is installed, this folder's path included (an
# editable install points here). Same checksum, nothing to do; another one, pip runs again.
STAMP  := $(VENV)/installed-$(shell { echo "$(CURDIR)"; cat pyproject.toml constraints.txt; } | cksum | tr ' ' '-')

# Two test processes share the cores; torch would otherwise start one thread per core in each. The
# process that is done first takes over half of what the other one has left.
PYTEST := $(PY) -m pytest -n 2 --dist worksteal
test test-fast: export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help install compile check demo demo-dp test test-fast lint format bench bench-scale bench-memory bench-gpu bench-sglang clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

install: $(STAMP)  ## create .venv and install what is missing

define CHECK_PYTHON
import sys
if sys.version_info < (3, 11):
    sys.exit("ullage needs Python 3.11 or newer, and this is %s; try: make PYTHON=python3.12" % sys.version.split()[0])
try:
    import ensurepip, venv
except ImportError:
    sys.exit("this Python has no venv or no ensurepip (Debian and Ubuntu: apt-get install python3-venv)")
endef
export CHECK_PYTHON

$(STAMP):
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV) (minutes the first time)"
	@$(PY) -m pip install --quiet --no-input --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(PY) -m compileall -q compiler runtime generated
	@rm -f $(VENV)/installed-*
	@touch $@

compile: install  ## compile specs/sglang into generated/
	$(ULLAGE) compile $(SPECS) --out $(OUT)

check: install  ## fail if generated/ is not what the specs say
	$(ULLAGE) compile $(SPECS) --out $(OUT) --check

demo: compile  ## compile the specs and serve the demo model
	$(ULLAGE) demo $(ARGS)

demo-dp: compile  ## the demo on two data-parallel ranks
	$(PY) -m ullage_demo.data_parallel $(ARGS)

test: install  ## run the tests
	$(PYTEST) $(ARGS)

test-fast: install  ## run the tests that take no more than a few seconds each
	$(PYTEST) -m "not slow" $(ARGS)

lint: install  ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy --strict compiler runtime generated

format: install  ## let ruff format and mend what it can
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: install  ## measure compile time, as ratios to what is unavoidable
	$(PY) benchmarks/compile_time.py $(ARGS)

bench-scale: install  ## measure how compile time and memory grow, up to 1,000 modes
	$(PY) benchmarks/scale.py $(ARGS)

# What SGLang allocates is kept with the tests.
bench-memory: install  ## measure what the plan of specs/sglang takes beside SGLang's buffers
	PYTHONPATH=tests $(PY) benchmarks/memory.py $(ARGS)

bench-gpu: install  ## measure everything on a CUDA device, beside SGLang too, and write benchmarks/results/gpu.md
	PYTHONPATH=benchmarks $(PY) -m gpu --record
	PYTHONPATH=benchmarks $(PY) -m sglang_peer --device cuda --record
	$(PY) benchmarks/gpu_table.py

# SGLang's files come out of its released wheel, into the user's cache.
bench-sglang: install  ## measure loading beside SGLang's own registry, on the CPU and on a GPU if there is one
	PYTHONPATH=benchmarks $(PY) -m sglang_peer $(ARGS)

clean:  ## remove .venv and the caches of tools
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
