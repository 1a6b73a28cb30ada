"""`compile --prove`: the module states the bounds that are proved, and is otherwise the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from formulaseed.backends.python.verify import has_same_code
from formulaseed.runtime.loading import load_module
from helpers import assert_black_unchanged, command, needs, tiny_seed, write_json

needs("z3", "prove")

YEARS = {"name": "AGE", "op": "max", "expr": "param.LEAST * (2030 - meta.year)", "default": 0}


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    """A seed with a share, which is at most 1, an output that has a bound by Yelp's years, and a count without any."""
    steps = [step for step in tiny_seed()["compute"] if step["name"] != "TOTAL"]
    output = ["N_GOOD", "SHARE", "AGE", "VERDICT"]
    return write_json(tmp_path / "seed.json", tiny_seed(compute=[*steps, YEARS], output=output))


def test_the_module_states_proved_bounds(seed: Path, tmp_path: Path) -> None:
    """They hold for all parameters within their bounds, and the header says for which values; the code stays as it is."""
    command("compile", seed, "--out", tmp_path / "plain").expect(0)
    modules = []
    for name in ("proved", "again"):
        [path] = command("compile", seed, "--prove", "--out", tmp_path / name).expect(0).out.splitlines()
        modules.append(Path(path).read_text(encoding="utf-8"))
    source = modules[0]
    assert source == modules[1].replace("/again/", "/proved/")
    assert_black_unchanged(source)
    assert "DO NOT EDIT.\n\nBounds in `Result`" in source
    for line in (
        "    N_GOOD: int  # 0 or more, proved\n",
        "    SHARE: float  # 0 to 1, proved\n",
        "    AGE: int  # 0 to 260, proved\n",
        "- meta.year: whole numbers from 2004 to 2030\n",
        "- param.LEAST: whole numbers from 1 to 10\n",
    ):
        assert line in source
    plain = next((tmp_path / "plain").glob("*.py")).read_text(encoding="utf-8")
    assert "proved" not in plain
    assert has_same_code(source, plain)
    assert "z3" not in source
    assert load_module(next((tmp_path / "proved").glob("*.py"))).fault == ""


def test_check_agrees(seed: Path, tmp_path: Path) -> None:
    """A module with proved bounds is current with `--prove` alone, by its seed or by itself; the message repeats the option."""
    options = ("--out", tmp_path, "--prove")
    [module] = command("compile", seed, *options).expect(0).out.splitlines()
    for given in ((seed, *options), (module, "--prove")):
        assert command("compile", *given, "--check").expect(0).out == f"{module}: current\n"
    command("compile", seed, "--out", tmp_path, "--check").expect(1)
    command("compile", seed, "--out", tmp_path).expect(0)
    assert "--prove`" in command("compile", seed, *options, "--check").expect(1).out


def test_the_solver_is_needed(seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it nothing is written, and one error says what to install; other targets have no proofs."""
    monkeypatch.setitem(sys.modules, "z3", None)
    failed = command("compile", seed, "--prove", "--out", tmp_path / "out").expect(
        2, "pip install 'formulaseed[prove]'"
    )
    assert failed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    command("compile", seed, "--prove", "--target", "sql").expect(2, "--prove goes with --target python")
