"""Files of requests: what is read, what is reported, and where. The diagnostics themselves are shown by cases/bad/requests_*."""

from __future__ import annotations

import copy
import gzip
import json
import time
from pathlib import Path
from typing import Any, get_args

import pytest
from formulaseed import SeedError, limits, load_requests
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import analyse_file, analyse_requests
from formulaseed.pipeline import compile
from formulaseed.requests import model as ir
from formulaseed.requests.groups import GROUPS, find_benchmark_group, has_group_pattern
from formulaseed.runtime.loading import module_from_source
from formulaseed.source.text import Source, Span
from helpers import EXAMPLES, TASKS, formulaseed, write_lines
from hypothesis import given
from hypothesis import strategies as st

REQUESTS = [json.loads(line) for line in (EXAMPLES / "requests.jsonl").read_text(encoding="utf-8").splitlines()]
SPAN = Span(Source("requests.jsonl", ""), 0, 0)


def request(id: str = "R01", evidence: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A request with one condition, of the group that its id says."""
    evidence = evidence or {"kind": "item_meta", "path": ["attributes", "HasTV"], "true": "False"}
    group = find_benchmark_group(id) or "G01"
    group = "G09" if "social_filter" in evidence and group not in ("G09", "G10") else group
    line = {
        "id": id, "group": group, "scenario": "Night Reader", "text": "No screens, please.", "shorthand": "AND(no_tv)",
        "structure": {"op": "AND", "args": [{"aspect": "no_tv", "evidence": evidence}]}, "gold_restaurant": "lotus",
    }  # fmt: skip
    return {**line, **changes}


def diagnose(*lines: object) -> tuple[Diagnostic, ...]:
    return analyse_requests([line for line in lines if isinstance(line, dict)]).diagnostics


def lower(evidence: dict[str, Any]) -> ir.Evidence:
    """The evidence of a request that has nothing wrong but, perhaps, its group."""
    id = "R81" if evidence.get("social_filter", {}).get("hops") == 1 else "R31"
    loaded = load_requests([request(id, evidence)])
    assert {d.code for d in loaded.diagnostics} <= {"FS813", "FS819"}
    (only,) = loaded.program.evidence()
    return only


CIRCLE = {"friends": ["Ana", "Ben"], "hops": 1}


@pytest.mark.parametrize(
    ("evidence", "node"),
    [
        (
            {"kind": "item_meta", "path": ["attributes", "WiFi"], "false": "no", "missing": -1, "true": "u'free'"},
            ir.ItemMeta(
                ("attributes", "WiFi"),
                (ir.Expectation("missing", -1), ir.Expectation("true", "u'free'"), ir.Expectation("false", "no")),
            ),
        ),
        ({"kind": "item_meta", "path": ["is_open"]}, ir.ItemMeta(("is_open",), ())),
        (
            {"kind": "item_meta", "path": ["attributes", "HasTV"], "true": True, "description": "a screen"},
            ir.ItemMeta(("attributes", "HasTV"), (ir.Expectation("true", "True"),)),
        ),
        (
            {"kind": "item_meta", "path": ["stars"], "op": "true", "value": 4.5, "true": 4.5},
            ir.ItemMeta(("stars",), (ir.Expectation("true", "4.5"),)),
        ),
        (
            {"kind": "item_meta_hours", "path": ["hours", "Friday"], "true": "22:0-1:30"},
            ir.ItemHours(("hours", "Friday"), 22 * 60, 90),
        ),
        ({"kind": "review_text", "pattern": "a|b"}, ir.ReviewText("a|b", None, None, 1, "a|b")),
        (
            {"kind": "review_text", "pattern": "tea", "weight_by": {"field": ["user", "fans"]}},
            ir.ReviewText("tea", ir.Weight(("user", "fans"), 50.0, 2), None, 1, "tea"),
        ),
        (
            {
                "kind": "review_text", "pattern": "tea", "weight_by": {"field": "useful"},
                "credibility_percentile": 75, "min_credible_matches": 3,
            },
            ir.ReviewText("tea", ir.Weight(("useful",), 75.0, 3), None, 1, "tea"),
        ),
        (
            {"kind": "review_text", "pattern": "tea", "social_filter": CIRCLE, "min_matches": 2},
            ir.ReviewText("tea", None, ir.SocialFilter(("Ana", "Ben"), 1), 2, "tea"),
        ),
        (
            {"kind": "review_text", "pattern": "tea", "social_filter": {**CIRCLE, "min_matches": 2}},
            ir.ReviewText("tea", None, ir.SocialFilter(("Ana", "Ben"), 1), 2, "tea"),
        ),
        (
            {"kind": "review_meta", "path": ["user", "elite"], "op": "not_empty", "value": None, "min_stars": None},
            ir.ReviewMeta(("user", "elite"), "not_empty", None, "any", 1, None),
        ),
        (
            {"kind": "review_meta", "path": ["useful"], "op": "gte", "value": 10, "agg": "count", "count": 3, "min_stars": 4},
            ir.ReviewMeta(("useful",), "gte", 10, "count", 3, 4.0),
        ),
        (
            {
                "kind": "review_group_rating", "group": "recent", "metric": "avg_stars", "threshold": 4, "operator": "gte",
                "group_filter": {"field": "date", "operator": "gte", "value": "2020-01-01"},
            },
            ir.GroupRating(("date",), "gte", "2020-01-01", "avg_stars", "gte", 4.0),
        ),
        (
            {
                "kind": "review_group_rating", "metric": "count", "threshold": 12, "operator": "lt",
                "group_filter": {"field": ["user", "average_stars"], "operator": "ne", "value": 3.5},
            },
            ir.GroupRating(("user", "average_stars"), "ne", 3.5, "count", "lt", 12.0),
        ),
        (
            {"kind": "review_group_rating_negative", "condition": {"generous_avg_gte": 4.0, "harsh_avg_lt": 2}},
            ir.NotOnlyEasyRaters(4.0, 2.0),
        ),
        ({"kind": "review_sentiment", "topic": "tea"}, ir.Sentiment("tea", "positive", 1, None)),
        (
            {"kind": "review_sentiment", "topic": "tea", "sentiment": "negative", "min_negative": 3, "social_filter": CIRCLE},
            ir.Sentiment("tea", "negative", 3, ir.SocialFilter(("Ana", "Ben"), 1)),
        ),
        ({"kind": "social_rating", "social_filter": CIRCLE}, ir.SocialRating(4.0, 1, ir.SocialFilter(("Ana", "Ben"), 1))),
        (
            {"kind": "social_rating", "social_filter": CIRCLE, "min_stars": 3, "min_matches": 2},
            ir.SocialRating(3.0, 2, ir.SocialFilter(("Ana", "Ben"), 1)),
        ),
    ],
)  # fmt: skip
def test_evidence(evidence: dict[str, Any], node: ir.Evidence) -> None:
    """Every kind, with its defaults and with everything given."""
    lowered_evidence = lower(evidence)
    assert (lowered_evidence, type(lowered_evidence)) == (node, type(node))


def test_examples_use_every_kind_and_every_group() -> None:
    """Our own requests have nothing wrong, not even a warning, and leave out nothing that there is."""
    loaded = load_requests(EXAMPLES / "requests.jsonl")
    assert loaded.diagnostics == ()
    program = loaded.program
    assert program.name == "requests"
    assert {request.group for request in program.requests} == set(GROUPS)
    assert len(program.requests) >= 20
    assert {type(evidence) for evidence in program.evidence()} == set(get_args(ir.Evidence))


def test_structure_and_places(tmp_path: Path) -> None:
    """The tree as it was written; every line, also behind blank ones, keeps its number and its span."""
    lines = [json.dumps(request("R01")), "", "  ", json.dumps(request("R02", shorthand="AND(no_tv)"))]
    path = tmp_path / "two.v1.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    loaded = load_requests(path)
    assert loaded.program.name == "two"
    first, second = loaded.program.requests
    assert (first.line, second.line) == (1, 4)
    assert json.loads(second.span.source.text[second.span.start : second.span.end]) == request("R02")
    assert isinstance(first.structure, ir.Junction)
    (condition,) = first.structure.args
    assert isinstance(condition, ir.Condition)
    text = condition.span.source.text[condition.span.start : condition.span.end]
    assert json.loads(text)["aspect"] == condition.aspect == "no_tv"
    assert len(loaded.program.evidence()) == 1


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    """A diagnostic names line and column of the file, and the pointer into its line."""
    wrong = request("R02", {"kind": "item_meta", "path": ["attributes", "WiFi"], "contain": "frée"})
    path = write_lines(tmp_path / "requests.jsonl", request("R01"), wrong)
    (diagnostic,) = analyse_file(path).diagnostics
    line = path.read_text(encoding="utf-8").splitlines()[1]
    assert (diagnostic.code, diagnostic.line, diagnostic.end_line) == ("FS501", 2, 2)
    assert line[diagnostic.column - 1 : diagnostic.end_column - 1] == '"contain"'
    assert diagnostic.pointer == "/structure/args/0/evidence/contain"
    assert diagnostic.suggestion is not None
    assert diagnostic.suggestion.replacement == '"contains"'


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.jsonl", json.dumps(request(" R1")), "FS811"), ("a.json", json.dumps(request(" R1")), "FS811"),
        ("a.txt", json.dumps(request(" R1")) + "\n" + json.dumps(request("R02")), "FS811"),
        ("a.json", json.dumps(request(" R1"), indent=2), "FS811"), ("a.json", json.dumps([request(" R1")]), "FS811"),
        ("a.jsonl", "", "FS509"), ("a.json", '{"task_name": "x"}', "FS502"),
        ("a.json", '{"task_name": "x", "structure": {}}', "FS501"), ("a.json", "", "FS001"),
    ],
)  # fmt: skip
def test_formats_are_distinguished(name: str, content: str, code: str, tmp_path: Path) -> None:
    """By the name, else by the keys of the first line: a seed is reported as a seed, requests as requests."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert code in {d.code for d in analyse_file(path).diagnostics}


def test_check_takes_both(tmp_path: Path) -> None:
    """`check` reads seeds and requests in one go, from packed files and from standard input too."""
    requests = EXAMPLES / "requests.jsonl"
    packed = tmp_path / "requests.jsonl.gz"
    packed.write_bytes(gzip.compress(requests.read_bytes()))
    done = formulaseed("check", TASKS / "wait_times" / "seed.json", requests, packed)
    assert done.status == 0
    assert done.out.count("no problems") == 3
    wrong = json.dumps(request(" R1")).encode() + b"\n"
    piped = formulaseed("check", "-", "--format", "json", stdin=wrong)
    assert piped.status == 1
    assert [(d["code"], d["file"], d["line"]) for d in json.loads(piped.out)] == [("FS811", "<stdin>", 1)]
    packed.write_bytes(gzip.compress(requests.read_bytes())[:-20])
    cut = formulaseed("check", packed)
    assert (cut.status, cut.out) == (2, "")
    assert "cannot read" in cut.err


def test_warnings_are_errors_with_strict(tmp_path: Path) -> None:
    """A structure of another group is a warning; --strict takes it as an error."""
    path = write_lines(tmp_path / "requests.jsonl", request("R41"))
    assert formulaseed("check", path).status == 0
    assert formulaseed("check", path, "--strict").status == 1


def test_fix_fixes_what_is_certain(tmp_path: Path) -> None:
    """Keys, kinds and ids that are surely meant are written into the file."""
    wrong = request("R1", {"kind": "item_metaa", "paths": ["attributes", "HasTV"], "true": "False"})
    path = write_lines(tmp_path / "requests.jsonl", wrong, request("R02"))
    done = formulaseed("check", "--fix", "--benchmark", path)
    assert done.status == 0, done.out + done.err
    assert [json.loads(line) for line in path.read_text().splitlines()] == [request("R01"), request("R02")]


@pytest.mark.parametrize(
    "id", ["R1", "R101", "user-17", "cafés: 3", "日本", "x" * 100, "# type: ignore", "noqa", "type"]
)
def test_ids_of_any_form(id: str, tmp_path: Path) -> None:
    """An id is what the author calls a request, in results, the matrix and the module; --benchmark asks for R01 to R100."""
    path = write_lines(tmp_path / "requests.jsonl", request(id, text="# noqa and so on"))
    assert formulaseed("check", path).out == f"{path}: no problems\n"
    source = compile(load_requests([request(id, text="type: ignore this")]))
    assert list(module_from_source(source, "requests").GOLD) == [id]
    own = formulaseed("check", path, "--benchmark", "--format", "json")
    assert [d["code"] for d in json.loads(own.out)] == ["FS811"]


@pytest.mark.parametrize("id", ["R<NN>", " R01", "R01 ", "a\nb", "a\u202eb", "x" * 101])
def test_ids_that_nobody_can_read(id: str) -> None:
    """Control characters, spaces at the ends and no end are refused."""
    with pytest.raises(SeedError, match="FS811"):
        load_requests([request(id)])


def test_errors_carry_their_diagnostics() -> None:
    """`load_requests` raises with everything that is wrong, and takes what it has loaded."""
    with pytest.raises(SeedError) as refused:
        load_requests([request(" R1"), request("R02", text="")])
    assert [d.code for d in refused.value.diagnostics] == ["FS811", "FS815"]
    loaded = load_requests([request()])
    assert load_requests(loaded) is loaded


def nest(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = request()["structure"]["args"][0]
    for _ in range(levels):
        node = {"op": "AND", "args": [node]}
    return node


def test_forty_levels_are_read() -> None:
    """A structure may be nested as deep as anybody writes it, and is refused where it is deeper, not crashed upon."""
    assert load_requests([request(structure=nest(40))]).program.requests
    codes = {d.code for d in diagnose(request(structure=nest(60)))}
    assert codes == {"FS004"}


@pytest.mark.parametrize("opening", ["[", '{"op":"AND","args":['])
def test_a_million_levels_are_refused_at_once(opening: str, tmp_path: Path) -> None:
    """Nesting without end is refused where it passes the limit, before it is read."""
    text = '{"id": "R01", "structure": ' + opening * (1_000_000 // len(opening))
    path = tmp_path / "requests.jsonl"
    path.write_text(text, encoding="utf-8")
    started = time.process_time()
    diagnostics = analyse_file(path).diagnostics
    assert time.process_time() - started < 5.0
    assert [d.code for d in diagnostics] == ["FS004"]


def test_limits() -> None:
    """Each excess over a limit is one diagnostic."""
    leaf = request()["structure"]["args"][0]
    wide = {"op": "OR", "args": [leaf] * (limits.CONDITIONS + 1)}
    assert "FS510" in {d.code for d in diagnose(request(structure=wide))}
    full = {"op": "OR", "args": [leaf] * limits.CONDITIONS}
    shorthand = f"OR({', '.join(['a'] * limits.CONDITIONS)})"
    assert load_requests([request(structure=full, shorthand=shorthand)]).program.requests
    many = {"op": "AND", "args": [full] * (limits.REQUEST_CONDITIONS // limits.CONDITIONS + 1)}
    assert [d.code for d in diagnose(request(structure=many)) if d.code == "FS510"] == ["FS510"]
    assert [d.code for d in diagnose(*[request()] * (limits.REQUESTS + 1))] == ["FS510"]
    long = {"kind": "review_text", "pattern": "a" * (limits.PATTERN_CHARACTERS + 1)}
    assert "FS804" in {d.code for d in diagnose(request("R31", long))}


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[z-a]", "a{99999999999999999999}", "(?P<x>a)(?P<x>b)", "\\"])
def test_patterns_that_are_none(pattern: str) -> None:
    """A pattern that `re` cannot read is an error of the request."""
    assert [d.severity for d in diagnose(request("R31", {"kind": "review_text", "pattern": pattern}))] == ["error"]


def condition(evidence: ir.Evidence | None = None) -> ir.Condition:
    return ir.Condition("c", evidence or ir.ItemMeta(("attributes", "HasTV"), ()), SPAN)


def all_of(*args: ir.Node) -> ir.Junction:
    return ir.Junction("AND", args, SPAN)


def any_of(*args: ir.Node) -> ir.Junction:
    return ir.Junction("OR", args, SPAN)


A = condition()
REVIEWED = condition(ir.ReviewText("tea", None, None, 1, "tea"))
OPEN = condition(ir.ItemHours(("hours", "Monday"), 0, 60))
ONE_HOP, TWO_HOPS = (condition(ir.SocialRating(4.0, 1, ir.SocialFilter(("Ana",), hops))) for hops in (1, 2))


@pytest.mark.parametrize(
    ("groups", "structure"),
    [
        ({"G01"}, all_of(A, A, A)), ({"G01", "G02", "G04"}, all_of(A, REVIEWED)), ({"G01", "G03"}, all_of(OPEN, A)),
        ({"G02", "G03"}, all_of(A, any_of(A, A))), ({"G02", "G03", "G05"}, all_of(A, any_of(A, A, A))),
        ({"G02", "G03", "G05"}, any_of(A, A, A)), ({"G06"}, all_of(A, any_of(all_of(A, A), all_of(A, A)))),
        ({"G06"}, any_of(all_of(A, A), all_of(A, A))), ({"G07"}, all_of(A, any_of(A, A), any_of(A, A))),
        ({"G07"}, all_of(any_of(A, A), any_of(A, A))), ({"G08"}, all_of(A, any_of(A, all_of(A, A)))),
        ({"G01", "G02", "G04", "G09"}, all_of(ONE_HOP)), ({"G01", "G02", "G04", "G10"}, all_of(A, TWO_HOPS)),
        (set(), any_of(A, all_of(A, any_of(A, A)))), ({"G01"}, A),
    ],
)  # fmt: skip
def test_group_patterns(groups: set[str], structure: ir.Node) -> None:
    """The patterns of the reference, with one anchor, several or none."""
    assert {group for group in GROUPS if has_group_pattern(group, structure)} == groups


@pytest.mark.parametrize(
    ("id", "group"), [("R01", "G01"), ("R10", "G01"), ("R11", "G02"), ("R90", "G09"), ("R100", "G10")]
)
def test_groups_of_ids(id: str, group: str) -> None:
    """Ten ids a group."""
    assert find_benchmark_group(id) == group


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@given(st.sampled_from(REQUESTS), st.data())
def test_anything_anywhere_is_reported(line: dict[str, Any], data: st.DataObject) -> None:
    """A value replaced or removed: still a result or diagnostics, never a failure of ours."""
    changed = copy.deepcopy(line)
    *above, last = data.draw(st.sampled_from(places(line)[1:]))
    target = changed
    for key in above:
        target = target[key]
    if data.draw(st.booleans()) and isinstance(target, dict):
        del target[last]
    else:
        target[last] = data.draw(json_values)
    analysis = analyse_requests([changed])
    assert "FS901" not in {d.code for d in analysis.diagnostics}
    assert analysis.has_errors or analysis.program is not None
