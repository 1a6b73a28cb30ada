"""The shorthand of requests: read, printed, checked against structures; as the command, too."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from formulaseed import limits, load_requests
from formulaseed.cli.shorthand import plain_tree
from formulaseed.diagnostics.codes import CODES
from formulaseed.diagnostics.model import Diagnostic, Problems, promote_warnings
from formulaseed.diagnostics.render import render_text
from formulaseed.documents import analyse_requests
from formulaseed.requests import model
from formulaseed.requests.agreement import find_disagreements
from formulaseed.requests.groups import GROUPS
from formulaseed.requests.shorthand import (
    AspectName,
    Hop,
    JoinedNames,
    Shorthand,
    build_shorthand,
    convert_to_name,
    format_as_shorthand,
    parse_shorthand,
    print_shorthand,
)
from formulaseed.source.json_reader import JsonString, read_json
from formulaseed.source.text import Source, Span
from golden_lines import check_lines
from helpers import PAGES, ROOT, Outcome, command, formulaseed, read_lines, write_lines
from hypothesis import example, given
from hypothesis import strategies as st

REAL = ROOT.parent / "shared" / "data" / "philly" / "requests.jsonl"
HERE = Path(__file__).parent
NOWHERE = Span(Source("made", ""), 0, 0)


def diagnose(text: str) -> tuple[Shorthand | None, tuple[Diagnostic, ...]]:
    problems = Problems()
    return parse_shorthand(Source("shorthand", text), problems), problems.sorted()


def parse(text: str) -> Shorthand:
    tree, diagnostics = diagnose(text)
    assert tree is not None, render_text(diagnostics)
    assert diagnostics == ()
    return tree


def build_structure(tree: Shorthand) -> model.Node:
    """A structure that the shorthand could be of."""
    if isinstance(tree, JoinedNames):
        return model.Junction(tree.op, tuple(map(build_structure, tree.args)), NOWHERE)
    if isinstance(tree, AspectName):
        return model.Condition(tree.text, model.ItemMeta(("attributes", tree.text), ()), NOWHERE)
    circle = model.SocialFilter(tree.friends, tree.hops)
    if tree.pattern is None:
        return model.Condition("rated", model.SocialRating(4.0, 1, circle), NOWHERE)
    if len(tree.pattern) % 2:
        return model.Condition("felt", model.Sentiment(tree.pattern, "positive", 1, circle), NOWHERE)
    return model.Condition("said", model.ReviewText(tree.pattern, None, circle, 1, tree.pattern), NOWHERE)


def find_differences(meant: str, said: str) -> list[Diagnostic]:
    return find_disagreements(build_structure(parse(meant)), parse(said))


def underline(diagnostic: Diagnostic) -> str:
    return diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]


# --- trees, texts and structures at random

SAMPLE_TEXTS = ["Alice", "D'Angelo", 'say "hi"', "\\bcozy", "\\", "a\\'", "tab\t", "☕", ""]
TEXTS = st.sampled_from(SAMPLE_TEXTS) | st.text()
SAMPLE_ASPECTS = ["quiet", "wifi_'free'", "cat_arts__&__entertainment", "cat_american_(traditional)", "AND", "1HOP"]
ASPECTS = st.sampled_from(SAMPLE_ASPECTS) | st.text() | st.text("ab_-.&'\"()[], 19", max_size=12)
NAMES = ASPECTS.map(convert_to_name).map(lambda text: AspectName(NOWHERE, text))
FRIENDS = st.lists(TEXTS, min_size=1, max_size=3).map(tuple)
HOPS = st.builds(Hop, st.just(NOWHERE), st.sampled_from([1, 2]), FRIENDS, st.none() | TEXTS)


def junctions(children: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[Any]:
    arguments = st.lists(children, min_size=least, max_size=4).map(tuple)
    return st.builds(JoinedNames, st.just(NOWHERE), st.sampled_from(["AND", "OR"]), arguments)


TREES = st.recursive(NAMES | HOPS, junctions, max_leaves=12)
SHORT_NAMES = st.sampled_from("abc").map(lambda text: AspectName(NOWHERE, text))
SHORT_HOPS = st.sampled_from("xy").map(lambda text: Hop(NOWHERE, 1, ("Jo",), text))
SMALL_TREES = st.recursive(SHORT_NAMES | SHORT_HOPS, lambda trees: junctions(trees, 2), max_leaves=8)
PIECES = [
    "AND", "OR", "and", "NOT", "1HOP", "2HOP_STARS", "3HOP", "(", ")", "[", "]", ",", "a", "b_(c)", "'x'", '"', "'", "&",
]  # fmt: skip
GARBAGE = st.one_of(
    st.text(),
    st.lists(st.sampled_from([*PIECES, " "]), max_size=16).map("".join),
    st.lists(st.sampled_from(PIECES)).map(" ".join),
)


# --- reading and printing


@pytest.mark.parametrize("name", ["good", "bad"])
def test_goldens(name: str, pytestconfig: pytest.Config) -> None:
    """Each shorthand of the page is read as the page says, or refused with those words; --update-cases rewrites it."""
    path = HERE / "shorthands" / f"{name}.md"
    written = path.read_text(encoding="utf-8")
    opening, *parts = re.split(r"^```shorthand\n", written, flags=re.MULTILINE)
    texts = [part.partition("\n```\n")[0] for part in parts]
    assert len(texts) > 10
    rewritten = opening + "\n".join(f"```shorthand\n{text}\n```\n\n{_outcome(name, text)}" for text in texts)
    if pytestconfig.getoption("--update-cases"):
        path.write_text(rewritten, encoding="utf-8")
    else:
        assert rewritten == written
    if name == "bad":  # every code except that of size
        codes = set(re.findall(r"^error\[(FS\d+)\]", written, re.MULTILINE))
        assert codes == {code for code in CODES if code.startswith("FS82")} - {"FS823"}


def _outcome(name: str, text: str) -> str:
    if name == "good":
        return f"```json\n{json.dumps(plain_tree(parse(text)), ensure_ascii=False)}\n```\n"
    tree, diagnostics = diagnose(text)
    assert tree is None
    return f"```text\n{render_text(promote_warnings(diagnostics)).rstrip()}\n```\n"


def test_the_tree_of_a_shorthand() -> None:
    """Names, operators and circles, each with its place in the text."""
    text = "AND(wifi_'free', OR(cat_american_(traditional), 2HOP(['Bob', \"D'Angelo\"], 'boba')), 1HOP_STARS(['Kim']))"
    wifi, american = AspectName(NOWHERE, "wifi_'free'"), AspectName(NOWHERE, "cat_american_(traditional)")
    boba, stars = Hop(NOWHERE, 2, ("Bob", "D'Angelo"), "boba"), Hop(NOWHERE, 1, ("Kim",), None)
    tree: Any = parse(text)
    assert tree == JoinedNames(NOWHERE, "AND", (wifi, JoinedNames(NOWHERE, "OR", (american, boba)), stars))
    places = [text[part.span.start : part.span.end] for part in (tree, *tree.args, *tree.args[1].args)]
    assert places == [
        text, "wifi_'free'", "OR(cat_american_(traditional), 2HOP(['Bob', \"D'Angelo\"], 'boba'))",
        "1HOP_STARS(['Kim'])", "cat_american_(traditional)",
        "2HOP(['Bob', \"D'Angelo\"], 'boba')",
    ]  # fmt: skip


def test_places_in_a_json_string_are_those_of_the_file() -> None:
    """After escapes, too, the place of a fault is that of its characters in the file."""
    source = Source("requests.jsonl", r'{"shorthand": "AND(1HOP([\"Alice\"], \"cozy\"), b c)"}')
    text = read_json(source)[0].get("shorthand")  # type: ignore[union-attr]
    assert isinstance(text, JsonString)
    problems = Problems()
    assert parse_shorthand(text, problems) is None
    (fault,) = problems.sorted()
    assert (underline(fault), fault.span.start, fault.pointer) == ("c", source.text.index(" c)") + 1, "/shorthand")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r"'\bcozy\b'", r"\bcozy\b"), (r"'\\bcozy'", r"\bcozy"), (r"'it\'s'", "it's"),
        (r'"it\'s \"it\""', 'it\'s "it"'), (r"'a\tb\nc\u2028\x1b\U0001F375'", "a\tb\nc\u2028\x1b🍵"),
        (r"'\d+\.\w'", r"\d+\.\w"), (r"'\U00110000 \xg'", r"\U00110000 \xg"),
    ],
)  # fmt: skip
def test_escapes_are_those_of_python_or_stand_for_themselves(written: str, value: str) -> None:
    """The result of `repr` is read back; a pattern's backslash needs no second one."""
    assert parse(f"1HOP([{written}], {written})") == Hop(NOWHERE, 1, (value,), value)


@given(TREES, st.data())
@example(JoinedNames(NOWHERE, "AND", (AspectName(NOWHERE, "_"),)), None)
def test_printing_and_parsing_are_inverse(tree: Shorthand, data: st.DataObject | None) -> None:
    """A printed tree is read back, also with other white space and quotes."""
    canonical = print_shorthand(tree)
    assert parse(canonical) == tree
    gaps = st.sampled_from(["", " ", "  ", "\n\t", "\r\n"])

    def join(*parts: str) -> str:
        return "".join(part if data is None else part + data.draw(gaps) for part in ("", *parts))

    def write(part: Shorthand) -> str:
        if isinstance(part, AspectName):
            return join(part.text)
        if isinstance(part, JoinedNames):
            return join(part.op, "(", ",".join(map(write, part.args)), ")")
        friends = ",".join(join(_quote(text)) for text in part.friends)
        if part.pattern is None:
            return join(f"{part.hops}HOP_STARS", "(", f"[{friends}]", ")")
        return join(f"{part.hops}HOP", "(", f"[{friends}]", ",", _quote(part.pattern), ")")

    assert print_shorthand(parse(write(tree))) == canonical


def _quote(text: str) -> str:
    """Return a string in double quotes, while `repr` mostly chooses single ones."""
    return '"' + repr(f'"{text}')[2:-1].replace('"', '\\"') + '"'


@given(ASPECTS)
def test_any_aspect_becomes_a_name(aspect: str) -> None:
    """A name stays as it is; whatever else is made one, and that is then a name."""
    name = convert_to_name(aspect)
    assert parse(name) == AspectName(NOWHERE, name)
    assert convert_to_name(name) == name


@pytest.mark.parametrize(
    ("aspect", "name"),
    [
        ("wifi_'free'", "wifi_'free'"), ("cat_american_(traditional)", "cat_american_(traditional)"), ("café", "café"),
        ("good for kids", "good_for_kids"), ("american (new)", "american_(new)"), ("american(new)", "american_new_"),
        ("AND", "_AND"), ("2HOP_STARS", "_2HOP_STARS"), ("ANDES", "ANDES"), ("'quoted'", "_'quoted'"), ("", "_"),
        ("a\x1b[31mb\u202e", "a__31mb_"),
    ],
)  # fmt: skip
def test_aspects_made_names(aspect: str, name: str) -> None:
    """Only what no name can hold is replaced."""
    assert convert_to_name(aspect) == name


HIDDEN_HELP = "remove it, or write it as an escape inside quotes"


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("", "expected a condition, found the end", "write it like `AND(a, b)`"),
        (" \n", "expected a condition, found the end", "write it like `AND(a, b)`"),
        ("a\u00a0b", "the character U+00A0 is not allowed here", "write a plain space"),
        ("a\u200bb", "the character U+200B is not allowed here", HIDDEN_HELP),
        ("1HOP(['\x1b[31m'], 'x')", "the character U+001B is not allowed here", HIDDEN_HELP),
    ],
)
def test_what_cannot_be_seen(text: str, message: str, help: str) -> None:
    """Nothing at all, and characters that show as nothing or as something else."""
    tree, (fault,) = diagnose(text)
    assert (tree, fault.code, fault.message, fault.help) == (None, "FS821", message, help)


@given(GARBAGE)
@example("")
@example("AND(" * 59 + "a")
@example("1HOP(['" + "\\")
def test_garbage_gives_diagnostics_only(text: str) -> None:
    """Any text is a tree, which is printed and read again, or has diagnostics with a place in it and help."""
    tree, diagnostics = diagnose(text)
    assert (tree is None) == bool(diagnostics)
    assert tree is None or parse(print_shorthand(tree)) == tree
    for diagnostic in diagnostics:
        assert diagnostic.code in {"FS821", "FS822"}
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert 0 < len(diagnostic.help) <= 200
        assert len(diagnostic.message) <= 200
        assert diagnostic.message.isprintable() and diagnostic.message[-1:] != "."  # noqa: PT018


@pytest.mark.parametrize(
    "text",
    [
        "a" * (limits.SHORTHAND_CHARACTERS + 1),
        "AND(" * (limits.SHORTHAND_NESTING + 1),
        "AND(" * 5_000 + "a" + ")" * 5_000,
        f"AND({','.join('a' * (limits.SHORTHAND_TERMS + 1))})",
        f"1HOP([{','.join(['1'.join(chr(39) * 2)] * (limits.SHORTHAND_TERMS + 1))}], 'x')",
    ],
)
def test_what_is_too_large_is_refused(text: str) -> None:
    """Length, nesting and terms have limits, and are reported as such."""
    assert [diagnostic.code for diagnostic in diagnose(text)[1]] == ["FS823"]


def test_what_is_as_large_as_may_be_is_read() -> None:
    """The limits themselves are fine."""
    assert parse("AND(" * limits.SHORTHAND_NESTING + "a" + ")" * limits.SHORTHAND_NESTING)
    wide = parse(f"AND({','.join('a' * limits.SHORTHAND_TERMS)})")
    assert find_disagreements(build_structure(wide), wide) == []
    long = "a" * limits.SHORTHAND_CHARACTERS
    assert parse(long) == AspectName(NOWHERE, long)


@pytest.mark.parametrize("code", ["FS821", "FS822"])
def test_pages(code: str) -> None:
    """Every line of a page's example gives the code, and every line of the corrected one nothing."""
    example, instead = re.findall(r"```text\n(.*?)```", (PAGES / f"{code}.md").read_text(encoding="utf-8"), re.DOTALL)
    for line in example.splitlines():
        assert [diagnostic.code for diagnostic in diagnose(line)[1]] == [code], line
    for line in instead.splitlines():
        assert parse(line)


# --- against structures


@given(TREES, st.randoms(use_true_random=False))
def test_the_shorthand_of_a_structure_agrees_with_it(tree: Shorthand, random: Any) -> None:
    """Printed from it, as it was made, or with arguments and friends shuffled and conditions renamed, or circles as such."""

    def change(part: Shorthand) -> Shorthand:
        if isinstance(part, JoinedNames):
            return JoinedNames(NOWHERE, part.op, tuple(map(change, random.sample(part.args, len(part.args)))))
        if isinstance(part, Hop) and random.random() < 0.7:
            return Hop(NOWHERE, part.hops, tuple(random.sample(part.friends, len(part.friends))), part.pattern)
        return AspectName(NOWHERE, random.choice("abc"))

    node = build_structure(tree)
    printed = parse(format_as_shorthand(node))
    assert printed == build_shorthand(node)
    for said in (printed, tree, change(tree)):
        assert find_disagreements(node, said) == []


@given(SMALL_TREES, SMALL_TREES, st.data())
def test_agreement_is_that_of_some_order(meant: Shorthand, random: Shorthand, data: st.DataObject) -> None:
    """Nothing is reported if and only if one order of all arguments makes two trees alike, random ones or of one shape."""

    def change(part: Shorthand) -> Shorthand:
        if isinstance(part, JoinedNames):
            return JoinedNames(NOWHERE, part.op, tuple(map(change, data.draw(st.permutations(part.args)))))
        return data.draw(SHORT_NAMES | SHORT_HOPS)

    for said in (random, change(meant)):
        assert (find_disagreements(build_structure(meant), said) == []) == _alike(meant, said)


def _alike(meant: Shorthand, said: Shorthand) -> bool:
    """Return True if some order of all arguments makes the trees alike."""
    if isinstance(meant, JoinedNames) or isinstance(said, JoinedNames):
        if not (isinstance(meant, JoinedNames) and isinstance(said, JoinedNames) and meant.op == said.op):
            return False
        return len(meant.args) == len(said.args) and any(
            all(map(_alike, order, said.args)) for order in itertools.permutations(meant.args)
        )
    return isinstance(said, AspectName) or meant == said


def test_differences_are_reported_with_their_places(pytestconfig: pytest.Config) -> None:
    """In words that name the argument as the shorthand counts, with the shorthand's part and the structure's in the help."""

    def describe(structure: str, shorthand: str) -> dict[str, Any]:
        differences = find_differences(structure, shorthand)
        return {"differences": [[underline(fault), fault.message, fault.help] for fault in differences]}

    check_lines(HERE / "differing_shorthands.jsonl", ("structure", "shorthand"), describe, pytestconfig)


def test_a_junction_of_one_argument_is_that_argument() -> None:
    """The shorthand of a single condition is that condition alone, and either way of writing it agrees."""
    lone = model.Junction("AND", (build_structure(parse("1HOP(['Ivy'], 'boba')")),), NOWHERE)
    assert format_as_shorthand(lone) == "1HOP(['Ivy'], 'boba')"
    for text in ("1HOP(['Ivy'], 'boba')", "AND(1HOP(['Ivy'], 'boba'))", "OR(AND(boba_social))"):
        assert find_disagreements(lone, parse(text)) == []


# --- the command


def test_the_command_prints_the_canonical_form() -> None:
    """It prints text or a tree, also from standard input."""
    messy, canonical = 'AND( a,OR(b ,  1HOP(["Alice"],"cozy") ) )', "AND(a, OR(b, 1HOP(['Alice'], 'cozy')))"
    assert command("shorthand", messy).out == f"{canonical}\n"
    assert formulaseed("shorthand", "-", stdin=messy.encode()).out == f"{canonical}\n"
    done = command("shorthand", messy, "--format", "json")
    circle = {"hops": 1, "friends": ["Alice"], "pattern": "cozy"}
    tree = {"op": "AND", "args": [{"name": "a"}, {"op": "OR", "args": [{"name": "b"}, circle]}]}
    assert (done.status, done.err, json.loads(done.out)) == (0, "", {"shorthand": canonical, "tree": tree})


def write_request(id: str, shorthand: str, *aspects: str, group: str = "G01") -> dict[str, Any]:
    """A request with an `AND` of facts."""
    evidence = [{"kind": "item_meta", "path": ["attributes", name], "true": "True"} for name in aspects]
    args = [{"aspect": name, "evidence": fact} for name, fact in zip(aspects, evidence, strict=True)]
    texts = {"scenario": "Reader", "text": "A quiet place", "shorthand": shorthand, "gold_restaurant": "lotus-garden"}
    return {"id": id, "group": group, **texts, "structure": {"op": "AND", "args": args}}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Requests whose shorthands are right; two of three that are not; one right, one with another error."""
    folder = tmp_path_factory.mktemp("requests")
    good = write_request("R01", "AND(books, quiet)", "quiet", "books")
    wrong = write_request("R02", "OR(quiet, books)", "quiet", "books")
    broken = write_request("R03", "AND(quiet books)", "quiet", "books")
    ungrouped = write_request("R04", "AND(quiet, books)", "quiet", "books", group="G00")
    return (
        write_lines(folder / "good.jsonl", good, write_request("R05", "quiet", "quiet")),
        write_lines(folder / "bad.jsonl", good, wrong, broken),
        write_lines(folder / "other.jsonl", good, ungrouped),
    )


def test_shorthands_of_a_file_are_checked(files: tuple[Path, Path, Path]) -> None:
    """Each that disagrees with its structure, or cannot be read, is reported with its line; other errors are counted."""
    good, bad, other = files
    assert command("shorthand", "--check", good) == Outcome(0, f"{good}: no problems\n", "")
    done = command("shorthand", "--check", bad)
    assert (done.status, f"{bad}: 2 errors\n" in done.out, done.err) == (1, True, "")
    listed = json.loads(command("shorthand", "--check", bad, "--format", "json").out)
    places = [("FS814", 2, "/shorthand"), ("FS821", 3, "/shorthand")]
    assert [(d["code"], d["line"], d["pointer"]) for d in listed] == places
    beside = f"{other}: 1 other error; see `formulaseed check {other}`\n"
    assert command("shorthand", "--check", other) == Outcome(1, f"{other}: no problems\n", beside)
    assert command("shorthand", "--check", good.parent / "absent.jsonl").status == 2


def test_check_warns_of_shorthands(files: tuple[Path, Path, Path]) -> None:
    """The structure decides, so a shorthand that disagrees or cannot be read is a warning, unless --strict is given."""
    done = command("check", files[1], "--format", "json")
    severities = [(d["code"], d["severity"]) for d in json.loads(done.out)]
    assert (done.status, severities) == (0, [("FS814", "warning"), ("FS821", "warning")])
    assert command("check", files[1], "--strict").status == 1
    structures = [request.structure for request in load_requests(files[1]).program.requests]
    assert structures == [load_requests(files[0]).program.requests[0].structure] * 3


def test_a_file_whose_shorthands_disagree_is_compiled(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Every request is in the module, as its structure says; that there are warnings is said."""
    fixed = [line | {"shorthand": "AND(quiet, books)"} for line in read_lines(files[1])]
    paths = (files[1], write_lines(tmp_path / "bad.jsonl", *fixed))
    done, sound = (command("compile", path, "--stdout", "--out", path.parent) for path in paths)
    assert (done.status, done.err) == (0, f"{files[1]}: 2 warnings; see `formulaseed check {files[1]}`\n")
    code, sound_code = (re.sub("(?m)^.*(SHA256|Compiled).*$", "", text) for text in (done.out, sound.out))
    assert code == sound_code != ""


def test_shorthands_of_structures_are_printed(files: tuple[Path, Path, Path]) -> None:
    """One a line behind its id, whatever the file's own say; as JSON, an object of them."""
    good, bad, other = files
    assert command("shorthand", "--print", good).out == "R01\tAND(quiet, books)\nR05\tquiet\n"
    done = command("shorthand", "--print", bad, "--format", "json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out) == dict.fromkeys(("R01", "R02", "R03"), "AND(quiet, books)")
    partial = command("shorthand", "--print", other)
    assert (partial.status, partial.out) == (1, "R01\tAND(quiet, books)\n")


@pytest.mark.skipif(not REAL.is_file(), reason="the real requests are not here")
def test_real_shorthands_agree_with_their_structures() -> None:
    """All fifty are canonical and agree; all but three that rename a condition are printed from their structures."""
    shorthands = {line["id"]: line["shorthand"] for line in read_lines(REAL)}
    assert len(shorthands) == 50
    assert all(print_shorthand(parse(text)) == text for text in shorthands.values())
    assert command("shorthand", "--check", REAL).status == 0
    printed = json.loads(command("shorthand", "--print", REAL, "--format", "json").out)
    assert {id for id, text in shorthands.items() if printed[id] != text} == {"R81", "R89", "R97"}


def test_the_command_on_bad_input() -> None:
    """An error has status 1, underlined on standard error or listed on standard output; wrong usage has status 2."""
    done = command("shorthand", "AND(a b)")
    assert (done.status, done.out) == (1, "")
    assert "error[FS821] invalid-shorthand: expected `,` or `)`, found `b`\n  --> <text>:1:7\n" in done.err
    listed = command("shorthand", "XOR(a)", "--format", "json")
    places = [(diagnostic["code"], diagnostic["column"]) for diagnostic in json.loads(listed.out)]
    assert (listed.status, places) == (1, [("FS822", 1)])
    for arguments in ("", "a --template G01", "a --check b", "--template G11", "a --format xml"):
        done = command("shorthand", *arguments.split())
        assert (done.status, done.out, "Error: " in done.err) == (2, "", True)


@pytest.mark.parametrize("group", GROUPS)
def test_a_template_is_a_request_of_its_group(group: str) -> None:
    """Standard output is the request alone, the advice goes to standard error. Unfilled it is refused; filled it passes."""
    done = command("shorthand", "--template", group)
    (request,) = done.results
    keys = ["id", "group", "scenario", "text", "shorthand", "structure", "gold_restaurant"]
    assert (done.status, list(request), request["group"]) == (0, keys, group)
    assert request["shorthand"] == print_shorthand(parse(GROUPS[group].template))
    filled = json.loads(re.sub("<([^<>]*)>", "filled", done.out)) | {"id": f"R{int(group[1:]) * 10}"}
    assert analyse_requests([filled]).diagnostics == ()
    assert any(d.severity == "error" for d in analyse_requests([request]).diagnostics)
    assert (done.err.count("- [ ] "), "exactly one restaurant matches" in done.err) == (8, True)
