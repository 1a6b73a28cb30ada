"""Help, usage errors and completion: what the command says of itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from formulaseed.cli.main import _COMMANDS
from helpers import EXAMPLES, ROOT, TASKS, command, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

G1A = TASKS / "g1a_v2" / "seed.json"
CONTEXTS = EXAMPLES / "contexts.jsonl"
WAIT_EXTRACTIONS = EXAMPLES / "extractions-wait_times.jsonl"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small seed, its module and rows of one restaurant."""
    folder = tmp_path_factory.mktemp("usage")
    tiny = write_json(folder / "tiny.json", tiny_seed())
    assert formulaseed("compile", tiny, "--out", folder).status == 0
    rows = write_lines(folder / "rows.jsonl", tiny_rows("good", tiny_row("r1", score=3, stars=5)))
    return {"tiny": tiny, "module": folder / "tiny_1.py", "rows": rows}


def test_help_lists_the_commands_in_sections() -> None:
    """--help, -h and no arguments at all show every command, in the order of a first day."""
    done = formulaseed("--help")
    assert done.status == 0
    titles = re.findall(r"^(\w+):$", done.out, re.MULTILINE)
    assert titles == ["Options", "Policy", "Running", "Understanding", "Requests", "Formulas", "Tools"]
    assert all(f"\n  {name} " in done.out for name in _COMMANDS)
    assert formulaseed("-h").out == done.out
    bare = formulaseed()
    assert bare.status == 2
    assert done.out.strip() in (bare.out + bare.err)


@pytest.mark.parametrize("name", ["run", "extract"])
def test_options_are_in_panels(name: str) -> None:
    """By their purpose, each once."""
    text = command(name, "--help").out
    panels = dict(re.findall(r"^(\w+)[^\n]*:\n(.*?)(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL))
    assert [*panels][-5:] == ["Input", "Extractor", "Model", "Cost", "Output"]
    options = re.findall(r"^  (--[\w-]+)", text, re.MULTILINE)
    assert len(options) == len(set(options)) > 30
    expected = {"Input": "sample", "Extractor": "min-confidence", "Model": "batch", "Cost": "max-usd"}
    assert all(f"  --{option} " in panels[panel] for panel, option in expected.items())
    assert "SEED" not in panels["Output"]


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_has_help(name: str) -> None:
    """A command's own --help says how it is called."""
    done = command(name, "--help")
    assert (done.status, done.out.startswith(f"Usage: formulaseed {name} ")) == (0, True)


RUN = f"run {{tiny}} --contexts {CONTEXTS}"
EVALUATE = "evaluate {module} --rows {rows}"
NOT_TOGETHER = "pass --contexts FILE, or --restaurants FILE and --reviews FILE"
WRONG_USAGE = {
    "evalute": "there is no command `evalute`; did you mean `evaluate`?",
    "brew": "`compile`",
    "--brew": "no such option",
    "rule FS2O1": "FS201",
    "compile": "missing argument",
    "compile {tiny} --target cobol": "'cobol' is not",
    "compile {tiny} --out {tiny}": "cannot write {tiny}",
    f"check {G1A} --diff": "--diff shows what --fix would change: pass both",
    f"check {G1A} --watch --fix --diff": "--watch is for files, and checks them",
    f"check {G1A} --watch --format json": "--statistics, --diff and --watch are for people",
    f"check {G1A} --statistics --format sarif": "--statistics, --diff and --watch are for people",
    "run {tiny}": NOT_TOGETHER,
    f"{RUN} --reviews {CONTEXTS}": NOT_TOGETHER,
    f"run {{tiny}} --restaurants {CONTEXTS}": NOT_TOGETHER,
    f"{RUN} --extractor recorded": "--extractor recorded needs --extractions FILE",
    f"{RUN} --extractions {WAIT_EXTRACTIONS}": "--extractions goes with --extractor ",
    f"{RUN} --extractor oracle": "'oracle' is not",
    f"{RUN} --limit -1": "-1 is not in the range x>=0",
    f"{RUN} --param MOST=1": "there is no parameter `MOST`",
    "run {tiny} --contexts absent.jsonl": "cannot read absent.jsonl",
    f"{EVALUATE} --param LEAST": "NAME=VALUE",
    f"{EVALUATE} --param MOST=3": "there is no parameter `MOST`",
    f"{EVALUATE} --param LEAST=0": "`param.LEAST` must be from 1 to 10, not 0",
    f"{EVALUATE} --param LEAST=true": "`param.LEAST`",
    f"{EVALUATE} --param LEAST=NaN": "`param.LEAST`",
    f"{EVALUATE} --param LEAST=2 --param LEAST=3": "`LEAST` twice",
    f"evaluate {G1A} --rows {{rows}} --param LEAST=3": "has no parameters",
}


@pytest.mark.parametrize("line", WRONG_USAGE)
def test_wrong_usage_ends_with_status_2(line: str, paths: dict[str, Path]) -> None:
    """Before anything is evaluated or written; the message says what is wrong."""
    done = command(*line.format(**paths).split())
    assert (done.status, done.out) == (2, "")
    assert WRONG_USAGE[line].format(**paths).lower() in done.err.lower()


def test_version_names_the_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert version in formulaseed("--version").out


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("formulaseed expl", "plain,explain"),
        ("formulaseed check --stat", "plain,--statistics"),
        ("formulaseed check --format s", "plain,sarif"),
        ("formulaseed check tas", "file,tas"),
        ("formulaseed run x.json --contexts ex", "file,ex"),
        ("formulaseed formula ab", ""),
    ],
)
def test_a_shell_completes(typed: str, expected: str) -> None:
    """Commands, options, their values and files, but no texts; and each shell is given its script."""
    at = len(typed.split()) - 1
    env = {"_FORMULASEED_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(at)}
    assert formulaseed(env=env).out.strip() == expected
    for shell in ("zsh", "fish"):
        assert "_FORMULASEED_COMPLETE" in command(env={"_FORMULASEED_COMPLETE": f"{shell}_source"}).out
