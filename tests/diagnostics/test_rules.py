"""Test the pages of the codes: each has an example that gives the code, and a fixed one that does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from formulaseed import limits
from formulaseed.cli.policy import compare_with_policy
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
from helpers import PAGES, command, tiny_seed, write_json

_PAGE = re.compile(
    r"# (?P<heading>.+)\n\n(?P<text>(?:[^#`].*\n+|`[^`].*\n+)+)"
    r"## Example\n\n```(?P<kind>jsonl?|text)\n(?P<example>(?:(?!```).*\n)+)```\n(?P<rest>(?:.*\n)*)"
)
_INSTEAD = re.compile(r"\n## Instead\n\n```jsonl?\n(?P<seed>(?:(?!```).*\n)+)```\n")

ALL = sorted(CODES)
IN_PROSE = (
    "FS002", "FS003", "FS104", "FS510", "FS641", "FS642", "FS643", "FS644", "FS701", "FS702", "FS703", "FS704", "FS705",
    "FS706", "FS821", "FS822", "FS823", "FS901",
)  # fmt: skip
"""The codes whose page only describes an example; `test_described_example` makes each of them happen."""
WITH_SEEDS = [code for code in ALL if code not in IN_PROSE]
OF_REQUESTS = [code for code in WITH_SEEDS if code.startswith("FS8")]
"""The codes whose page shows a file of requests."""


def read_page(code: str) -> re.Match[str]:
    """Return the parts of a code's page."""
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    page = _PAGE.fullmatch(text)
    assert page, f"{code}.md: `# CODE name`, some sentences, `## Example` with a json, jsonl or text block"
    return page


def reported(text: str, folder: Path, code: str = "") -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a seed in a file, or of requests if the code is about these."""
    path = folder / ("requests.jsonl" if code in OF_REQUESTS else "seed.json")
    path.write_text(text, encoding="utf-8")
    return analyse_file(path).diagnostics


def errors(diagnostics: tuple[Diagnostic, ...]) -> set[str]:
    return {d.code for d in diagnostics if d.severity == "error"}


def test_every_code_has_a_page() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(CODES)
    assert all(path.suffix == ".md" for path in PAGES.iterdir())


@pytest.mark.parametrize("code", ALL)
def test_form_of_a_page(code: str) -> None:
    """The heading is the code and its name; a few sentences that fit a terminal follow, and an example of the right kind."""
    page = read_page(code)
    assert page["heading"] == f"{code} {CODES[code].name}"
    assert 3 <= len(re.findall(r"[.!?]`?\s", page["text"])) <= 12
    assert all(len(line) <= 100 for line in page["text"].splitlines())
    kinds = {**dict.fromkeys(IN_PROSE, "text"), **dict.fromkeys(OF_REQUESTS, "jsonl")}
    assert page["kind"] == kinds.get(code, "json")


@pytest.mark.parametrize("code", WITH_SEEDS)
def test_example(code: str, tmp_path: Path) -> None:
    """The example gives the code, at a place in the file, and no error with another code."""
    example = read_page(code)["example"]
    diagnostics = reported(example, tmp_path, code)
    assert code in {d.code for d in diagnostics}, render_text(diagnostics)
    assert errors(diagnostics) <= {code}, render_text(diagnostics)
    lines = example.splitlines()
    assert all(1 <= d.line <= len(lines) and 1 <= d.column <= len(lines[d.line - 1]) + 1 for d in diagnostics)


@pytest.mark.parametrize("code", WITH_SEEDS)
def test_fixed_example(code: str, tmp_path: Path) -> None:
    """The fixed seed has no diagnostic, compiles, and has most of its lines in common with the example."""
    page = read_page(code)
    section = _INSTEAD.fullmatch(page["rest"])
    assert section, f"{code}.md: `## Instead` with a json or jsonl block is the last section"
    fixed = section["seed"]
    diagnostics = reported(fixed, tmp_path, code)
    assert not diagnostics, render_text(diagnostics)
    assert code in OF_REQUESTS or compile_seed(json.loads(fixed), formatted=False)
    before, after = (set(text.replace(" ", "").splitlines()) for text in (page["example"], fixed))
    assert before != after or code == "FS629"  # which is about spaces
    assert len(before & after) >= len(after) / 2


def _refused(call: Callable[[], object]) -> tuple[Diagnostic, ...]:
    with pytest.raises(SeedError) as error:
        call()
    return error.value.diagnostics


def _check_latin(folder: Path) -> tuple[Diagnostic, ...]:
    (folder / "seed.json").write_text(json.dumps(tiny_seed(task_name="café"), ensure_ascii=False), encoding="latin-1")
    return analyse(folder / "seed.json").diagnostics


def _check_large_formula(folder: Path) -> tuple[Diagnostic, ...]:
    ladder = "".join(f"{i} if context.categories == 'c{i}' else " for i in range(200))
    step = {"name": "POINTS", "op": "expr", "expr": f"{ladder}0"}
    return analyse(tiny_seed(compute=[step], output=["POINTS"])).diagnostics


def _load_edited_module(folder: Path) -> tuple[Diagnostic, ...]:
    (folder / "module.py").write_text(compile_seed(tiny_seed()) + "\nprint('edited')\n", encoding="utf-8")
    return _refused(lambda: module_from_file(folder / "module.py"))


def _compile_patched(target: str, value: object, folder: Path) -> tuple[Diagnostic, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"formulaseed.backends.python.target.{target}", value)
        return _refused(lambda: compile_seed(tiny_seed()))


def _check_shorthand(text: str, folder: Path) -> tuple[Diagnostic, ...]:
    problems = Problems()
    assert parse_shorthand(Source("shorthand", text), problems) is None
    return promote_warnings(problems.sorted())


def _compare(policy: str, changes: dict[str, object], folder: Path) -> tuple[Diagnostic, ...]:
    """Compare a step that cites a sentence, with changes, with a policy; return the differences as errors."""
    step = {"name": "SEVERE_WEIGHT", "op": "const", "value": 15, "sources": ["A severe reaction weighs 15."], **changes}
    seed = {"task_name": "Cited", "extract": {"fields": []}, "compute": [step], "output": ["SEVERE_WEIGHT"]}
    seed |= {"allow": {"FS608": "a constant is enough for this test"}, "sources": [SAYS_15]}
    (folder / "seed.json").write_text(json.dumps(seed), encoding="utf-8")
    (folder / "task.md").write_text(policy, encoding="utf-8")
    analysis = analyse_file(folder / "seed.json")
    assert analysis.diagnostics == ()
    return promote_warnings(compare_with_policy(analysis, str(folder / "task.md"), None).diagnostics)


def _compile_to_sql(
    dialect: Literal["duckdb", "spark"], steps: list[dict[str, object]], folder: Path
) -> tuple[Diagnostic, ...]:
    """Compile steps to SQL, the last ones as outputs; a formula is a sum over reviews."""
    compute = [{**step, "op": "sum"} if "stars" in str(step.get("expr")) else step for step in steps]
    output = [step["name"] for step in compute[-2:]]
    seed = {"task_name": "T", "extract": {"fields": []}, "compute": compute, "output": output}
    with pytest.raises(SeedError) as refused:
        compile_seed(seed, target="sql", dialect=dialect)
    return refused.value.diagnostics


def _score_large_integers(folder: Path) -> tuple[Diagnostic, ...]:
    """Score a table with an integer that a query hands back, and return the warnings of the command."""
    for package in ("pyarrow", "duckdb", "sqlglot"):
        pytest.importorskip(package)
    compute = [{"name": "TOTAL", "op": "sum", "expr": "meta.useful"}]
    seed = {"task_name": "T", "extract": {"fields": []}, "compute": compute, "output": ["TOTAL"]}
    write_json(folder / "seed.json", seed)
    (folder / "rows.csv").write_text(f"business_id,position,useful\na,0,{2**60}\n", encoding="utf-8")
    warnings = list[Diagnostic]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("formulaseed.cli.score.show_diagnostics", lambda shown, **_: warnings.extend(shown))
        done = command("score", folder / "seed.json", "--rows", folder / "rows.csv", "--out", folder / "out.csv")
    assert done.status == 0, done.err
    return tuple(warnings)


LONG_CHAIN: list[dict[str, object]] = [
    {"name": "S0", "op": "count"}, *({"name": f"S{at}", "op": "expr", "expr": f"S{at - 1} + 1"} for at in range(1, 251))
]  # fmt: skip
KEYWORDS = [f"wait {i} minutes" for i in range(limits.KEYWORDS + 1)]
SAYS_15 = "A severe reaction weighs 15."
DESCRIBED: dict[str, Callable[[Path], tuple[Diagnostic, ...]]] = {
    "FS002": _check_latin,
    "FS003": lambda folder: reported(json.dumps(tiny_seed()) + " " * limits.SEED_BYTES, folder),
    "FS104": _check_large_formula,
    "FS510": lambda folder: analyse(tiny_seed(filter={"keywords": KEYWORDS})).diagnostics,
    "FS641": partial(_compare, SAYS_15, {"sources": [SAYS_15, "Staff who dismiss the allergy cost 0.3 each."]}),
    "FS642": partial(_compare, SAYS_15, {"value": 25}),
    "FS643": partial(_compare, f"{SAYS_15} Reviews with one star count twice.", {}),
    "FS644": partial(_compare, SAYS_15, {"sources": []}),
    "FS701": _load_edited_module,
    "FS702": partial(_compile_patched, "BACKEND.unsupported", frozenset({("operator", "/")})),
    "FS703": partial(_compile_to_sql, "spark", [{"name": "SCORE", "op": "expr", "expr": "log(meta.stars)"}]),
    "FS704": partial(_compile_to_sql, "duckdb", [{"name": name, "op": "count"} for name in ("SCORE", "score")]),
    "FS705": partial(_compile_to_sql, "duckdb", LONG_CHAIN),
    "FS706": _score_large_integers,
    "FS821": partial(_check_shorthand, "AND(quiet wifi_free)"),
    "FS822": partial(_check_shorthand, "XOR(quiet, wifi_free)"),
    "FS823": partial(_check_shorthand, "a" * (limits.SHORTHAND_CHARACTERS + 1)),
    "FS901": partial(_compile_patched, "verify", lambda *_: "for this test"),
}


@pytest.mark.parametrize("code", IN_PROSE)
def test_described_example(code: str, tmp_path: Path) -> None:
    """The example that a page only describes gives the code, and no other error."""
    diagnostics = DESCRIBED[code](tmp_path)
    assert (errors(diagnostics) or {d.code for d in diagnostics}) == {code}


def test_rule_prints_the_page() -> None:
    expected = (PAGES / "FS201.md").read_text(encoding="utf-8")
    for wanted in ("FS201", "fs201", "unknown-name"):
        outcome = command("rule", wanted)
        assert (outcome.status, outcome.out) == (0, expected)


def test_pages_point_to_what_exists() -> None:
    """All codes and commands that pages name exist; all functions and operations are in the pages about these."""
    text = "".join((PAGES / f"{code}.md").read_text(encoding="utf-8") for code in ALL)
    assert set(re.findall(r"FS\d{3}", text)) <= set(CODES)
    assert {command(name, "--help").status for name in re.findall(r"`formulaseed ([a-z]+)", text)} == {0}
    assert set(FUNCTIONS) <= set(re.findall(r"`(\w+)`", read_page("FS207")["text"]))
    assert set(OPERATIONS) == set(re.findall(r"`(\w+)`", read_page("FS504")["text"])) - {"op"}


def test_pages_know_the_limits() -> None:
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
        written = re.findall(r"[\d,]*\d", read_page(code)["text"])
        assert {f"{number:,}" for number in numbers} <= set(written), code
    assert str(limits.INTEGER_MAX) in read_page("FS006")["text"]
