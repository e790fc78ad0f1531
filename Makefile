# What people type. Every target below `setup` depends on it, so nothing ever runs on stale compiled modules.
BIN := .venv/bin

.PHONY: help setup lint test demo bench docs wheel clean

help:
	@echo "make setup   .venv, pinned packages, compiled modules, Java; does nothing twice"
	@echo "make demo    a quick look at all five papers on Spark, and out/report.html; minutes at first, then seconds"
	@echo "make test    all checks and tests"
	@echo "make lint    ruff, mypy, import contracts"
	@echo "make bench   benchmarks"
	@echo "make docs    the documentation as a site: out/site/index.html"
	@echo "make wheel   a wheel for other machines, in out/dist"
	@echo "make clean   remove compiled modules and build/"

setup:
	@tools/setup.sh

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

demo: setup
	$(BIN)/roamcast reproduce --quick

bench: setup
	$(BIN)/python bench/run.py

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo out/site/index.html

wheel: setup
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir out/dist .
	@ls out/dist/*.whl

clean:
	rm -rf build
	find src -name '*.so' -delete
