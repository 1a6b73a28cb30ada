"""The worked examples of docs/contributing.md: each diff is applied to a copy of the sources, and does what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers import EXAMPLES, ROOT, Outcome, command, tiny_seed, write_json

PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
DIFFS = dict(re.findall(r"## Add an? (\w+)\n.*?```diff\n(.*?)```", PAGE, re.S))


def apply(diff: str, root: Path) -> None:
    """Apply a diff whose hunks have no line numbers: each must fit at exactly one place."""
    for path, hunks in re.findall(r"^\+\+\+ b/(\S+)\n((?:(?!--- ).*\n)*)", diff, re.M):
        file = root / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for hunk in re.split(r"^@@\n", hunks, flags=re.M)[1:]:
            lines = [(line[:1] or " ", line[1:]) for line in hunk.splitlines()]
            before = "".join(f"{line}\n" for sign, line in lines if sign != "+")
            after = "".join(f"{line}\n" for sign, line in lines if sign != "-")
            assert not file.exists() or text.count(before) == 1, f"{path}: {before}"
            text = text.replace(before, after) if before else after
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def copy_sources(folder: Path) -> Path:
    """Copy the sources into a folder, in which a diff can be applied to them; return it."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("compiler", "grammar", "templates", "tasks", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return copy_sources(tmp_path)


@pytest.mark.parametrize("name", DIFFS)
def test_a_diff_of_the_page_fits_the_sources(name: str, sources: Path) -> None:
    """The tests below show what each does."""
    apply(DIFFS[name], sources)


def run(sources: Path, program: str) -> str:
    """Run a program with these sources; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(sources / "compiler")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seed_with(step: dict[str, object]) -> str:
    seed = tiny_seed()
    seed["compute"].append(step)
    seed["output"] = [step["name"]]
    return repr(json.dumps(seed))


BOTH = """
import json
from formulaseed import load_evaluator
from formulaseed.testing import reference_evaluate
seed = json.loads({seed})
place = {{"is_open": 1}}
rows = [{{"extraction": {{"mood": "good"}}, "meta": {{"stars": stars}}}} for stars in (1, 4)]
print(load_evaluator(seed).evaluate(rows, place)["X"], reference_evaluate(seed, rows, place)["X"])
"""


THOROUGH = pytest.mark.thorough


@THOROUGH
def test_a_function(sources: Path) -> None:
    """The module and the reference evaluator compute it."""
    apply(DIFFS["function"], sources)
    assert run(sources, BOTH.format(seed=seed_with({"name": "X", "op": "expr", "expr": "trunc(N - 4.7)"}))) == "-2 -2\n"


@THOROUGH
def test_an_aggregate(sources: Path) -> None:
    """The module and the reference evaluator compute it, of a field and of a formula."""
    apply(DIFFS["aggregate"], sources)
    for expression, expected in (("meta.stars", "17.0 17.0\n"), ("meta.stars - 3", "5.0 5.0\n")):
        step = {"name": "X", "op": "sum_of_squares", "expr": expression}
        assert run(sources, BOTH.format(seed=seed_with(step))) == expected


@THOROUGH
def test_an_operation(sources: Path) -> None:
    """Its steps are those that it is lowered to."""
    apply(DIFFS["operation"], sources)
    step = {"name": "X", "op": "limit", "expr": "N * 20", "minimum": 0, "maximum": 30}
    assert run(sources, BOTH.format(seed=seed_with(step))) == "30 30\n"


@THOROUGH
def test_an_extractor(sources: Path) -> None:
    """The command, its help and its messages, and the function know its name and its options."""
    apply(DIFFS["extractor"], sources)
    fields = [{"name": name, "type": "integer", "default": 0} for name in ("mood", "score")]
    steps = [{"name": "N", "op": "count"}]
    given = tiny_seed(extract={"fields": fields}, compute=steps, output=["N"], parameters={})
    (sources / "seed.json").write_text(json.dumps(given), encoding="utf-8")
    review = {"review_id": "r", "text": "Good soup", "stars": 4, "date": "2020-02-29"}
    place = {"business_id": "a", "is_open": 1, "reviews": [review]}
    (sources / "contexts.jsonl").write_text(json.dumps(place), encoding="utf-8")
    seed, contexts = str(sources / "seed.json"), str(sources / "contexts.jsonl")
    program = (
        "import sys, formulaseed\nfrom formulaseed.cli.main import main\n"
        f"rows = formulaseed.extract({seed!r}, {contexts!r}, extractor=formulaseed.extractors.Silent(min_characters=5))\n"
        "print(rows[0]['run']['extractor'])\n"
        f"sys.argv[1:] = ['extract', {seed!r}, '--contexts', {contexts!r}, '--extractor', 'silent', '--min-characters', '50']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code)\n"
        f"sys.argv[1:] = ['extract', {seed!r}, '--help']\nmain()"
    )
    printed = run(sources, program)
    assert printed.startswith("silent\n3\n")
    assert "silent: a shorter review cannot be extracted." in " ".join(printed.split())


# --- a target


@pytest.fixture(scope="module")
def outline_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the outline target."""
    folder = copy_sources(tmp_path_factory.mktemp("outline"))
    apply(DIFFS["target"], folder)
    return folder


COMMANDS = """
import contextlib, io, json, os, sys
from formulaseed.cli.main import main
for line in sys.stdin:
    folder, *sys.argv[1:] = json.loads(line)
    os.chdir(folder)
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    print(json.dumps([status, out.getvalue(), err.getvalue()]), flush=True)
"""
"""Runs the commands that come on standard input, in one process with the target."""


@pytest.fixture(scope="module")
def process(outline_sources: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(outline_sources / "compiler")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", COMMANDS], env=environment, text=True, **pipes) as started:
        yield started


@pytest.fixture
def outline(process: subprocess.Popen[str], tmp_path: Path) -> Callable[..., Outcome]:
    """`formulaseed compile --target outline` in a folder with the small seed in it."""
    write_json(tmp_path / "seed.json", tiny_seed())

    def compile_to_outline(*arguments: str) -> Outcome:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(tmp_path), "compile", "--target", "outline", *arguments]) + "\n")
        process.stdin.flush()
        outcome = Outcome(*json.loads(process.stdout.readline()))
        assert "Traceback" not in outcome.err, outcome.err
        return outcome

    return compile_to_outline


@pytest.mark.thorough
def test_a_target(outline: Callable[..., Outcome], outline_sources: Path, tmp_path: Path) -> None:
    """The command and the function compile to it, and the file has its suffix."""
    done = outline("seed.json", "--out", "outlines")
    assert (done.status, done.out) == (0, "outlines/tiny_1.outline.txt\n")
    text = (tmp_path / "outlines" / "tiny_1.outline.txt").read_text()
    header, *steps = text.splitlines()
    assert header == "formulaseed outline of the seed `Tiny-1` from `../seed.json`"
    assert steps[0] == "N: integer = count"
    assert len(steps) == len(tiny_seed()["compute"])
    assert outline("seed.json", "--stdout", "--out", "outlines").out == text
    program = f"from formulaseed import compile_seed\nprint(compile_seed({tiny_seed()!r}, target='outline'), end='')"
    assert run(outline_sources, program) == text.replace("`../seed.json`", "``")


def test_check_of_a_target(outline: Callable[..., Outcome], tmp_path: Path) -> None:
    """Of the seed and of the file that was made from it: missing, current, stale; the advice is the command to type."""
    path = "outlines/tiny_1.outline.txt"
    advice = "run `formulaseed compile seed.json --target outline --out outlines`"
    missing = outline("seed.json", "--out", "outlines", "--check")
    assert (missing.status, missing.out) == (1, f"{path}: missing; {advice}\n")
    assert outline("seed.json", "--out", "outlines").status == 0
    for arguments in (("seed.json", "--out", "outlines"), (path,)):
        current = outline(*arguments, "--check")
        assert (current.status, current.out) == (0, f"{path}: current\n")
    write_json(tmp_path / "seed.json", tiny_seed(compute=[{"name": "N", "op": "count"}], output=["N"], properties=[]))
    for arguments in (("seed.json", "--out", "outlines"), (path,)):
        stale = outline(*arguments, "--check")
        assert (stale.status, stale.out) == (1, f"{path}: not what seed.json compiles to; {advice}\n")
    assert outline("seed.json", "--out", "outlines").status == 0
    assert outline(path, "--check").status == 0
    (tmp_path / "mine.outline.txt").write_text("My outline\n")
    foreign = outline("mine.outline.txt", "--check")
    assert (foreign.status, foreign.err) == (0, "mine.outline.txt: not a generated file; passed over\n")


def test_a_target_overwrites_nothing_else(outline: Callable[..., Outcome], tmp_path: Path) -> None:
    """A file of somebody else and a file of another seed are left alone, unless --force is given."""
    path = tmp_path / "generated" / "tiny_1.outline.txt"
    path.parent.mkdir()
    path.write_text("My outline\n")
    foreign = outline("seed.json")
    assert (foreign.status, path.read_text()) == (2, "My outline\n")
    assert "tiny_1.outline.txt: not overwritten: it is not a file that formulaseed generated; move it, " in foreign.err
    assert outline("seed.json", "--check").status == 1
    assert outline("seed.json", "--force").status == 0
    written = path.read_text()
    for name, task in (("same.json", "Tiny-1"), ("other.json", "Tiny 1")):
        write_json(tmp_path / name, tiny_seed(task_name=task))
        other = outline(name)
        assert (other.status, path.read_text()) == (2, written)
        assert "it was generated from `../seed.json`, which is `Tiny-1`; rename one of the two" in other.err
    (tmp_path / "seed.json").unlink()
    assert outline("same.json").status == 0


@pytest.mark.thorough
def test_what_a_target_does_not_support(outline: Callable[..., Outcome], outline_sources: Path, tmp_path: Path) -> None:
    """A function is refused by name, wherever it is used; so are the options of another target."""
    seed = tiny_seed()
    seed["compute"].append({"name": "X", "op": "expr", "expr": "N + log(N + 1)"})
    seed["output"] = ["X"]
    write_json(tmp_path / "seed.json", seed)
    refused = outline("seed.json")
    assert (refused.status, "the target `outline` does not support the function `log`" in refused.err) == (1, True)
    assert "^^^^^^^^^^\n" in refused.err  # log(N + 1)
    assert not (tmp_path / "generated").exists()
    program = f"from formulaseed import compile_seed\ntry: compile_seed({seed!r}, target='outline')\n"
    program += "except Exception as error: print([d.code for d in error.diagnostics])"
    assert run(outline_sources, program) == "['FS702']\n"

    for option, value in (("--tests", "tests"), ("--style", "2027-01")):
        wrong = outline("seed.json", option, value)
        assert (wrong.status, f"{option} goes with --target python" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "module", "begins"),
    [("rules.json", "rules", "the rules `rules`"), ("requests.jsonl", "requests_module", "the requests `requests`")],
)
def test_a_target_of_other_documents(
    outline: Callable[..., Outcome], tmp_path: Path, name: str, module: str, begins: str
) -> None:
    """Rules and requests are compiled, checked and known as what the file was made from."""
    for file in ("rules.json", "formula_reference.json", "requests.jsonl"):
        shutil.copy(EXAMPLES / file, tmp_path)
    written = outline(name)
    assert (written.status, written.out) == (0, f"generated/{module}.outline.txt\n")
    path = tmp_path / written.out.strip()
    assert path.read_text().startswith(f"formulaseed outline of {begins} from `../{name}`\n")
    assert outline(name, "--check").status == outline(written.out.strip(), "--check").status == 0
    write_json(tmp_path / "seed.json", tiny_seed(task_name=name.split(".")[0]))
    assert outline("seed.json").status == 2


def test_a_kind_that_a_target_does_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the kinds that it takes."""
    monkeypatch.setattr("formulaseed.backends.python.target.BACKEND.kinds", frozenset({"seed", "rules"}))
    done = command("compile", EXAMPLES / "requests.jsonl", "--stdout")
    assert done.status == 1
    first, *others = done.err.splitlines()
    assert first == "error[FS702] unsupported-by-target: the target `python` does not compile requests"
    assert any("it compiles a seed or rules" in line for line in others)
