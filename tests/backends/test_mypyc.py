"""Test that a module that mypyc has compiled gives the same values as interpreted, as docs/modules.md says."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from formulaseed.testing import contexts, rows
from helpers import ROOT
from hypothesis import given

SEED = ROOT / "tasks" / "g1a_v2" / "seed.json"
MODULE = ROOT / "generated" / "g1a_v2.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(
        shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is None
        or not Path(sysconfig.get_path("include"), "Python.h").is_file(),
        reason="there is no C compiler, or no headers of Python",
    ),
]


def load(path: Path) -> ModuleType:
    """Import the module at this path."""
    spec = importlib.util.spec_from_file_location(MODULE.stem, path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module, and the machine code that mypyc makes of it."""
    pytest.importorskip("mypyc", reason="mypyc is not installed")
    folder = tmp_path_factory.mktemp("mypyc")
    shutil.copy(MODULE, folder)
    done = subprocess.run(
        [sys.executable, "-m", "mypyc", "--strict", MODULE.name], cwd=folder, env={**os.environ, "MYPYC_OPT_LEVEL": "0"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def compiled(folder: Path) -> ModuleType:
    """The module as machine code."""
    return load(folder / f"{MODULE.stem}{sysconfig.get_config_var('EXT_SUFFIX')}")


@pytest.fixture(scope="module")
def interpreted() -> ModuleType:
    return load(MODULE)


def find_outcome(call: Callable[[], object]) -> object:
    """Return the result of the call, or the error that the module raises; operands may be integers or floats."""
    try:
        return repr(call())
    except Exception as error:
        operands = [float(value) if isinstance(value, int) else value for value in getattr(error, "operands", ())]
        if type(error).__name__ == "EvaluationError":
            return error.step, error.kind, operands  # type: ignore[attr-defined]
        return type(error).__name__, str(error)


@given(reviews=rows(SEED, wild=True), restaurant=contexts(SEED, wild=True))
def test_values_and_evidence(
    compiled: ModuleType, interpreted: ModuleType, reviews: list[dict[str, Any]], restaurant: dict[str, Any]
) -> None:
    """For random input every step has the same value, of the same type, or the same error."""
    outcomes = []
    for module in (compiled, interpreted):
        parsed = [module.parse_row(row) for row in reviews], module.parse_context(restaurant)
        functions = (module.evaluate, module.trace, module.evidence)
        outcomes.append([find_outcome(partial(function, *parsed)) for function in functions])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "row",
    [[], None, {}, {"extraction": 1}, {"extraction": {}, "meta": {}},
     {"extraction": {"incident_severity": "harsh", "account_type": "none", "safety_interaction": "none"}, "meta": {}},
     {"extraction": {"incident_severty": "mild"}, "meta": {"stars": "5"}}],
    ids=str,
)  # fmt: skip
def test_rows_that_are_refused(compiled: ModuleType, interpreted: ModuleType, row: Any) -> None:
    outcome: Any = find_outcome(partial(compiled.parse_row, row))
    assert outcome == find_outcome(partial(interpreted.parse_row, row))
    assert outcome[0] == "DataError"


def test_what_is_different(compiled: ModuleType, folder: Path) -> None:
    """The pitfalls that docs/modules.md names."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {MODULE.stem}; print({MODULE.stem}.__file__)"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip().endswith(sysconfig.get_config_var("EXT_SUFFIX")), "it hides the .py beside it"
    assert compiled.__doc__ is compiled.evaluate.__doc__ is None
    with pytest.raises(TypeError, match="tuple object expected; got int"):
        compiled.evaluate([], 1)
