"""The pages that explain the codes: one for each, with an example that gives the code and a fixed one that does not."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
from formulaseed import limits
from formulaseed.backends.python.target import BACKEND
from formulaseed.diagnostics.codes import CODES
from formulaseed.diagnostics.model import Diagnostic, Problems, promote_warnings
from formulaseed.diagnostics.render import render_text
from formulaseed.documents import analyse, analyse_file, compile_seed
from formulaseed.errors import SeedError
from formulaseed.language.functions import FUNCTIONS
from formulaseed.requests.shorthand import parse_shorthand
from formulaseed.runtime.loading import module_from_file
from formulaseed.seed.operations import OPERATIONS
from formulaseed.source.text import Source
from helpers import PAGES, formulaseed, tiny_seed

IN_PROSE = {
    "FS002": "bytes that are no text cannot stand in a text",
    "FS003": "two megabytes of seed are not worth reading",
    "FS104": "a formula that is too large is too large for a page",
    "FS510": "a list that is too long is too long for a page",
    "FS701": "about modules",
    "FS702": "about targets, and that of the pages supports everything",
    "FS821": "about shorthands, which are tested beside them",
    "FS822": "about shorthands, which are tested beside them",
    "FS823": "a shorthand that is too large is too large for a page",
    "FS901": "a bug of ours",
}
"""The codes whose page has no seed that gives them, and why. `test_prose` makes each of them happen."""

_PAGE = re.compile(
    r"# (?P<heading>.+)\n\n(?P<text>(?:[^#`].*\n+|`[^`].*\n+)+)"
    r"## Example\n\n```(?P<kind>jsonl?|text)\n(?P<example>(?:(?!```).*\n)+)```\n(?P<rest>(?:.*\n)*)"
)
_INSTEAD = re.compile(r"\n## Instead\n\n```jsonl?\n(?P<seed>(?:(?!```).*\n)+)```\n")

ALL = sorted(CODES)
WITH_SEEDS = [code for code in ALL if code not in IN_PROSE]
OF_REQUESTS = [code for code in WITH_SEEDS if code.startswith("FS8")]
"""The codes whose page shows a file of requests."""


def page(code: str) -> re.Match[str]:
    """The page of a code, taken apart."""
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    found = _PAGE.fullmatch(text)
    assert found, f"{code}.md: `# CODE name`, some sentences, `## Example` with a json, jsonl or text block"
    return found


def instead(code: str) -> str:
    """The fixed seed of a page, which nothing follows."""
    found = _INSTEAD.fullmatch(page(code)["rest"])
    assert found, f"{code}.md: behind the example comes `## Instead` with a json or jsonl block, and nothing else"
    return found["seed"]


def reported(text: str, folder: Path, name: str = "seed.json") -> tuple[Diagnostic, ...]:
    """The diagnostics of a seed, or of requests, that stand in a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return analyse_file(path).diagnostics


def file_of(code: str) -> str:
    return "requests.jsonl" if code in OF_REQUESTS else "seed.json"


def errors(diagnostics: tuple[Diagnostic, ...]) -> set[str]:
    return {d.code for d in diagnostics if d.severity == "error"}


def test_every_code_has_a_page() -> None:
    """The codes and the pages are the same set: none is unexplained, and no page explains what is gone."""
    assert {path.stem for path in PAGES.glob("*.md")} == set(CODES)
    assert all(path.suffix == ".md" for path in PAGES.iterdir())


@pytest.mark.parametrize("code", ALL)
def test_heading(code: str) -> None:
    """A page is headed by its code and the name that stands in messages."""
    assert page(code)["heading"] == f"{code} {CODES[code].name}"


@pytest.mark.parametrize("code", ALL)
def test_text(code: str) -> None:
    """A page says what the code means in a few sentences that fit a terminal, before it shows anything."""
    text = page(code)["text"]
    assert 3 <= len(re.findall(r"[.!?]`?\s", text)) <= 12
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize("code", ALL)
def test_kind_of_example(code: str) -> None:
    """The example is a seed or requests, save for the codes that those on a page cannot give."""
    assert page(code)["kind"] == ("text" if code in IN_PROSE else "jsonl" if code in OF_REQUESTS else "json")


@pytest.mark.parametrize("code", WITH_SEEDS)
def test_example(code: str, tmp_path: Path) -> None:
    """The example gives the code, at a place in the file, and no error of another code beside it."""
    diagnostics = reported(page(code)["example"], tmp_path, file_of(code))
    assert code in {d.code for d in diagnostics}, render_text(diagnostics)
    assert errors(diagnostics) <= {code}, render_text(diagnostics)
    lines = page(code)["example"].splitlines()
    for d in diagnostics:
        assert 1 <= d.line <= len(lines)
        assert 1 <= d.column <= len(lines[d.line - 1]) + 1


@pytest.mark.parametrize("code", WITH_SEEDS)
def test_instead(code: str, tmp_path: Path) -> None:
    """Nothing is wrong with the fixed seed, not even a warning, and it compiles; nor with fixed requests."""
    diagnostics = reported(instead(code), tmp_path, file_of(code))
    assert not diagnostics, render_text(diagnostics)
    assert code in OF_REQUESTS or compile_seed(json.loads(instead(code)), formatted=False)


@pytest.mark.parametrize("code", WITH_SEEDS)
def test_example_and_instead_are_one_seed(code: str) -> None:
    """A reader can compare the two: most lines of the fixed seed stand in the example too."""
    before, after = (set(text.replace(" ", "").splitlines()) for text in (page(code)["example"], instead(code)))
    assert before != after or code == "FS629"  # which is about spaces
    assert len(before & after) >= len(after) / 2


def _not_utf8(folder: Path) -> tuple[Diagnostic, ...]:
    path = folder / "seed.json"
    path.write_bytes(json.dumps(tiny_seed(task_name="café"), ensure_ascii=False).encode("latin-1"))
    return analyse(path).diagnostics


def _too_large(folder: Path) -> tuple[Diagnostic, ...]:
    return reported(json.dumps(tiny_seed()) + " " * limits.SEED_BYTES, folder)


def _formula_too_large(folder: Path) -> tuple[Diagnostic, ...]:
    ladder = "".join(f"{i} if context.categories == 'c{i}' else " for i in range(200))
    step = {"name": "POINTS", "op": "expr", "expr": f"{ladder}0"}
    return reported(json.dumps(tiny_seed(compute=[step], output=["POINTS"])), folder)


def _too_many(folder: Path) -> tuple[Diagnostic, ...]:
    keywords = [f"wait {i} minutes" for i in range(limits.KEYWORDS + 1)]
    return reported(json.dumps(tiny_seed(filter={"keywords": keywords})), folder)


def _no_module(folder: Path) -> tuple[Diagnostic, ...]:
    path = folder / "module.py"
    path.write_text(compile_seed(tiny_seed()) + "\nprint('edited')\n", encoding="utf-8")
    with pytest.raises(SeedError) as refused:
        module_from_file(path)
    return refused.value.diagnostics


def _unsupported(folder: Path) -> tuple[Diagnostic, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BACKEND, "unsupported", frozenset({("operator", "/")}))
        with pytest.raises(SeedError) as refused:
            compile_seed(tiny_seed())
    return refused.value.diagnostics


def _refused_by_verifier(folder: Path) -> tuple[Diagnostic, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("formulaseed.backends.python.target.verify", lambda *_: "for this test")
        with pytest.raises(SeedError) as refused:
            compile_seed(tiny_seed())
    return refused.value.diagnostics


def _shorthand(text: str, folder: Path) -> tuple[Diagnostic, ...]:
    problems = Problems()
    assert parse_shorthand(Source("shorthand", text), problems) is None
    return promote_warnings(problems.sorted())


MADE = {
    "FS002": _not_utf8,
    "FS003": _too_large,
    "FS104": _formula_too_large,
    "FS510": _too_many,
    "FS701": _no_module,
    "FS702": _unsupported,
    "FS821": partial(_shorthand, "AND(quiet wifi_free)"),
    "FS822": partial(_shorthand, "XOR(quiet, wifi_free)"),
    "FS823": partial(_shorthand, "a" * (limits.SHORTHAND_CHARACTERS + 1)),
    "FS901": _refused_by_verifier,
}


@pytest.mark.parametrize("code", sorted(IN_PROSE))
def test_prose(code: str, tmp_path: Path) -> None:
    """What a page only describes gives the code all the same, and no other error."""
    assert errors(MADE[code](tmp_path)) == {code}


def test_rule_prints_the_page() -> None:
    """`formulaseed rule` prints a page as it stands, by code or by name, in any case."""
    expected = (PAGES / "FS201.md").read_text(encoding="utf-8")
    for wanted in ("FS201", "fs201", "unknown-name"):
        outcome = formulaseed("rule", wanted)
        assert (outcome.status, outcome.out) == (0, expected)


def test_pages_point_to_what_exists() -> None:
    """A page names no code and no command that is not there."""
    text = "".join((PAGES / f"{code}.md").read_text(encoding="utf-8") for code in ALL)
    assert set(re.findall(r"FS\d{3}", text)) <= set(CODES)
    for command in sorted(set(re.findall(r"`formulaseed ([a-z]+)", text))):
        assert formulaseed(command, "--help").status == 0


def test_pages_list_everything() -> None:
    """The lists of functions and operations on the pages are those of the compiler."""
    assert set(FUNCTIONS) <= set(re.findall(r"`(\w+)`", page("FS207")["text"]))
    assert set(OPERATIONS) == set(re.findall(r"`(\w+)`", page("FS504")["text"])) - {"op"}


def test_pages_know_the_limits() -> None:
    """The numbers on the pages are the limits that hold."""
    named = {
        "FS003": [limits.SEED_BYTES],
        "FS004": [limits.JSON_DEPTH, limits.REQUEST_DEPTH],
        "FS006": [limits.NUMBER_CHARACTERS],
        "FS206": [limits.TASK_NAME_CHARACTERS],
        "FS510": [
            limits.STEPS, limits.TABLE_ENTRIES, limits.KEYWORDS, limits.CASE_RULES, limits.LIST_ITEMS, limits.CONDITIONS,
            limits.FILE_TERMS, limits.FILE_SYMBOLS,
        ],
        "FS804": [limits.PATTERN_REPEAT, limits.PATTERN_PARTS, limits.FILE_PATTERN_PARTS],
        "FS823": [
            limits.SHORTHAND_CHARACTERS, limits.SHORTHAND_TERMS, limits.SHORTHAND_NESTING, limits.FILE_SHORTHAND_TERMS,
        ],
    }  # fmt: skip
    for code, numbers in named.items():
        written = re.findall(r"[\d,]*\d", page(code)["text"])
        assert {f"{number:,}" for number in numbers} <= set(written), code
    assert str(limits.INTEGER_MAX) in page("FS006")["text"]
