"""A module that is not as its seed compiles does not run unnoticed: as a command and from Python."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from formulaseed import SeedError, compile_seed, load_evaluator, load_seed
from formulaseed.backends.python.identity import insert_hash
from helpers import ROOT, Outcome, command, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

LINE = re.compile(r'^BODY_SHA256: Final = "([0-9a-f]{64})"\n', re.MULTILINE)
Edit = Callable[[str], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A seed, its module beside it, rows and a context."""
    write_json(tmp_path / "tiny.json", tiny_seed())
    (tmp_path / "tiny_1.py").write_text(compile_seed(tmp_path / "tiny.json"), encoding="utf-8")
    write_lines(tmp_path / "rows.jsonl", tiny_rows("a", tiny_row("r1"), tiny_row("r2", "bad")))
    review = {"review_id": "r1", "text": "Good soup", "stars": 4}
    write_lines(tmp_path / "contexts.jsonl", {"business_id": "a", "is_open": 1, "reviews": [review]})
    return tmp_path


def edit(folder: Path, change: Edit) -> None:
    path = folder / "tiny_1.py"
    source = path.read_text(encoding="utf-8")
    edited = change(source)
    assert edited != source
    path.write_text(edited, encoding="utf-8")


def evaluate(folder: Path, *options: str) -> Outcome:
    return command("evaluate", "tiny_1.py", "--rows", "rows.jsonl", *options, cwd=folder)


def run(folder: Path, *options: str) -> Outcome:
    return command("run", "tiny_1.py", "--contexts", "contexts.jsonl", *options, cwd=folder)


def change_threshold(source: str) -> str:
    return source.replace("share > 0.5", "share > 0.25")


EDITED = "was edited after it was compiled"
EDITS: dict[str, tuple[Edit, str]] = {
    "a threshold": (change_threshold, EDITED),
    "a threshold and its hash": (lambda source: insert_hash(change_threshold(source)), "is not what tiny.json compiles to"),
    "a comment": (lambda source: source.replace("# Points", "# points"), EDITED),
    "a line at the end": (lambda source: f"{source}\n", EDITED),
    "the hash": (lambda source: source.replace('BODY_SHA256: Final = "', 'BODY_SHA256: Final = "0'), EDITED),
    "no hash": (lambda source: LINE.sub("", source), EDITED),
    "the hash of the seed": (lambda source: re.sub(r'(SEED_SHA256: Final = )"\w{64}"', rf'\1"{"0" * 64}"', source), EDITED),
}  # fmt: skip


def test_a_module_states_the_hash_of_its_other_lines() -> None:
    modules = sorted((ROOT / "generated").glob("*.py"))
    assert len(modules) == 11
    for path in modules:
        source = path.read_text(encoding="utf-8")
        [stated] = LINE.findall(source)
        assert hashlib.sha256(LINE.sub("", source).encode()).hexdigest() == stated
        before = source[: source.index("BODY_SHA256")].splitlines()[-1]
        assert re.fullmatch(r'(SEED|REQUESTS|RULES)_SHA256: Final = "\w{64}"', before)


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.thorough
def test_an_edited_module_is_refused_unless_allowed(name: str, folder: Path) -> None:
    """Status 2 and one line that says how it differs and what to do; FS701 in Python. Results of an allowed one say so."""
    change, reason = EDITS[name]
    path = folder / "tiny_1.py"
    original = evaluate(folder).results[0]
    assert "edited" not in original["run"]
    edit(folder, change)
    for done in (evaluate(folder), run(folder)):
        assert (done.status, done.out) == (2, "")
        message = f"formulaseed: tiny_1.py {reason}: compile tiny.json again, or pass --allow-edited"
        assert done.err.splitlines() == [message]
    with pytest.raises(SeedError) as refused:
        load_evaluator(path)
    [diagnostic] = refused.value.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("FS701", "error")
    assert diagnostic.message.startswith(("the module was", "the module is not what"))
    done = evaluate(folder, "--allow-edited")
    assert done.status == 0
    assert done.err.startswith(f"tiny_1.py {reason}")
    [result] = done.results
    assert (result["run"]["edited"], result["run"]["parameters"]) == (True, {"LEAST": 2})
    verdict = "good" if "threshold" in name else original["output"]["VERDICT"]
    assert result["output"] == {**original["output"], "VERDICT": verdict}
    assert load_evaluator(path, allow_edited=True).provenance().edited


@pytest.mark.parametrize("options", [(), ("--allow-edited",)])
def test_foreign_code_and_earlier_styles_are_never_run(options: tuple[str, ...], folder: Path) -> None:
    """A module of an earlier style has other names and other rows; the message says how to compile it again."""
    path = folder / "tiny_1.py"
    source = path.read_text(encoding="utf-8")
    edit(folder, lambda source: f"{source}\nimport os\n")
    done = evaluate(folder, *options)
    assert (done.status, "error[FS701]" in done.err) == (1, True)
    header = '"""Tiny-1\n\nCompiled by formulaseed, emission style 2026-11, from tiny.json.'
    path.write_text(re.sub(r'^"""Code generated by .*?DO NOT EDIT\.', header, source), encoding="utf-8")
    done = evaluate(folder, *options)
    assert (done.status, done.results) == (1, [])
    assert "the module has the emission style 2026-11, an earlier one" in done.err
    assert "compile its seed again: `formulaseed compile tiny.json --out ." in done.err


def test_an_unedited_module_runs_anywhere(folder: Path) -> None:
    """Beside its seed, alone, under another name, with other line ends, and in a project around its folder."""
    expected = evaluate(folder)
    assert (expected.status, expected.err) == (0, "VERDICT: 1 bad\n1 line: 1 restaurant, 0 failed\n")
    source = (folder / "tiny_1.py").read_bytes()
    (folder / "pyproject.toml").touch()
    assert evaluate(folder) == expected
    alone = folder / "alone" / "other.py"
    alone.parent.mkdir()
    for data in (source, source.replace(b"\n", b"\r\n")):
        alone.write_bytes(data)
        assert command("evaluate", alone, "--rows", folder / "rows.jsonl") == expected
    assert command("evaluate", "generated/g1a_v2.py", "--rows", "examples/rows-g1a_v2.jsonl").status == 0


@pytest.mark.parametrize("seed", ['{"task_name": 1}', "", None], ids=["errors", "empty", "another"])
@pytest.mark.thorough
def test_a_changed_seed_is_reported(seed: str | None, folder: Path) -> None:
    """The module's own hash then decides; `run` needs the seed as it was."""
    text = seed if seed is not None else (folder / "tiny.json").read_text().replace("0.5", "0.75")
    (folder / "tiny.json").write_text(text, encoding="utf-8")
    done = evaluate(folder)
    assert done.status == 0
    assert done.err.startswith("tiny.json has changed since tiny_1.py was compiled\n")
    assert done.results[0]["run"]["seed_sha256"] == load_seed(tiny_seed()).sha256
    done = run(folder)
    assert (done.status, "was compiled from another version of tiny.json; compile it again" in done.err) == (2, True)


def test_a_module_of_a_renamed_seed_is_to_be_deleted(folder: Path) -> None:
    """Compiling the seed writes another module, so that this one would never be current again."""
    write_json(folder / "tiny.json", {**tiny_seed(), "task_name": "Waiting"})
    done = run(folder)
    assert "tiny.json has changed since tiny_1.py was compiled: it is now called `Waiting`\n" in done.err
    advice = "tiny.json is now called `Waiting`, which compiles to waiting.py; delete tiny_1.py"
    assert (done.status, advice in done.err) == (2, True)
    assert evaluate(folder).status == 0
    edit(folder, change_threshold)
    done = evaluate(folder)
    assert (done.status, f"tiny_1.py {EDITED}" in done.err) == (2, True)


def test_a_module_of_seed_v1_is_compared_with_its_seed(folder: Path) -> None:
    seed: dict[str, Any] = {
        "task_name": "Tiny-1", "filter_keywords": [], "extraction_fields": [{"name": "n", "type": "integer"}],
        "compute_dag": [{"name": "total", "formula": "sum(e['n'] for e in extractions)"}], "output_fields": ["total"],
    }  # fmt: skip
    write_json(folder / "tiny.json", seed)
    command("compile", "tiny.json", "--out", ".", cwd=folder)
    write_lines(folder / "rows.jsonl", {"business_id": "a", "rows": [{"extraction": {"n": 2}}]})
    assert evaluate(folder).results[0]["output"] == {"total": 2}
    edit(folder, lambda source: insert_hash(source.replace("total += n", "total += n + 1")))
    assert "is not what tiny.json compiles to" in evaluate(folder).err
