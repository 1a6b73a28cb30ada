"""What README and docs show works: sessions are run again and compared, Python is run, data is read; and the site is complete."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import forking
import formulaseed as package
import pytest
from helpers import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SESSION = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)
ASKS_A_MODEL = re.compile(r"--extractor (?:anthropic|cascade)(?!.*--dry-run)|formulaseed store info")
"""Commands that need a key, or what one of them has left; they are tested against a server on loopback elsewhere."""
LONG = ("analysis", "extraction", "proving", "tutorial")
"""Pages whose sessions take seconds."""
BLOCK = re.compile(r"^```(python|json|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(kind, text, id=f"{page.stem}-{kind}-{number}")
    for page in PAGES
    for number, (kind, text) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]


def commands(page: Path) -> list[tuple[str, str]]:
    """What a page's sessions type, each with what they show for it."""
    sessions = "".join(match[1] for match in SESSION.finditer(page.read_text(encoding="utf-8")))
    parts = COMMAND.split(sessions)[1:]
    return [pair for pair in zip(parts[::2], parts[1::2], strict=True) if not ASKS_A_MODEL.search(pair[0])]


SESSIONS = [
    pytest.param(page, id=page.stem, marks=pytest.mark.thorough if page.stem in LONG else ())
    for page in filter(commands, PAGES)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the sessions run: the project's examples, with room for outputs."""
    for name in ("examples", "generated", "tasks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.mark.parametrize("page", SESSIONS)
@pytest.mark.thorough
def test_a_page_shows_what_is_seen(page: Path, folder: Path) -> None:
    """Line by line; `…` stands for what is left out: lines, or a part of one. What begins with `init` needs nothing else."""
    if commands(page)[0][0].startswith("formulaseed init "):
        folder = folder / "empty"
        folder.mkdir()
    for command, shown in commands(page):
        seen = in_terminal(command, folder)
        assert re.fullmatch(expected(shown), seen), f"$ {command}\n{seen}"


@pytest.mark.parametrize(("kind", "text"), BLOCKS)
def test_a_block_can_be_used(kind: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python runs, and what is an excerpt is in a generated module; JSON and TOML are read. Models are asked elsewhere."""
    if kind == "json":
        json.loads(text if text.lstrip().startswith(("{", "[")) else f"{{{text}}}")
    elif kind == "toml":
        tomllib.loads(text)
    elif "formulaseed" not in text and "import " not in text:
        modules = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "generated").glob("*.py")))
        assert [line for line in text.splitlines() if line.strip() != "..." and line not in modules] == []
    elif "spark" in text:
        ast.parse(text)  # the same call is made in test_spark.py, where there is Spark
    elif "Anthropic(" not in text:
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(ROOT / "generated")
        names: dict[str, Any] = {"formulaseed": package}
        exec(compile(text, "<block>", "exec"), names)
        for test in [value for name, value in names.items() if name.startswith("test_")]:
            uses_fixture = "formulaseed_evaluator" in test.__code__.co_varnames if hasattr(test, "__code__") else False
            test(**({"formulaseed_evaluator": package.load_evaluator} if uses_fixture else {}))


SEED, *PARTS = [
    json.loads(text)
    for kind, text in BLOCK.findall((ROOT / "docs" / "seeds.md").read_text())
    if kind == "json" and text.startswith("{")
]


@pytest.mark.parametrize(
    "part", [part for part in PARTS if "compute_dag" not in part], ids=lambda part: part.get("name", "section")
)
def test_each_part_of_the_page_of_seeds_fits_its_seed(part: dict[str, Any]) -> None:
    """The page begins with a complete seed, which has no errors with any part of the page in place of its own."""
    sections = {name: value for name, value in part.items() if name in ("filter", "extract", "output")}
    steps = [step for step in SEED["compute"] if step["name"] != part.get("name")]
    if "op" in part:
        position = next((i for i, step in enumerate(SEED["compute"]) if step["name"] == part["name"]), 0)
        steps.insert(position, part)
    assert sections or "op" in part
    package.load_seed({**SEED, **sections, "compute": steps})


def test_the_table_of_options_is_that_of_the_models() -> None:
    """`python docs/options.py` writes it."""
    options = runpy.run_path(str(ROOT / "docs" / "options.py"))
    page = options["PAGE"].read_text(encoding="utf-8")
    assert options["with_table"](page) == page
    assert page.count("| `max_usd` | anthropic, cascade | above 0 |") == 1


def test_every_page_is_on_the_site() -> None:
    """The navigation of `make docs` has each page of docs/ once, README, and the list of codes."""
    listed = re.findall(r"[\w-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(["index.md", "index.md", "changelog.md", *(page.name for page in PAGES[1:])])


def test_every_diagram_has_its_drawing() -> None:
    """The site shows it without a network; a changed diagram needs another one, and no other drawing is left."""
    site = runpy.run_path(str(ROOT / "docs" / "site.py"))
    texts = [text for page in PAGES for text in site["DIAGRAM"].findall(page.read_text(encoding="utf-8"))]
    assert texts
    drawings = {path.name for path in (ROOT / "docs" / "images").glob("diagram-*.svg")}
    assert drawings == {site["diagram_name"](text) for text in texts}


def test_the_site_is_built(tmp_path: Path) -> None:
    """Every link leads to a page and a heading of the site, or names a file of the repository."""
    pytest.importorskip("mkdocs", reason="mkdocs-material, of the extra `docs`, is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "site" / "tutorial" / "index.html").is_file()


def in_terminal(command: str, folder: Path) -> str:
    """What a command in a shell writes, on standard output and standard error."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "130"}
    words = shlex.shlex(command.replace("\\\n", ""), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    program, *arguments = words
    if program == "formulaseed" and not any(set(argument) <= set("();<>|&") for argument in arguments):
        done = forking.run(arguments, stdin=b"", folder=folder, environment=environment, seconds=100, merged=True)
    else:
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, check=False,
        )  # fmt: skip
    return "".join(line.rstrip() + "\n" for line in done.stdout.decode().splitlines())


def expected(shown: str) -> str:
    """A regular expression for output as a page shows it; empty lines at its end do not count."""
    lines = [
        "(?:.*\n)*" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*") + "\n"
        for line in shown.rstrip().splitlines()
    ]
    return "".join(lines) + "\n*"
