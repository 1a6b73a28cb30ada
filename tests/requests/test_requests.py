"""Files of requests: what is read, what is reported, and where. The diagnostics themselves are shown by cases/bad/requests_*."""

from __future__ import annotations

import copy
import dataclasses
import gzip
import json
import time
from pathlib import Path
from typing import Any, get_args

import pytest
from formulaseed import SeedError, limits, load_requests
from formulaseed.documents import analyse_file, analyse_requests
from formulaseed.pipeline import compile
from formulaseed.requests import model as ir
from formulaseed.requests.groups import GROUPS, find_benchmark_group, has_group_pattern
from formulaseed.runtime.loading import module_from_source
from formulaseed.source.text import Source, Span
from golden_lines import check_lines
from helpers import EXAMPLES, TASKS, command, formulaseed, places, read_lines, write_lines
from hypothesis import given
from hypothesis import strategies as st

REQUESTS = read_lines(EXAMPLES / "requests.jsonl")
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


def format_node(value: Any) -> str:
    """A node as the call that makes it."""
    if not dataclasses.is_dataclass(value):
        return f"({', '.join(map(format_node, value))})" if type(value) is tuple else repr(value)
    values = (f"{field.name}={format_node(getattr(value, field.name))}" for field in dataclasses.fields(value))
    return f"{type(value).__name__}({', '.join(values)})"


def test_evidence(pytestconfig: pytest.Config) -> None:
    """Every kind, with its defaults and with everything given."""

    def describe(evidence: dict[str, Any]) -> dict[str, str]:
        """What the evidence of a request that has nothing wrong but, perhaps, its group becomes."""
        id = "R81" if evidence.get("social_filter", {}).get("hops") == 1 else "R31"
        loaded = load_requests([request(id, evidence)])
        assert {d.code for d in loaded.diagnostics} <= {"FS813", "FS819"}
        (node,) = loaded.program.evidence()
        return {"node": format_node(node)}

    check_lines(Path(__file__).parent / "evidence.jsonl", ("evidence",), describe, pytestconfig)


def test_examples_use_every_kind_and_every_group() -> None:
    """Our own requests have nothing wrong, not even a warning, and leave out nothing that there is."""
    loaded = load_requests(EXAMPLES / "requests.jsonl")
    program = loaded.program
    assert (loaded.diagnostics, program.name) == ((), "requests")
    assert {request.group for request in program.requests} == set(GROUPS)
    assert {type(evidence) for evidence in program.evidence()} == set(get_args(ir.Evidence))


def test_structure_and_places(tmp_path: Path) -> None:
    """The tree as it was written; every line, also behind blank ones, keeps its number and its span."""
    lines = [json.dumps(request("R01")), "", "  ", json.dumps(request("R02", shorthand="AND(no_tv)"))]
    path = tmp_path / "two.v1.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    program = load_requests(path).program
    first, second = program.requests
    assert (program.name, first.line, second.line, len(program.evidence())) == ("two", 1, 4, 1)
    (condition,) = first.structure.args  # type: ignore[union-attr]
    texts = [part.span.source.text[part.span.start : part.span.end] for part in (second, condition)]
    assert [*map(json.loads, texts)] == [request("R02"), request("R01")["structure"]["args"][0]]
    assert condition.aspect == "no_tv"


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
    requests, packed = EXAMPLES / "requests.jsonl", tmp_path / "requests.jsonl.gz"
    packed.write_bytes(gzip.compress(requests.read_bytes()))
    done = command("check", TASKS / "wait_times" / "seed.json", requests, packed)
    assert (done.status, done.out.count("no problems")) == (0, 3)
    piped = formulaseed("check", "-", "--format", "json", stdin=json.dumps(request(" R1")).encode() + b"\n")
    places = [(d["code"], d["file"], d["line"]) for d in json.loads(piped.out)]
    assert (piped.status, places) == (1, [("FS811", "<stdin>", 1)])
    packed.write_bytes(packed.read_bytes()[:-20])
    cut = command("check", packed)
    assert (cut.status, cut.out, "cannot read" in cut.err) == (2, "", True)


def test_warnings_are_errors_with_strict(tmp_path: Path) -> None:
    """A structure of another group is a warning; --strict takes it as an error."""
    path = write_lines(tmp_path / "requests.jsonl", request("R41"))
    assert (command("check", path).status, command("check", path, "--strict").status) == (0, 1)


def test_fix_fixes_what_is_certain(tmp_path: Path) -> None:
    """Keys, kinds and ids that are surely meant are written into the file."""
    wrong = request("R1", {"kind": "item_metaa", "paths": ["attributes", "HasTV"], "true": "False"})
    path = write_lines(tmp_path / "requests.jsonl", wrong, request("R02"))
    done = command("check", "--fix", "--benchmark", path)
    assert done.status == 0, done.out + done.err
    assert read_lines(path) == [request("R01"), request("R02")]


@pytest.mark.parametrize(
    "id", ["R1", "R101", "user-17", "cafés: 3", "日本", "x" * 100, "# type: ignore", "noqa", "type"]
)
def test_ids_of_any_form(id: str, tmp_path: Path) -> None:
    """An id is what the author calls a request, in results, the matrix and the module; --benchmark asks for R01 to R100."""
    path = write_lines(tmp_path / "requests.jsonl", request(id, text="# noqa and so on"))
    assert command("check", path).out == f"{path}: no problems\n"
    source = compile(load_requests([request(id, text="type: ignore this")]), formatted=False)
    assert list(module_from_source(source, "requests").GOLD) == [id]
    own = command("check", path, "--benchmark", "--format", "json")
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


def test_forty_levels_are_read() -> None:
    """A structure may be nested as deep as anybody writes it, and is refused where it is deeper, not crashed upon."""
    for levels, codes in ((40, set()), (60, {"FS004"})):
        node = request()["structure"]["args"][0]
        for _ in range(levels):
            node = {"op": "AND", "args": [node]}
        analysis = analyse_requests([request(structure=node)])
        assert ({d.code for d in analysis.diagnostics if d.severity == "error"}, analysis.has_errors) == (
            codes,
            bool(codes),
        )


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

    def find_errors(*lines: dict[str, Any]) -> list[str]:
        return [d.code for d in analyse_requests([*lines]).diagnostics if d.severity == "error"]

    leaf = request()["structure"]["args"][0]
    full = {"op": "OR", "args": [leaf] * limits.CONDITIONS}
    wide = {"op": "OR", "args": [leaf] * (limits.CONDITIONS + 1)}
    many = {"op": "AND", "args": [full] * (limits.REQUEST_CONDITIONS // limits.CONDITIONS + 1)}
    long = {"kind": "review_text", "pattern": "a" * (limits.PATTERN_CHARACTERS + 1)}
    assert [find_errors(request(structure=structure)) for structure in (full, wide, many)] == [[], ["FS510"], ["FS510"]]
    assert find_errors(*[request()] * (limits.REQUESTS + 1)) == ["FS510"]
    assert find_errors(request("R31", long)) == ["FS804"]


def all_of(*args: ir.Node) -> ir.Junction:
    return ir.Junction("AND", args, SPAN)


def any_of(*args: ir.Node) -> ir.Junction:
    return ir.Junction("OR", args, SPAN)


A, REVIEWED, OPEN, ONE_HOP, TWO_HOPS = (
    ir.Condition("c", evidence, SPAN)
    for evidence in (
        ir.ItemMeta(("attributes", "HasTV"), ()), ir.ReviewText("tea", None, None, 1, "tea"),
        ir.ItemHours(("hours", "Monday"), 0, 60), ir.SocialRating(4.0, 1, ir.SocialFilter(("Ana",), 1)),
        ir.SocialRating(4.0, 1, ir.SocialFilter(("Ana",), 2)),
    )
)  # fmt: skip


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


scalars = st.none() | st.booleans() | st.integers(-2, 10**20) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    scalars | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(REQUESTS), st.data())
def test_anything_anywhere_is_reported(line: dict[str, Any], data: st.DataObject) -> None:
    """A value replaced or removed: still a result or diagnostics, never a failure of ours."""
    changed = copy.deepcopy(line)
    holder, key = data.draw(st.sampled_from(list(places(changed))))
    if data.draw(st.booleans()) and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = data.draw(json_values)
    analysis = analyse_requests([changed])
    assert "FS901" not in {d.code for d in analysis.diagnostics}
    assert analysis.has_errors or analysis.program is not None
