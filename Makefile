# Every target sets up what it needs. `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

INSTITUTION ?= kait
ASSEMBLY ?= cdk.out
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONDONTWRITEBYTECODE :=
# Packages of another Python would come before those of .venv.
unexport PYTHONPATH PYTHONHOME

# Caches are the checkout's own where there is no home to write to.
ifneq ($(shell test -w "$$HOME" && echo yes),yes)
export HOME := $(CURDIR)/.cache/home
endif

READY := .venv/.ready
SHELL_FILES = $(shell git ls-files '*.sh' .ci/run)

.PHONY: help setup synth demo check test test-slurm-all fuzz test-aws test-all fix golden policy lock bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## make .venv with Python packages, Node and the CDK command line

$(READY): constraints.txt requirements-dev.txt requirements-emulator.txt pyproject.toml package-lock.json scripts/setup.sh
	@scripts/setup.sh
	@touch $@

synth: $(READY) ## synthesise one institution (INSTITUTION=kait) into cdk.out and say what it holds
	@scripts/synth.sh $(INSTITUTION) $(ASSEMBLY)

check: $(READY) ## what to run before each commit: style, types, quick tests
	ruff check .
	ruff format --check .
	mypy
	shellcheck $(SHELL_FILES)
	shfmt -d -i 2 $(SHELL_FILES)
	pytest -q -n 2 -m 'not slow and not slurm and not deploy and not browser and not aws'

demo: $(READY) ## deploy an example to an emulator of AWS here, boot a real Slurm, trip an alarm
	@python scripts/demo.py $(DEMO)

test: $(READY) ## everything that CI runs
	ruff check .
	ruff format --check .
	mypy
	shellcheck $(SHELL_FILES)
	shfmt -d -i 2 $(SHELL_FILES)
	scripts/test.sh

test-slurm-all: $(READY) ## the Slurm group on every version, 26.05 too (root on Debian 12)
	scripts/slurm_lab.sh trixie sid
	TRAINSHED_SWEEP=1 pytest -q -m slurm

fuzz: $(READY) ## many random policies on every Slurm version (root on Debian 12)
	scripts/slurm_lab.sh trixie sid
	TRAINSHED_SWEEP=1 pytest -q tests/slurm/test_random_policies.py

test-aws: $(READY) ## the group `deploy` on a real account, which it costs: see docs/deploy.md
	TRAINSHED_AWS=1 pytest -q -m aws tests/deploy

test-all: test ## longer sweeps as well
	TRAINSHED_SWEEP=1 pytest -q -m 'slow and not aws'

fix: $(READY) ## format, and mend what can be mended
	ruff check --fix .
	ruff format .
	shfmt -w -i 2 $(SHELL_FILES)

golden: $(READY) ## rewrite tests/golden and institutions/schema.json; read the diff
	trainshed schema >institutions/schema.json
	pytest -q --update-golden -m 'not slow and not slurm and not deploy and not browser and not aws'
	trainshed picture institutions/kait.yaml --out docs/kait.svg

policy: $(READY) ## write docs/deploying-role.json, the policy of the role that deploys; read the diff
	python scripts/deploying_role.py >docs/deploying-role.json

lock: $(READY) ## write constraints.txt anew
	uv pip compile pyproject.toml --extra app --extra dev --universal --python-version 3.11 --quiet --upgrade -o constraints.txt

bench: $(READY) ## time synthesis beside plain aws-cdk-lib
	python benchmarks/synth.py

clean: ## remove everything that was made here
	rm -rf .venv node_modules cdk.out .cache .mypy_cache .pytest_cache .ruff_cache build dist
