# Every target works on a machine that has only Python >= 3.11, pip, make and a C++ compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard src/consilience/_core/*.cpp src/consilience/_core/*.hpp)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# compiled files make worker processes start faster, even where the environment does without them
PYTEST := env -u PYTHONDONTWRITEBYTECODE SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: demo test test-all sanitize sanitize-threads lint format bench bench-quick docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.cli
	$(BIN)/consilience compare digits --out demo

# about a tenth of the random examples; test-all has the full counts
test: $(VENV)/.test
	$(PYTEST) -n 2

test-all: $(VENV)/.test
	CONSILIENCE_TEST_ALL=1 $(PYTEST) -n 2

# the kernel tests and some forged model and data files on a build with the address and
# undefined-behaviour sanitizers; run by the interpreter below .venv, which knows nothing of the
# editable install
sanitize: SANITIZERS := address,undefined
sanitize: SANITIZER_LIBRARY := libasan.so
sanitize: SANITIZED_TESTS := tests/core tests/default/test_forest.py tests/model_checks/test_forged_files.py tests/tables/test_forged_files.py
# the same with the thread sanitizer; only the core is instrumented, so only its races are reported
sanitize-threads: SANITIZERS := thread
sanitize-threads: SANITIZER_LIBRARY := libtsan.so
sanitize-threads: SANITIZED_TESTS := tests/core tests/common/test_signals.py -k thread
sanitize sanitize-threads: $(VENV)/.test
	$(PIP) --upgrade --no-deps --target build/$@/site \
	  --config-settings build-dir=build/$@/objects \
	  --config-settings cmake.define.CONSILIENCE_SANITIZE=$(SANITIZERS) \
	  --config-settings install.strip=false .
	PYTHONPATH=$(CURDIR)/build/$@/site:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))') \
	  LD_PRELOAD="$$($(CXX) -print-file-name=$(SANITIZER_LIBRARY)) $$($(CXX) -print-file-name=libstdc++.so.6)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66" \
	  SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $$($(BIN)/python -c 'import sys; print(sys._base_executable)') -m pytest $(SANITIZED_TESTS)

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/mypy tests/typing/public_names.py

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

# every script in a small size, without real data: that they run, not how fast
bench-quick: $(VENV)/.test
	for script in benchmarks/[a-z]*.py; do \
	  echo "== $$script"; OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python $$script --quick || exit 1; \
	done

# the site, with the gallery executed; a warning is an error, and every internal link is followed
docs: $(VENV)/.docs
	rm -rf docs/_build docs/api
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

clean:
	rm -rf $(VENV) build dist docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.cli: $(VENV)/bin/python $(BUILD_INPUTS)
	$(PIP) --editable ".[cli]"
	touch $@

$(VENV)/.test: $(VENV)/bin/python $(BUILD_INPUTS)
	$(PIP) --editable ".[test]"
	touch $@ $(VENV)/.cli

$(VENV)/.docs: $(VENV)/bin/python $(BUILD_INPUTS)
	$(PIP) --editable ".[docs]"
	touch $@

# the linters are taken from the extra, without building the package a second time
$(VENV)/.lint: $(VENV)/bin/python pyproject.toml
	$(PIP) $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["lint"])')
	touch $@
