# The verbs of the project. Each one first makes the environment that it needs, if it is not there: for running, without
# any extra, or with the tools for development and all extras that tests use.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
INSTALLED := $(VENV)/.installed
DEVELOPED := $(VENV)/.developed
SEEDS := $(sort $(wildcard tasks/*/seed.json))
POLICIES := $(patsubst %/policy.json,%,$(sort $(wildcard tasks/*/policy.json)))
TESTED := tasks/g1a_v2/seed.json tasks/kitchen_hygiene/seed.json
SPARK_SEEDS := $(foreach task,g1a_v1 kitchen_hygiene late_night neighborhood_rivals wait_times,tasks/$(task)/seed.json)
REQUESTS := examples/requests.jsonl
RULES := examples/rules.json
REFERENCE := examples/formula_reference.json
DATABASE := sqlite:///examples/listing.db
LISTING_SCHEMA := examples/listing_schema.json
SCHEMA := grammar/formula-seed.schema.json
EXPLANATION := grammar/explanation.schema.json
PROOF := grammar/proof.schema.json

# The processes that tests start read modules as bytecode, whatever the environment says: else each compiles all of them anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install demo docs test test-all test-language test-deep check format generate bench mutants clean

install: $(INSTALLED)  ## the command, in .venv; extras are for pages of docs/ that name them

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) .
	@touch $@

$(DEVELOPED): $(INSTALLED)
	$(PIP) '.[dev]'
	@touch $@

demo: $(INSTALLED)  ## compile a task, show the module, run it on restaurants, say why
	@$(BIN)/formulaseed demo

docs: $(DEVELOPED)  ## the pages of docs/ as a site, in site/
	$(PIP) '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test: $(DEVELOPED)  ## what usually breaks, in two minutes on two cores
	FORMULASEED_HYPOTHESIS=brief $(BIN)/python -m pytest -n auto --dist worksteal -m "not thorough and not slow"

test-all: $(DEVELOPED)  ## every test
	$(BIN)/python -m pytest -n auto --dist worksteal

test-language: $(DEVELOPED)  ## what a Python may do otherwise than another: modules, formulas, the command, in brief
	FORMULASEED_HYPOTHESIS=brief $(BIN)/python -m pytest -n auto tests/cases tests/cli/test_cli.py tests/backends/test_modules.py tests/agreement/test_properties.py tests/agreement/test_seed_v1.py

test-deep: $(DEVELOPED)  ## the property tests with many more examples
	FORMULASEED_HYPOTHESIS=deep $(BIN)/python -m pytest -n auto --dist worksteal

check: $(DEVELOPED)  ## lint, layout, types, generated files current
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell README.md CHANGELOG.md docs compiler grammar templates bench
	$(BIN)/mypy compiler
	$(BIN)/mypy --strict generated
	$(BIN)/formulaseed fmt --check $(SEEDS)
	for folder in $(POLICIES); do \
	  $(BIN)/formulaseed check $$folder/seed.json --policy $$folder/task.md --baseline $$folder/policy.json || exit 1; \
	done
	$(BIN)/formulaseed reference --database $(DATABASE) --schema $(LISTING_SCHEMA) --out $(REFERENCE) --check
	$(BIN)/formulaseed compile --check $(filter-out $(TESTED),$(SEEDS)) $(REQUESTS) $(RULES)
	$(BIN)/formulaseed compile --check $(TESTED) --tests generated/tests
	$(BIN)/formulaseed compile --check --target sql --out generated/sql $(SEEDS)
	$(BIN)/formulaseed compile --check --target sql --dialect spark --out generated/sql $(SPARK_SEEDS)
	$(BIN)/formulaseed schema --check $(SCHEMA)
	$(BIN)/formulaseed schema --of explanation --check $(EXPLANATION)
	$(BIN)/formulaseed schema --of proof --check $(PROOF)
	$(BIN)/python -m formulaseed.language.tables --check

format: $(DEVELOPED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(DEVELOPED)  ## compile every task into generated/, write the examples' reference and the JSON Schemas
	$(BIN)/python examples/make_listing.py
	$(BIN)/formulaseed reference --database $(DATABASE) --schema $(LISTING_SCHEMA) --out $(REFERENCE)
	$(BIN)/formulaseed compile $(filter-out $(TESTED),$(SEEDS)) $(REQUESTS) $(RULES)
	$(BIN)/formulaseed compile $(TESTED) --tests generated/tests
	$(BIN)/formulaseed compile --target sql --out generated/sql $(SEEDS)
	$(BIN)/formulaseed compile --target sql --dialect spark --out generated/sql $(SPARK_SEEDS)
	$(BIN)/formulaseed schema --out $(SCHEMA)
	$(BIN)/formulaseed schema --of explanation --out $(EXPLANATION)
	$(BIN)/formulaseed schema --of proof --out $(PROOF)
	$(BIN)/python -m formulaseed.language.tables
	$(BIN)/python docs/options.py

bench: $(DEVELOPED)  ## ratios, measured in one run
	$(BIN)/python bench/main.py

mutants: $(DEVELOPED)  ## how many small changes of the checker, the printer and the interpreter the tests notice; takes long
	$(PIP) '.[dev,mutation]'
	$(BIN)/python bench/mutants.py $(MUTANTS)

clean:
	rm -rf $(VENV) mutants dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
