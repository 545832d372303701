# The two commands of the README: `make train` and `make test`. Each sets itself up on a fresh machine.
PYTHON ?= python3
PIP := .venv/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# What `make bench` reads the loader's share of a step from.
BENCH_DATA ?= fashion

.PHONY: train test setup lint bench chaos results docs clean

# On digits; RECIPE=cifar10-fast and the others that `metamixup ls recipes` tells of need their data.
train: .venv/cli
	.venv/bin/metamixup train$(if $(RECIPE), --recipe $(RECIPE)) --out "runs/$(or $(RECIPE),digits)-$$(date +%Y%m%d-%H%M%S)"

test: .venv/dev
	.venv/bin/pytest -n 2 --dist worksteal

# What each estimator costs and is worth on this machine, with the peers beside it.
bench: .venv/dev
	.venv/bin/python benchmarks/loader_share.py --data $(BENCH_DATA)
	.venv/bin/metamixup bench --quality --memory --growth --compiled --json results/bench.json
	.venv/bin/python -m tools.cost_page results/bench.json docs/cost.md

setup: .venv/dev

lint: .venv/dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# Faults of every kind at random; bounded by its number of faults and its minutes.
chaos: .venv/dev
	OMP_NUM_THREADS=1 .venv/bin/python stress/chaos.py --faults 100 --minutes 40

# Tables in the documents, made again from the records under results/. Those of another version: make results ANY=1
results: .venv/dev
	.venv/bin/python -m tools.markers $(if $(ANY),--any-version) README.md docs/results/*.md

docs: .venv/dev
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

# The stamps: an environment is made again only when what it is made of has changed.
.venv/bin/pip:
	$(PYTHON) -m venv .venv

.venv/cli: .venv/bin/pip pyproject.toml constraints.txt Makefile
	$(PIP) "torch==$$(sed -n 's/^torch==//p' constraints.txt)"
	$(PIP) --editable ".[report]"
	touch $@

.venv/dev: .venv/cli
	$(PIP) --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv build dist runs site
