# memlessons. Written for GNU make 3.81 or newer; `make` alone shows what there is.

# auto: the build of torch with CUDA only where an NVIDIA driver is found.   TORCH=cpu | TORCH=cuda
TORCH ?= auto
# The Python that .venv is made with: named here, or the first one found that is 3.11 or newer.
PYTHON ?=
# For example: make test PYTEST_ARGS="tests/plan -x"
PYTEST_ARGS ?=

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
PY := $(BIN)/python

CANDIDATES = $(if $(PYTHON),"$(PYTHON)",$(PY) python3.14 python3.13 python3.12 python3.11 python3 python)

.PHONY: help setup model book lab test test-all lint types notebooks doctor clean

help:
	@echo "memlessons: an executable textbook about the memory of language models"
	@echo ""
	@echo "  make book       install, fetch the model once, run every chapter here into _build/"
	@echo "  make lab        open JupyterLab on work/, your own copies of the chapters"
	@echo "  make doctor     check this machine, and say how to mend what is wrong"
	@echo "  make clean      remove what was built (.venv, work/ and the fetched model stay)"
	@echo ""
	@echo "For authors:"
	@echo "  make setup      make .venv (every other target does so when needed)"
	@echo "  make test       lint, types, quick tests and every chapter at a quick pace"
	@echo "  make test-all   the same with everything, at full pace"
	@echo "  make lint       ruff: rules and format"
	@echo "  make types      mypy over memlessons/, kernels/, book/ and tools/"
	@echo "  make notebooks  regenerate and run the committed notebooks, with static pictures"
	@echo ""
	@echo "TORCH=cpu       a small install on Linux (0.7 GB to download; TORCH=cuda: 3 GB)"
	@echo "PYTHON=...      the Python to make .venv with (3.11 to 3.14)"
	@echo "PYTEST_ARGS=... further arguments for pytest"

# The script returns at once when .venv/.ready says that these very pins are installed.
setup:
	@for python in $(CANDIDATES); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    exec "$$python" tools/setup_env.py --torch "$(TORCH)"; \
	  fi; \
	done; \
	echo "No Python 3.11 or newer was found (looked for: $(subst ",,$(CANDIDATES)))." >&2; \
	echo "Install one: 'sudo apt install python3 python3-venv' on Debian or Ubuntu, 'brew install python@3.13'" >&2; \
	echo "on macOS, 'winget install Python.Python.3.13' on Windows, or 'conda env create -f environment.yml'." >&2; \
	echo "Or name one that lies elsewhere: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	exit 1

model: setup
	@$(PY) -m memlessons fetch smollm2

book: model
	@$(PY) -m memlessons.book build

# Chapters that work/ has already are left alone: they are the reader's.
lab: model
	@mkdir -p work
	@for chapter in book/*.ipynb; do \
	  name="$$(basename "$$chapter")"; \
	  if [ -e "$$chapter" ] && [ ! -e "work/$$name" ]; then \
	    $(PY) -m memlessons start "$${name%%_*}" || exit 1; \
	  fi; \
	done
	$(PY) -m jupyterlab --notebook-dir=work

test: lint types model
	MEMLESSONS_PACE=quick $(PY) -m pytest -m "not slow" $(PYTEST_ARGS)

test-all: lint types model
	MEMLESSONS_PACE=full $(PY) -m pytest $(PYTEST_ARGS)

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: setup
	$(PY) -m mypy

# Static pictures are drawn by a Chromium; readers never need one.
notebooks: model
	@browser="$${BROWSER_PATH:-$$(command -v chromium || command -v chromium-browser || command -v google-chrome)}"; \
	if [ -n "$$browser" ]; then BROWSER_PATH="$$browser"; export BROWSER_PATH; fi; \
	$(PY) -m memlessons.book notebooks

doctor: setup
	@$(PY) -m memlessons doctor

clean:
	rm -rf _build build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find memlessons kernels book tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
