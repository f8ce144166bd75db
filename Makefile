# `make all` is the workflow, `make test` its tests, `make test-all` what CI runs. Each sets up
# what it needs from a bare Python 3.11 to 3.13 and is quick when there is nothing to do.

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

.PHONY: all bench gpu gpu-compiler new test test-all test-nightly test-accelerator mutation audit lint format lock clean

# `make all CORES=8` is `snakemake all --cores 8` in the environment made here, with its report.
# Another preset: make all CONFIG=presets/paper.yaml
OPTIONS = --cores $(CORES) $(if $(CONFIG),--configfile $(CONFIG)) \
	$(if $(NAMED),--config frameworks=[$(subst $(space),$(comma),$(NAMED))])
# The first answer comes first: in one call, jobs that prepare other questions would delay it.
all: $(VENV)/workflow
	source $(BIN)/activate && { snakemake first_answer $(OPTIONS) || true; } \
		&& snakemake all $(OPTIONS) --report results/report.html --report-after-run

# A folder for a question of your own, or for a published source: make new NAME=../my_question, PAPER=../my_paper
new: $(VENV)/dev
	source $(BIN)/activate && python scripts/new.py $(if $(PAPER),--paper "$(PAPER)","$(NAME)")

# Tiers, see tests/README.md: minutes; all that CI runs; long campaigns, by hand; this machine's GPU or TPU.
test test-all test-nightly test-accelerator: $(VENV)/dev
	source $(BIN)/activate && bash tests/run.sh $(@:test-%=%)

# The compiler of NVIDIA GPUs, 0.6 GB, for workflows/ahead_of_time; no GPU is needed.
gpu-compiler: $(VENV)/gpu-compiler

# Changes of the modules that make verdicts, one at a time: which does no test see? Hours on one core.
mutation: $(VENV)/dev
	source $(BIN)/activate && bash tests/mutation.sh

# The speed claims of benchmarks/README.md, measured on this machine; run nothing else meanwhile. One: make bench ONLY=drawing
bench: $(VENV)/workflow
	source $(BIN)/activate && snakemake --cores $(CORES) results/data/fashion_mnist/manifest.json \
		results/data/reuters/manifest.json results/data/tiny_shakespeare/manifest.json \
		&& PYTHONPATH=scripts python benchmarks/bench.py --only "$(ONLY)"

# What one GPU decides in 13 minutes (benchmarks/README.md), with the frameworks of .venv or else of the Python on PATH:
# nothing is installed. A trial without a GPU: PARAGONE_ACCELERATOR=cpu LIMIT=4000 make gpu
gpu:
	if [ -e $(BIN)/activate ]; then source $(BIN)/activate; fi && bash benchmarks/gpu.sh

# Known vulnerabilities of all that is pinned, from the service that pip-audit asks.
audit: $(VENV)/uv
	source $(BIN)/activate && bash envs/audit.sh

lint: $(VENV)/dev
	source $(BIN)/activate && bash tests/lint.sh

format: $(VENV)/dev
	source $(BIN)/activate && ruff check --fix-only --quiet scripts tests benchmarks docs examples workflows conftest.py \
		&& ruff format scripts tests benchmarks docs examples workflows conftest.py && snakefmt Snakefile rules workflows

# Pinned requirements with hashes and conda files, from the short lists of what is needed.
lock: $(VENV)/uv
	source $(BIN)/activate && bash envs/lock.sh

clean:
	rm -rf .venv .venv-* results .snakemake

$(VENV)/uv: envs/uv.txt
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "error: Python 3.11, 3.12 or 3.13 is needed; set PYTHON=python3.11, say")'
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
