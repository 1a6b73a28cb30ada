"""`validate` as a process, and the same from Python: matrix, statuses, reasons, proposals, bad data."""

from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path
from typing import Any

import click
import formulaseed as package
import pytest
from formulaseed import DataError, SeedError, load_requests, validate_requests
from golden_lines import check_text
from helpers import EXAMPLES, Outcome, command, formulaseed, on_terminal, read_lines, write_json, write_lines

HERE = Path(__file__).parent / "validation"
REQUESTS, CONTEXTS = EXAMPLES / "requests.jsonl", EXAMPLES / "contexts.jsonl"
JUDGEMENTS, SOCIAL = EXAMPLES / "judgements.jsonl", EXAMPLES / "social.json"
ALL = ("--restaurants", CONTEXTS, "--judgements", JUDGEMENTS, "--social", SOCIAL)


def attribute(name: str, value: str) -> dict[str, Any]:
    return {"aspect": name.lower(), "evidence": {"kind": "item_meta", "path": ["attributes", name], "true": value}}


TV, WIFI, DOGS, KIDS = (attribute(name, "True") for name in ("TV", "WiFi", "Dogs", "Kids"))


def request(id: str, gold: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    shorthand = f"AND({', '.join(condition['aspect'] for condition in conditions)})"
    return {
        "id": id, "group": "G01", "scenario": "Somebody", "text": "Something.", "shorthand": shorthand,
        "structure": {"op": "AND", "args": list(conditions)}, "gold_restaurant": gold,
    }  # fmt: skip


def restaurant(id: str, **attributes: str) -> dict[str, Any]:
    return {"business_id": id, "name": f"The {id.title()}", "attributes": attributes, "reviews": []}


PLACES = [
    restaurant("ant", TV="True", WiFi="True", Dogs="True"),
    restaurant("bee", TV="True", WiFi="True", Dogs="False"),
    restaurant("cow", TV="False", Kids="True"),
]
LINES = [
    request("R01", "ant", TV, WIFI, DOGS), request("R02", "ant", TV, WIFI), request("R03", "cow", TV, DOGS),
    request("R04", "cow", KIDS, WIFI), request("R05", "yak", KIDS), request("R06", "cow", TV),
]  # fmt: skip
STATUSES = ["ok", "multi_match", "gold_not_match", "no_match", "gold_not_match", "gold_not_match"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Requests of every status, and their restaurants, without reviews."""
    return write_lines(tmp_path / "requests.jsonl", *LINES), write_lines(tmp_path / "restaurants.jsonl", *PLACES)


def validate_files(files: tuple[Path, Path], *arguments: object) -> Outcome:
    return command("validate", files[0], "--restaurants", files[1], *arguments)


def test_all_examples_are_ok(tmp_path: Path) -> None:
    """Every example request matches its own restaurant and no other; matrix and lines say the same."""
    matrix, out = tmp_path / "deep" / "matrix.json", tmp_path / "out.jsonl.gz"
    done = command("validate", REQUESTS, *ALL, "--matrix", matrix, "--out", out)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "24 requests, 14 restaurants, 215 reviews: 24 ok"
    rows = json.loads(matrix.read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in gzip.decompress(out.read_bytes()).decode().splitlines()]
    contexts = [line["business_id"] for line in read_lines(CONTEXTS)]
    assert [line["request_id"] for line in lines] == list(rows) == [line["id"] for line in read_lines(REQUESTS)]
    for line in lines:
        assert set(line) == {"request_id", "gold_restaurant", "matches", "status"}
        row = rows[line["request_id"]]
        assert list(row) == contexts
        assert set(row.values()) <= {1, 0, -1}
        assert [id for id, truth in row.items() if truth == 1] == line["matches"] == [line["gold_restaurant"]]


def test_two_files_are_as_good_as_one(tmp_path: Path) -> None:
    """Restaurants and reviews in two files give what contexts give."""
    contexts = read_lines(CONTEXTS)
    restaurants = write_lines(
        tmp_path / "r.jsonl", *[line["business"] | {"business_id": line["business_id"]} for line in contexts]
    )
    rows = [review | {"business_id": line["business_id"]} for line in contexts for review in line["reviews"]]
    reviews = write_lines(tmp_path / "v.jsonl", *reversed(rows))
    arguments = ("--restaurants", restaurants, "--reviews", reviews, "--judgements", JUDGEMENTS, "--social", SOCIAL)
    done = command("validate", REQUESTS, *arguments, "--matrix", tmp_path / "two.json")
    assert done.status == 0, done.err
    one = command("validate", REQUESTS, *ALL, "--matrix", "-")
    assert json.loads(one.out) == json.loads((tmp_path / "two.json").read_text())


def test_texts_alone(tmp_path: Path) -> None:
    """Without judgements patterns are looked for in the texts; what needs judgements is unknown, and that is said."""
    done = command("validate", REQUESTS, "--restaurants", CONTEXTS, "--social", SOCIAL, "--out", "-")
    assert done.status == 1
    assert {line["request_id"] for line in done.results if line["status"] != "ok"} == {"R35", "R81"}
    assert "note: 2 conditions on judgements and no --judgements: they are unknown" in done.err
    assert "? wait_complaints: no judgements are given" in done.err
    alone = command("validate", REQUESTS, "--restaurants", CONTEXTS, "--judgements", JUDGEMENTS)
    assert "note: 4 conditions with a social filter and no --social: only those named count" in alone.err


def test_statuses(files: tuple[Path, Path]) -> None:
    """Each status as its name says; exit status 1 unless all are ok."""
    done = validate_files(files, "--out", "-")
    matches = [["ant"], ["ant", "bee"], ["ant"], [], ["cow"], ["ant", "bee"]]
    assert [(line["status"], line["matches"]) for line in done.results] == [*zip(STATUSES, matches, strict=True)]
    assert done.status == 1


def test_reasons(files: tuple[Path, Path], pytestconfig: pytest.Config) -> None:
    """A request that is not ok has its decisive condition, its rivals, and the missing data."""
    check_text(HERE / "validated.txt", validate_files(files).out, pytestconfig)


def test_tables_on_a_terminal(files: tuple[Path, Path]) -> None:
    """People get a progress bar and a table for each group, in colours unless they want none; a dumb terminal gets lines."""
    arguments = ("validate", files[0], "--restaurants", files[1])
    screen, _ = on_terminal(*arguments, columns=120, TERM="xterm-256color")
    assert "━ 3/3 restaurants, The Cow" in click.unstyle(screen)
    assert "\x1b[33mmulti_match" in screen
    colorless, _ = on_terminal(*arguments, columns=120, TERM="xterm-256color", NO_COLOR="1")
    assert "\x1b[33m" not in colorless
    plain = click.unstyle(colorless)
    table = [line.strip() for line in plain[plain.index("G01 Simple AND: 1 of 6 ok") :].splitlines()]
    assert [table[1], table[2].split()] == ["", ["request", "status", "scenario", "gold", "restaurant", "why"]]
    assert re.fullmatch(r"R02 +multi_match +Somebody +The Ant +matches too: The Bee \(bee\)", table[5])
    assert table[7] == "✗ tv: attributes.TV is False, asked to be True"
    assert table[-1] == "6 requests, 3 restaurants, 0 reviews: 1 ok, 1 multi_match, 1 no_match, 3 gold_not_match"
    dumb, _ = on_terminal(*arguments, columns=120, TERM="dumb", NO_COLOR="1")
    assert [click.unstyle(line) for line in dumb.splitlines()] == validate_files(files).out.splitlines()


def test_suggestions_fix(files: tuple[Path, Path], tmp_path: Path) -> None:
    """A suggestion for a request makes it ok: a condition more, one less, or one in place of another.

    A request that is not ok and has none says so. Explanations end with the same lines.
    """
    assert find_suggestions(files) == ["add `dogs`", None, "leave out `wifi`", None, "replace `tv` by `kids`"]
    explained = [argument for line in LINES[1:3] for argument in ("--explain", line["id"])]
    assert find_suggestions(files, *explained) == ["add `dogs`", None]
    fixed = [request("R02", "ant", TV, WIFI, DOGS), request("R04", "cow", KIDS), request("R06", "cow", KIDS)]
    again = validate_files((write_lines(tmp_path / "fixed.jsonl", *fixed), files[1]))
    assert again.status == 0, again.out


def find_suggestions(files: tuple[Path, Path], *arguments: str) -> list[str | None]:
    """Return the suggestions of each request in turn; None for one that says that there is none."""
    lines = [line.strip() for line in validate_files(files, "--suggest", *arguments).out.splitlines()]
    suggestions = [line for line in lines if "suggestion" in line]
    return [None if line == "no suggestion found" else line.split("suggestion: ")[1] for line in suggestions]


def test_two_conditions_are_proposed_where_one_does_not_do(tmp_path: Path) -> None:
    """If every single condition leaves a rival, a pair that leaves none is proposed."""
    attributes = {"ant": ("TV", "WiFi", "Dogs"), "bee": ("TV", "WiFi"), "cow": ("TV", "Dogs")}
    places = [restaurant(id, **dict.fromkeys(names, "True")) for id, names in attributes.items()]
    lines = [request("R01", "ant", TV), request("R02", "ant", WIFI, DOGS)]
    files = (write_lines(tmp_path / "q.jsonl", *lines), write_lines(tmp_path / "r.jsonl", *places))
    assert find_suggestions(files) == ["add `wifi` and `dogs`"]


def test_explain(files: tuple[Path, Path], pytestconfig: pytest.Config) -> None:
    """The tree with the value at every node, for the gold restaurant and the nearest rivals, the nearest first."""
    done = validate_files(files, "--explain", "R02")
    assert done.status == validate_files(files, "--explain", "R01").status == 1, "the status is that of all requests"
    check_text(HERE / "explained.txt", done.out, pytestconfig)


def test_without_a_gold_restaurant_no_restaurant_is_a_rival(files: tuple[Path, Path], tmp_path: Path) -> None:
    """The only match of a structure alone is the right answer."""
    structure = write_json(tmp_path / "structure.json", LINES[0]["structure"])
    done = validate_files((structure, files[1]), "--explain", "structure 1")
    assert (done.status, "rival" in done.out) == (0, False)
    assert "restaurant: The Ant (ant): satisfied" in done.out.splitlines()


def test_every_example_is_explained() -> None:
    """Every kind of evidence has words for what was found."""
    ids = [argument for line in read_lines(REQUESTS) for argument in ("--explain", line["id"])]
    done = command("validate", REQUESTS, *ALL, *ids)
    assert done.status == 0
    for words in (
        "✓ hours_friday_late: hours.Friday is 10:30-2:0, asked for 23:00-1:00",
        "✓ review_meta_elite: 8 reviews, 2 meeting it, asked for 2",
        "7 reviews in the group, 4.71 stars on average, asked for avg_stars gte 4.5",
        "✓ not_only_easy_raters: easy raters give",
        "6 negative on `wait`",
        "3 reviews by Juno and those 1 hop away, 1 positive and 0 negative on `jackfruit`",
        "4 reviews by Skip and those 2 hops away, 4 with 4 stars or more",
        "1 judged positive on `patio`",
        "2 of them credible (review_count of 88 or more), asked for 2",
        "attributes.Ambience has divey, casual",
    ):
        assert words in done.out, words


def test_conditions(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Every condition once, with who satisfies it and of whom that is unknown, the rarest first."""
    path = tmp_path / "conditions.json"
    validate_files(files, "--conditions", path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert [entry["aspects"] for entry in document] == [["dogs"], ["kids"], ["tv"], ["wifi"]]
    ids = {"restaurants": ["ant"], "unknown": ["cow"], "requests": ["R01", "R03"]}
    assert document[0] == {"aspects": ["dogs"], "evidence": DOGS["evidence"], "count": 1, **ids}


def test_a_friend_whom_nobody_knows_is_noted(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Neither a name of the graph, even without friends, nor the user of a review; a similar one is proposed."""
    people = {"friends": ["Anna", "Ben", "Cleo", "Zoe", "Alice"], "hops": 1}
    liked = {"aspect": "liked", "evidence": {"kind": "social_rating", "social_filter": people}}
    review = {"review_id": "v1", "text": "Fine.", "stars": 5, "user": {"name": "Zoe"}}
    line = {**request("R91", "ant", liked), "group": "G09", "shorthand": "liked"}
    social = write_json(tmp_path / "social.json", {"friend_graph": {"Ana": ["Ben"], "Cleo": []}})
    written = (write_lines(files[0], line), write_lines(files[1], {**PLACES[0], "reviews": [review]}))
    lines = validate_files(written, "--social", social).err.splitlines()
    assert [line for line in lines if line.startswith("note: nobody")] == [
        "note: nobody is called `Anna` in the social graph or the reviews; did you mean `Ana`?",
        "note: nobody is called `Alice` in the social graph or the reviews; there are: `Ana`, `Cleo`, `Ben` and 1 more",
    ]
    assert "note: nobody is called `Alice` in the reviews; there are: `Zoe`\n" in validate_files(written).err


def test_groups_are_chosen(files: tuple[Path, Path]) -> None:
    """`--group` looks at those alone; one that there is not is wrong usage."""
    done = command("validate", REQUESTS, *ALL, "--group", "G09, G10", "--out", "-")
    assert [line["request_id"] for line in done.results] == ["R81", "R82", "R91", "R92"]
    for option, name, message in (
        ("--group", "G9", "there is no group `G9`; did you mean `G09`?"), ("--explain", "R99", "there is no request `R99`"),
    ):  # fmt: skip
        wrong = validate_files(files, option, name)
        assert (wrong.status, message in wrong.err) == (2, True)


BROKEN: list[Any] = [
    {**LINES[0], "id": " R1"}, request("R07", "ant", {"aspect": "x", "evidence": {"kind": "item_metaa"}}),
    b'{"id": "R08", "group": "G01"', {**LINES[1], "id": "R03"}, {**LINES[1], "id": "R10", "more": 1},
    {"id": "R11", "group": "G02"}, b"[1]",
    {**LINES[1], "id": "R09", "gold_restaurant": 7, "scenario": "\x1b[31m" + "long" * 30},
]  # fmt: skip


@pytest.fixture
def mixed(files: tuple[Path, Path]) -> tuple[Path, Path]:
    """The requests of every status with invalid ones between them."""
    return write_lines(files[0], *LINES[:3], *BROKEN, *LINES[3:]), files[1]


def test_a_request_with_errors_is_invalid_and_the_others_are_validated(
    files: tuple[Path, Path], mixed: tuple[Path, Path], tmp_path: Path
) -> None:
    """Whatever is wrong with a line, every other has the status and the row that it has without it; exit status 1."""
    sound = validate_files((write_lines(tmp_path / "sound.jsonl", *LINES), files[1]), "--matrix", "-")
    done = validate_files(mixed, "--matrix", tmp_path / "matrix.json", "--out", tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "matrix.json").read_text()) == json.loads(sound.out)
    results = read_lines(tmp_path / "out.jsonl")
    assert [line["status"] for line in results] == [*STATUSES[:3], *["invalid"] * len(BROKEN), *STATUSES[3:]]
    invalid = [line for line in results if line["status"] == "invalid"]
    assert [(line["request_id"], line["gold_restaurant"], len(line["errors"])) for line in invalid] == [
        (" R1", "ant", 1), ("R07", "ant", 1), (None, None, 1), ("R03", "ant", 1), ("R10", "ant", 1), ("R11", None, 5),
        (None, None, 1), ("R09", None, 1),
    ]  # fmt: skip
    for number, line in enumerate(invalid, 4):
        assert list(line) == ["request_id", "gold_restaurant", "matches", "status", "errors"]
        assert line["matches"] == []
        assert all(error.startswith(f"{mixed[0]}:{number}:") for error in line["errors"])
    assert invalid[0]["errors"] == [f"{mixed[0]}:4:8: FS811 ` R1` cannot be the id of a request"]
    assert all("errors" not in line for line in results if line["status"] != "invalid")
    counts = "1 ok, 1 multi_match, 1 no_match, 3 gold_not_match, 8 invalid"
    assert (done.status, done.out.splitlines()[-1]) == (1, f"14 requests, 3 restaurants, 0 reviews: {counts}")


def test_invalid_requests_are_listed_with_their_errors(mixed: tuple[Path, Path], pytestconfig: pytest.Config) -> None:
    """In the table of their group where they say one, else in one of their own: by id, or by the line."""
    done = validate_files(mixed)
    check_text(HERE / "invalid.txt", done.out.replace(f"{mixed[0]}:", "requests.jsonl:"), pytestconfig)
    assert f"{mixed[0]}: 12 errors; see `formulaseed check {mixed[0]}`\n" in done.err
    screen = click.unstyle(on_terminal("validate", mixed[0], "--restaurants", mixed[1], columns=120)[0])
    listed = [line.split()[:2] for line in screen.splitlines() if " invalid " in line]
    assert listed[:2] == [["R1", "invalid"], ["R07", "invalid"]]


def test_a_file_of_invalid_requests(files: tuple[Path, Path]) -> None:
    """All of them are listed; a file that is none of requests is refused as a whole, with its diagnostics."""
    write_lines(files[0], *BROKEN[:2])
    done = validate_files(files, "--matrix", "-")
    assert (done.status, json.loads(done.out)) == (1, {})
    assert "2 requests, 3 restaurants, 0 reviews: 2 invalid" in done.err
    for content, code in ((b"", "FS509"), (b'{\n"id" 1\n}\n', "FS001"), (b"\xff\n", "FS002")):
        files[0].write_bytes(content)
        done = validate_files(files)
        assert (done.status, done.out, f"error[{code}]" in done.err) == (1, "", True)


def test_groups_of_invalid_requests_are_chosen_too(mixed: tuple[Path, Path]) -> None:
    """One of another group is left out; one of an unknown group could be of any, and is listed."""
    done = validate_files(mixed, "--group", "G02", "--out", "-")
    results = [(line["request_id"], line["status"]) for line in done.results]
    assert (done.status, results) == (1, [(None, "invalid"), ("R11", "invalid"), (None, "invalid")])


def test_an_invalid_request_is_explained_by_its_diagnostics(
    mixed: tuple[Path, Path], pytestconfig: pytest.Config
) -> None:
    """The output has the diagnostics of its line, and of no other; a valid request with the same id is explained beside it."""
    done = validate_files(mixed, "--explain", "R07", "--explain", "R03")
    assert done.status == 1
    check_text(HERE / "invalid_explained.txt", done.out.replace(f"{mixed[0]}:", "requests.jsonl:"), pytestconfig)


def test_a_shorthand_that_disagrees_is_a_warning(files: tuple[Path, Path]) -> None:
    """The structure decides: statuses and matrix are those of the structures, and the warnings are counted."""
    before = validate_files(files, "--matrix", "-")
    wrong = ["AND(tv, wifi, dogs, kids, bar)", "OR(tv, wifi)", "AND(tv", "NOT(tv)", "a" * 40_000]
    write_lines(files[0], *[{**line, "shorthand": text} for line, text in zip(LINES, wrong, strict=False)], LINES[5])
    done = validate_files(files, "--matrix", "-")
    assert done.out == before.out
    assert done.err == f"{files[0]}: 5 warnings; see `formulaseed check {files[0]}`\n{before.err}"


def test_a_path_without_values_is_reported(files: tuple[Path, Path]) -> None:
    """An attribute that no restaurant has was probably misspelt: the near one is named."""
    write_lines(files[0], request("R01", "ant", attribute("WiFY", "True")))
    assert "note: no restaurant has `attributes.WiFY`; did you mean `WiFi`?" in validate_files(files).err


BAD_REVIEW = {"review_id": "v1", "business_id": "ant", "text": "tea", "stars": "5"}
REVIEW = {**BAD_REVIEW, "stars": 5}
DOG: dict[str, Any] = {"business_id": "dog"}
TEA = {"review_id": "v1", "aspect": "tea"}


@pytest.mark.parametrize(
    ("option", "line", "reason"),
    [
        ("--restaurants", b"{", ":4: not JSON"),
        ("--restaurants", {**DOG, "attributes": [], "reviews": []}, "`attributes` must be an object"),
        ("--restaurants", {**DOG, "hours": "always", "reviews": []}, "`hours` must be an object"),
        ("--restaurants", {**DOG, "review": []}, ":4: `reviews` is missing, but there is `review`"),
        ("--restaurants", DOG, ":4: `reviews` is missing"), ("--restaurants", PLACES[0], ":4: the restaurant ant appears on"),
        ("--restaurants", {"name": "x"}, ":4: `business_id` is missing"), ("--reviews", BAD_REVIEW, ":1: `stars`"),
        ("--reviews", {**REVIEW, "user": {"name": 3}}, "`user.name` must be a string"),
        ("--reviews", {**REVIEW, "business_id": "emu"}, "1 review names emu"),
        ("--judgements", {**TEA, "judgement": "good"}, ":2: `judgement`"),
        ("--judgements", {"review_id": "v1", "judgement": "positive"}, ":2: `aspect` is missing"),
        ("--judgements", {**TEA, "judgement": "negative"}, ":2: the review v1 was judged positive on `tea` already"),
    ],
)  # fmt: skip
def test_bad_lines_are_listed(option: str, line: object, reason: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    """A line that cannot be used is reported with its place and reason; the rest is written, and the exit status is 3."""
    before = {"--restaurants": PLACES, "--reviews": [], "--judgements": [{**TEA, "judgement": "positive"}]}[option]
    path = write_lines(tmp_path / "data.jsonl", *before, line)
    paths = {"--restaurants": files[1], option: path}
    done = command("validate", files[0], "--out", "-", *(part for pair in paths.items() for part in pair))
    assert (done.status, len(done.results)) == (3, len(LINES))
    reported = next(line for line in done.err.splitlines() if line.startswith("failed: "))
    assert (str(path) in reported, reason in reported) == (True, True), reported


def test_a_restaurant_with_a_bad_review_is_left_out(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Nothing is said of a restaurant that is not fully known; a request for it says why."""
    reviews = write_lines(tmp_path / "reviews.jsonl", BAD_REVIEW)
    done = validate_files(files, "--reviews", reviews, "--matrix", "-")
    assert done.status == 3
    assert all(set(row) == {"bee", "cow"} for row in json.loads(done.out).values())
    assert f"the gold restaurant cannot be used: {files[1]}:1: a review of it cannot be used ({reviews}:1)" in done.err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", ":1:2: not JSON"), ("[]", "a social graph is an object"), ("{}", "`friend_graph` is missing"),
        ('{"friend_graph": {"Ana": "Ben"}}', "`friend_graph.Ana` must be a list"),
        ('{"friend_graph": {"Ana": [1]}}', "`friend_graph.Ana[0]` must be a string"),
        ("[" * 100_000, "objects and lists are nested too deep"),
    ],
)  # fmt: skip
def test_a_bad_social_graph_is_refused(content: str, reason: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    """Circles would be wrong for every request, so nothing is evaluated."""
    path = tmp_path / "social.json"
    path.write_text(content)
    done = validate_files(files, "--social", path)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"formulaseed: {path}")
    assert reason in done.err


@pytest.mark.parametrize("option", ["--restaurants", "--reviews", "--judgements", "--social"])
def test_a_file_that_is_not_there(option: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    """Wrong usage, reported in one line."""
    paths = {"--restaurants": files[1], option: tmp_path / "nowhere.jsonl"}
    done = formulaseed("validate", files[0], *(part for pair in paths.items() for part in pair))
    assert (done.status, done.out, "cannot read" in done.err) == (2, "", True)


def test_no_input_is_overwritten(files: tuple[Path, Path]) -> None:
    """An output that is one of the inputs is refused, and so are two outputs to one place."""
    before = files[1].read_bytes()
    unnamed = files[1].rename(files[1].with_suffix(""))  # a name without a suffix is one of any format
    for option in ("--out", "--matrix", "--conditions"):
        done = validate_files((files[0], unnamed), option, unnamed)
        assert (done.status, "it is one of the inputs" in done.err) == (2, True)
    assert unnamed.rename(files[1]).read_bytes() == before
    assert validate_files(files, "--out", "-", "--matrix", "-").status == 2


def test_from_python(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Paths or values, the same result: plain, frozen, with what could not be used in `failures`."""
    validation = validate_requests(files[0], restaurants=files[1])
    data: dict[str, Any] = {"reviews": [], "judgements": [], "social": {"friend_graph": {}}}
    assert validation == validate_requests(LINES, restaurants=PLACES, **data)
    assert ([result.status for result in validation.results], validation.ok) == (STATUSES, False)
    assert validation.matrix["R01"] == {"ant": 1, "bee": -1, "cow": -1}
    assert validate_requests(LINES[:1], restaurants=PLACES).ok
    second = validate_requests([{**LINES[1], "gold_restaurant": "bee"}], restaurants=PLACES)
    assert second.results[0].status == "multi_match"
    spoiled = validate_requests(LINES[:1], restaurants=[*PLACES, 3])  # type: ignore[list-item]
    assert (spoiled.ok, spoiled.failures) == (False, ("<restaurants>:4: it must be an object, not int",))
    with pytest.raises(AttributeError):
        validation.results[0].status = "ok"  # type: ignore[misc]
    with pytest.raises(SeedError):
        validate_requests([], restaurants=PLACES)
    wrong: list[dict[str, Any]] = [
        {"restaurants": 3},
        {"restaurants": [], "social": write_json(tmp_path / "s.json", [])},
    ]
    for arguments in wrong:
        with pytest.raises(DataError):
            validate_requests(LINES, **arguments)
    assert {"load_requests", "validate_requests", "Validation", "RequestResult"} <= set(package.__all__)


def test_invalid_requests_from_python() -> None:
    """They are results too, in the file's order, and have no row; `load_requests` takes all or nothing."""
    lines = [LINES[0], {"id": "R02", "group": "G01", "text": 3}, 4, LINES[2]]
    validation = validate_requests(lines, restaurants=PLACES)
    assert [result.status for result in validation.results] == ["ok", "invalid", "invalid", "gold_not_match"]
    assert (list(validation.matrix), validation.ok) == (["R01", "R03"], False)
    sound, invalid, number = validation.results[:3]
    assert (invalid.request_id, invalid.group, invalid.gold_restaurant, invalid.matches) == ("R02", "G01", None, ())
    assert invalid.to_json()["errors"] == list(invalid.errors)
    message = "<requests>:3:1: FS503 a request must be an object, not a number"
    assert (number.request_id, number.group, number.errors, sound.errors) == (None, None, (message,), ())
    with pytest.raises(SeedError) as refused:
        load_requests(lines)
    assert "\n".join([*invalid.errors, *number.errors]) == str(refused.value)


HOSTILE = [
    "__import__('os').system('x')",
    "{" * 50_000,
    "{'a': " * 300,
    "u'" + "\\" * 999,
    "\x00",
    "{'a': " + "9" * 1901 + "}",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:10]))
def test_hostile_attributes_are_texts(text: str) -> None:
    """Whatever an attribute holds is compared, never run, and never fails."""
    places = [restaurant("ant", TV=text), restaurant("bee", TV="True")]
    validation = validate_requests([request("R01", "ant", TV)], restaurants=places)
    assert (validation.matrix["R01"], validation.failures) == ({"ant": -1, "bee": 1}, ())


@pytest.mark.thorough
def test_speed(tmp_path: Path) -> None:
    """A hundred requests on fifty restaurants with a thousand reviews: nothing out of all proportion.

    The aim of two seconds is measured by `make bench`; the bound leaves a slow or busy machine several times that.
    """
    lines = [
        {**line, "id": f"R{number + 1:02d}", "group": f"G{number // 10 + 1:02d}"}
        for number, line in enumerate((read_lines(REQUESTS) * 5)[:100])
    ]
    contexts = (read_lines(CONTEXTS) * 4)[:50]
    places = [{**line, "business_id": f"{line['business_id']}-{number}"} for number, line in enumerate(contexts)]
    reviews = places[0]["reviews"]
    missing = max(0, 970 - sum(len(place["reviews"]) for place in places))
    more = [{**reviews[at % len(reviews)], "review_id": f"more-{at}"} for at in range(missing)]
    places[0]["reviews"] = [*reviews, *more]
    requests, restaurants = write_lines(tmp_path / "q.jsonl", *lines), write_lines(tmp_path / "r.jsonl", *places)
    started = time.process_time()
    done = command("validate", requests, "--restaurants", restaurants, "--social", SOCIAL)
    assert "100 requests, 50 restaurants" in done.out, done.err
    assert time.process_time() - started < 8.0
