# The verbs of the project. Each one makes the environment first, if it is not there.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SEEDS := $(sort $(wildcard tasks/*/seed.json))
REQUESTS := examples/requests.jsonl
RULES := examples/rules.json
REFERENCE := examples/formula_reference.json
DATABASE := sqlite:///examples/listing.db
SCHEMA := grammar/formula-seed.schema.json

.PHONY: install demo test test-deep check format generate bench mutants clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,llm]'
	@touch $(STAMP)

demo: $(STAMP)  ## compile a task, show the module, run it on restaurants, say why
	@$(BIN)/formulaseed demo

test: $(STAMP)  ## all tests, fast ones first
	$(BIN)/python -m pytest -n auto --dist worksteal

test-deep: $(STAMP)  ## the property tests with many more examples
	FORMULASEED_HYPOTHESIS=deep $(BIN)/python -m pytest -n auto --dist worksteal

check: $(STAMP)  ## lint, layout, types, generated files current
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy compiler
	$(BIN)/mypy --strict generated
	$(BIN)/formulaseed fmt --check $(SEEDS)
	$(BIN)/formulaseed reference --database $(DATABASE) --out $(REFERENCE) --check
	$(BIN)/formulaseed compile --check $(SEEDS) $(REQUESTS) $(RULES)
	$(BIN)/formulaseed schema --check $(SCHEMA)
	$(BIN)/python -m formulaseed.language.tables --check

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(STAMP)  ## compile every task into generated/, write the examples' reference and the JSON Schema of seeds
	$(BIN)/python examples/make_listing.py
	$(BIN)/formulaseed reference --database $(DATABASE) --out $(REFERENCE)
	$(BIN)/formulaseed compile $(SEEDS) $(REQUESTS) $(RULES)
	$(BIN)/formulaseed schema --out $(SCHEMA)
	$(BIN)/python -m formulaseed.language.tables

bench: $(STAMP)  ## ratios, measured in one run
	$(BIN)/python bench/main.py

mutants: $(STAMP)  ## how many small changes of the checker, the printer and the interpreter the tests notice; takes long
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,mutation]'
	$(BIN)/python bench/mutants.py $(MUTANTS)

clean:
	rm -rf $(VENV) mutants dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
