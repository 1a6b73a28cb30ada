"""Files of the wrong kind where no JSON Lines are read, and files whose JSON is invalid: the kind is named all the same."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import click
import pytest
from formulaseed import SeedError, load_requests, load_seed
from formulaseed.cli.main import cli
from formulaseed.data.file_kinds import KINDS, KINDS_OF_TEXT, kind_of_text
from helpers import EXAMPLES, ROOT, TASKS, command, read_lines, write_json

FILES = {
    "seed.json": TASKS / "g1a_v2" / "seed.json", "policy.md": TASKS / "g1a_v2" / "task.md",
    "contexts.jsonl": EXAMPLES / "contexts.jsonl", "rows.jsonl": EXAMPLES / "rows-g1a_v2.jsonl",
    "requests.jsonl": EXAMPLES / "requests.jsonl", "module.py": ROOT / "generated" / "g1a_v2.py",
    "recorded.jsonl": EXAMPLES / "extractions-g1a_v2.jsonl", "judgements.jsonl": EXAMPLES / "judgements.jsonl",
    "social.json": EXAMPLES / "social.json", "reference.json": EXAMPLES / "formula_reference.json",
}  # fmt: skip
REQUESTS = read_lines(EXAMPLES / "requests.jsonl")[:1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder")
    for name, path in FILES.items():
        (folder / name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("name", FILES)
def test_invalid_json_is_of_the_kind_that_its_keys_say(name: str) -> None:
    """A comma too many, or the end of the file within the first object, changes nothing."""
    text = FILES[name].read_text(encoding="utf-8")
    kind = "extractions" if name == "recorded.jsonl" else "markdown" if name == "policy.md" else name.split(".")[0]
    assert (found := kind_of_text(text, name)) is not None
    assert found.name == kind
    if kind in KINDS:
        _, end = json.JSONDecoder().raw_decode(text)
        for broken in (text[: end - 1] + ",}", "[" + text[: end - 1] + ",}", text[: end - 1]):
            assert (found := kind_of_text(broken, name)) is not None
            assert found.name == kind


def test_the_kind_of_invalid_json_is_found_in_linear_time() -> None:
    for text in ("[" * 1_000_000, '{"' + '\\"' * 500_000, '{"a": {' * 200_000, '{"a":' + "x" * 1_000_000):
        start = time.perf_counter()
        assert kind_of_text(text, "seed.json") is None
        assert time.perf_counter() - start < 1


def test_help_names_commands_and_options_that_exist() -> None:
    with click.Context(cli) as context:
        for kind in (KINDS | KINDS_OF_TEXT).values():
            for line in re.findall(r"`formulaseed ([^`]*)`", kind.help):
                name, *arguments = line.split()
                found = cli.get_command(context, name)
                assert found is not None, line
                options = {option for each in found.params for option in each.opts}
                assert {word for word in arguments if word.startswith("--")} <= options, line


def test_a_fault_of_json_in_requests_is_the_only_error(tmp_path: Path) -> None:
    """Nothing is missing from a seed that it is not."""
    text = json.dumps(REQUESTS[0], indent=2)
    placeholder = json.dumps({**REQUESTS[0], "structure": {}}, indent=2).replace("{}", "{ ... }")
    for broken, line in (
        (text[:-2] + ",\n}", text.count("\n")), (text[:-20], text.count("\n")), (placeholder, 7),
        ('{"op": "AND" | "OR", "args": [ ... ]}', 1), (f"[{text}, {text}", text.count("\n") * 2 + 1),
    ):  # fmt: skip
        path = tmp_path / "request.json"
        path.write_text(broken)
        found = json.loads(command("check", path, "--format", "json").out)
        assert (found[-1]["code"], found[-1]["line"]) == ("FS001", line)
        assert all("seed" not in each["message"] for each in found)


def test_a_policy_is_no_json(folder: Path) -> None:
    """`draft` asks no model about a file that is no text."""
    for name, noun in (
        ("seed.json", "a seed"),
        ("contexts.jsonl", "a file of contexts"),
        ("module.py", "a generated module"),
    ):
        done = command("draft", name, "--dry-run", cwd=folder)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"formulaseed: cannot read {name}: it is {noun}, not a policy in words; ")
    assert command("draft", "policy.md", "--dry-run", cwd=folder).status == 0


def test_tables_of_another_kind_are_named(folder: Path, tmp_path: Path) -> None:
    """One sentence, not one for each column that is missing."""
    pytest.importorskip("duckdb")
    for name, noun in (("contexts.jsonl", "a file of contexts"), ("requests.jsonl", "a file of requests"),
                       ("recorded.jsonl", "a file of recorded extractions")):  # fmt: skip
        done = command("score", "seed.json", "--rows", name, "--out", tmp_path / "out.jsonl", cwd=folder)
        assert done.status == 1
        assert f"formulaseed: the rows are {noun}; `formulaseed " in done.err
        assert "column" not in done.err
    done = command("score", "seed.json", "--rows", "rows.jsonl", "--out", tmp_path / "out.jsonl", cwd=folder)
    assert done.status == 0


def test_values_of_another_kind_are_refused_by_the_api() -> None:
    context = json.loads((EXAMPLES / "contexts.jsonl").read_text(encoding="utf-8").split("\n")[0])
    seed = json.loads(FILES["seed.json"].read_text(encoding="utf-8"))
    for load, value in ((load_seed, context), (load_requests, [context]), (load_requests, [seed])):
        with pytest.raises(SeedError) as raised:
            load(value)
        assert [d.code for d in raised.value.diagnostics] == ["FS008"]


def test_a_reference_that_cannot_be_read_is_no_internal_error(tmp_path: Path) -> None:
    rules = write_json(tmp_path / "rules.json", {"rules": [{"name": "a", "formula": "1 + 1"}]})
    for given in (tmp_path, tmp_path / "absent.json"):
        done = command("check", rules, "--reference", given)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"formulaseed: cannot read {given}: ")
