# `make help` lists the targets: each line that begins with one and has two number signs, and what follows them.
# Each sets up what it needs from a bare Python 3.11 to 3.13 and is quick when there is nothing to do.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := all

PYTHON ?= python3
CORES ?= $(shell nproc)
# make all FRAMEWORKS=torch, or FRAMEWORKS=torch,jax: these alone are trained with, in an environment of their own.
FRAMEWORKS ?=
comma := ,
empty :=
space := $(empty) $(empty)
NAMED := $(sort $(subst $(comma), ,$(FRAMEWORKS)))
$(if $(filter-out tensorflow torch torch-xla jax,$(NAMED)),$(error FRAMEWORKS: tensorflow, torch, torch-xla or jax, or several, not "$(FRAMEWORKS)"))
$(if $(NAMED),$(if $(filter-out all,$(MAKECMDGOALS)),$(error FRAMEWORKS is of `make all` alone)))
VENV := .venv$(subst $(space),,$(addprefix -,$(NAMED)))
BIN := $(VENV)/bin
# Compiled at installation: it makes every start of a framework two to three times faster.
INSTALL = $(BIN)/uv pip install --quiet --require-hashes --compile-bytecode --python $(BIN)/python

SUPPORTED = $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "error: Python 3.11, 3.12 or 3.13 is needed; set PYTHON=python3.11, say")'

.PHONY: help all bench gpu gpu-compiler new test test-all test-nightly test-accelerator mutation audit lint format lock clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-18s%s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# `make all CORES=8` is `snakemake all --cores 8` in the environment made here, with its report.
# Another preset: make all CONFIG=presets/paper.yaml
OPTIONS = --cores $(CORES) $(if $(CONFIG),--configfile $(CONFIG)) \
	$(if $(NAMED),--config frameworks=[$(subst $(space),$(comma),$(NAMED))])
# The first answer comes first: in one call, jobs that prepare other questions would delay it.
all: $(VENV)/workflow ## Train, compare, draw and answer, as config.yaml says, or with CONFIG=presets/paper.yaml.
	source $(BIN)/activate && { snakemake first_answer $(OPTIONS) || true; } \
		&& snakemake all $(OPTIONS) --report results/report.html --report-after-run

new: ## Write a folder for a question of yours (NAME=../my_question) or a published source (PAPER=../my_paper); install nothing.
	@$(SUPPORTED)
	@$(PYTHON) scripts/new.py $(if $(PAPER),--paper "$(PAPER)","$(NAME)")

# Tiers, see tests/README.md.
test: ## Lint, and run the quick tests: minutes.
test-all: ## Run all that CI runs.
test-nightly: ## Run the long campaigns: over an hour.
test-accelerator: ## Test this machine's GPU or TPU.
test test-all test-nightly test-accelerator: $(VENV)/dev
	source $(BIN)/activate && bash tests/run.sh $(@:test-%=%)

gpu-compiler: $(VENV)/gpu-compiler ## Install the compiler of NVIDIA GPUs, 0.6 GB, for workflows/ahead_of_time; no GPU is needed.

mutation: $(VENV)/dev ## Change the modules that make verdicts, one place at a time: which change does no test see? Hours on one core.
	source $(BIN)/activate && bash tests/mutation.sh

bench: $(VENV)/workflow ## Measure the speed claims of benchmarks/README.md, or ONLY=drawing; run nothing else meanwhile.
	source $(BIN)/activate && snakemake --cores $(CORES) results/data/fashion_mnist/manifest.json \
		results/data/reuters/manifest.json results/data/tiny_shakespeare/manifest.json \
		&& PYTHONPATH=scripts python benchmarks/bench.py --only "$(ONLY)"

# With the frameworks of .venv or else of the Python on PATH. A trial without a GPU: PARAGONE_ACCELERATOR=cpu LIMIT=4000 make gpu
gpu: ## Measure what one GPU decides in 13 minutes (benchmarks/README.md); install nothing.
	if [ -e $(BIN)/activate ]; then source $(BIN)/activate; fi && bash benchmarks/gpu.sh

audit: $(VENV)/uv ## List the known vulnerabilities of all that is pinned, from the service that pip-audit asks.
	source $(BIN)/activate && bash envs/audit.sh

lint: $(VENV)/dev ## Check style and types.
	source $(BIN)/activate && bash tests/lint.sh

format: $(VENV)/dev ## Format the code.
	source $(BIN)/activate && ruff check --fix-only --quiet scripts tests benchmarks docs examples workflows conftest.py \
		&& ruff format scripts tests benchmarks docs examples workflows conftest.py && snakefmt Snakefile rules workflows

lock: $(VENV)/uv ## Pin requirements with hashes and write conda files, from the short lists of what is needed.
	source $(BIN)/activate && bash envs/lock.sh

clean: ## Delete environments and results, but not data.
	rm -rf .venv .venv-* .environments results .snakemake

$(VENV)/uv: envs/uv.txt
	$(SUPPORTED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	touch $@

# The tests' environment holds the workflow's: whichever came last serves both.
$(VENV)/dev: envs/dev.txt | $(VENV)/uv
	$(INSTALL) -r $<
	touch $@ $(VENV)/workflow

$(VENV)/gpu-compiler: envs/gpu-compiler.txt | $(VENV)/workflow
	$(INSTALL) --no-deps -r $<
	touch $@

# Beside the frameworks named: TensorFlow Datasets, which reads data, imports TensorFlow, and the parity gate's
# reference is PyTorch. With JAX comes the TPU's compiler, which needs no TPU. These pins are of Python 3.11.
LISTS := $(sort base tensorflow torch $(patsubst jax,jax-tpu,$(NAMED)))
PINS := $(if $(NAMED),$(patsubst %,envs/%.linux-64.txt,$(LISTS)),envs/requirements.txt)
$(VENV)/workflow: $(PINS) | $(VENV)/uv
	$(INSTALL) $(addprefix -r ,$(PINS))
	rm -f $(VENV)/dev
	touch $@
