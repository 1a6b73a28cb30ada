"""Compare the lines of a file of examples with what the compiler says of them today; `--update-cases` rewrites the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers import write_lines


def check_lines(
    path: Path, inputs: tuple[str, ...], describe: Callable[..., Mapping[str, Any]], config: pytest.Config
) -> None:
    """Fail unless each line holds its inputs, in that order, followed by what `describe` returns for them.

    With `--update-cases` the file is rewritten instead: write a line with the inputs alone, and review the rest.
    """
    differences, records = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        written = json.loads(line)
        values = {name: written[name] for name in inputs}
        records.append({**values, **describe(**values)})
        current = json.dumps(records[-1], ensure_ascii=False)
        differences += [f"- {line}\n+ {current}"] if line != current else []
    if config.getoption("--update-cases"):
        write_lines(path, *records)
    elif differences:
        pytest.fail(f"{path.name} as written, and as it is:\n" + "\n".join(differences), pytrace=False)
    assert records


def check_text(path: Path, text: str, config: pytest.Config) -> None:
    """Assert that a file holds the text, or write it there with `--update-cases`."""
    if config.getoption("--update-cases"):
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()
