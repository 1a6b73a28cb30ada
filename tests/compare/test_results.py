"""Two files of results: verdicts that moved and outputs that changed are those of the lines with the same key."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="results are compared with pyarrow")

import formulaseed as library  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from formulaseed.compare import outcomes, results  # noqa: E402
from helpers import command, tiny_row, tiny_rows, tiny_seed, write_json, write_lines  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

run = partial(command, "diff")
VALUES = st.fixed_dictionaries({
    "N": st.one_of(st.none(), st.integers(0, 2)),
    "SHARE": st.one_of(st.none(), st.sampled_from([0.0, -0.0, 0.5, 0.5 + 1e-15])),
    "VERDICT": st.sampled_from(["good", "bad"]),
    "error_kind": st.sampled_from([None, None, "domain", "data"]),
})  # fmt: skip
SCHEMA = pa.schema([("business_id", pa.string()), ("N", pa.int64()), ("SHARE", pa.float64()), ("VERDICT", pa.string()),
                    *((f"error_{name}", pa.string()) for name in ("step", "kind", "message"))])  # fmt: skip
FAILED = {"N": None, "SHARE": None, "VERDICT": None, "error_step": "SHARE", "error_message": "m"}


def complete(values: dict[str, Any]) -> dict[str, Any]:
    """A line of results; a restaurant that failed has no outputs."""
    return {**values, **(FAILED if values["error_kind"] else {"error_step": None, "error_message": None})}


def write_table(path: Path, lines: dict[str, Any]) -> Path:
    records = [{"business_id": id, **complete(values)} for id, values in lines.items()]
    pq.write_table(pa.Table.from_pylist(records, SCHEMA), path)
    return path


RESULTS = st.dictionaries(st.sampled_from("abcdef"), VALUES, min_size=1)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(RESULTS, RESULTS)
@pytest.mark.thorough
def test_lines_are_compared_by_their_key(tmp_path: Path, old: Any, new: Any) -> None:
    """The matrix, the changed outputs, and the restaurants of one file only, whatever the order of lines."""
    paths = write_table(tmp_path / "old.parquet", old), write_table(tmp_path / "new.parquet", new)
    found_outcomes = library.diff_results(*paths, key="business_id").outcomes
    verdicts = [
        {id: None if line["error_kind"] else line["VERDICT"] for id, line in side.items()} for side in (old, new)
    ]
    common = old.keys() & new.keys()
    assert found_outcomes.matrix == Counter((verdicts[0][id], verdicts[1][id]) for id in common)
    changed = {}
    for id in common:
        if old[id]["error_kind"] is new[id]["error_kind"] is None:
            pairs = {name: (old[id][name], new[id][name]) for name in ("N", "SHARE", "VERDICT")}
            changed[id] = {name for name, (x, y) in pairs.items() if x != y and {x, y} != {0.5, 0.5 + 1e-15}}
        else:
            changed[id] = set()
    moved = {id for id in common if changed[id] or verdicts[0][id] != verdicts[1][id]}
    assert {change.business_id: {*change.changed} for change in found_outcomes.changes} == {
        id: changed[id] for id in moved
    }
    assert {lone.business_id: lone.verdict for lone in found_outcomes.gone} == {
        id: verdicts[0][id] for id in old.keys() - new.keys()
    }
    assert {lone.business_id for lone in found_outcomes.new} == new.keys() - old.keys()


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Results of `evaluate` before and after two reviews, as JSON Lines and as Parquet, and results of `score`."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    files = []
    for name, mood in (("old", "good"), ("new", "bad")):
        lines = [tiny_rows(id, tiny_row("r0"), tiny_row("r1", mood)) for id in ("b0", "b1")]
        rows = write_lines(tmp_path / f"{name}_rows.jsonl", *lines, tiny_rows("failing", tiny_row("r0", "none")))
        for command_name, suffix in (
            ("evaluate", "jsonl"),
            ("evaluate", "parquet"),
            ("score", "jsonl"),
            ("score", "parquet"),
        ):
            files.append(tmp_path / f"{name}_{command_name}.{suffix}")
            assert command(command_name, seed, "--rows", rows, "--out", files[-1]).status == 3
    return files


@pytest.mark.parametrize(("old", "new"), [(0, 4), (1, 5), (2, 6), (3, 7), (0, 7), (2, 5)])
@pytest.mark.thorough
def test_results_of_every_command(paths: list[Path], old: int, new: int) -> None:
    """Also where the two come from different commands, and in different formats."""
    done = run(paths[old], paths[new], "--key", "business_id")
    assert done.status == 0, done.err
    assert "VERDICT changes for 2 of 3 restaurants; 1 failed before, 1 after." in done.out
    assert [line.split() for line in done.out.splitlines() if line.startswith("  b0 ")] == [
        ["b0", "good", "bad", "1", "0.5", "-0.5"]
    ]
    assert run(paths[old], paths[old], "--key", "business_id", "--fail-on", "outputs").status == 0
    assert run(paths[old], paths[new], "--key", "business_id", "--fail-on", "verdicts").status == 1


def test_long_lists_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In text after 20 restaurants, in JSON and on the page later, with the number of all."""
    monkeypatch.setattr(results, "MAX_ON_PAGE", 30)
    monkeypatch.setattr(outcomes, "MAX_ON_PAGE", 30)
    values = {"N": 1, "SHARE": 0.5, "VERDICT": "good", "error_kind": None}
    old = write_table(tmp_path / "old.parquet", {f"b{number:02}": values for number in range(40)})
    new = write_table(tmp_path / "new.parquet", {f"b{number:02}": {**values, "N": 2} for number in range(50)})
    difference = library.diff_results(str(old), new, key="business_id")
    assert "Restaurants with other results, the first 20 of 40" in difference.text
    assert (difference.html.count("<td><code>b"), "the first 30 of 40" in difference.html) == (30 + 10, True)
    data = json.loads(json.dumps(difference.json))["data"]
    assert [(len(data[name]), data[f"{name}_restaurants"]) for name in ("differing", "gone", "new")] == [
        (30, 40), (0, 0), (10, 10),
    ]  # fmt: skip
    assert data["matrix"] == [{"old": "good", "new": "good", "restaurants": 40}]
    number = library.diff_results(old, new, key="business_id", output="N").outcomes
    assert (number.pairing.verdict, number.score) == (None, "N")


LINE = {"business_id": "a", "N": 1, "VERDICT": "good", "error_step": None, "error_kind": None, "error_message": None}


@pytest.mark.parametrize(
    ("old", "options", "message"),
    [
        ([LINE], {"key": "business"}, "has no column `business`; did you mean `business_id`?"),
        ([{"business_id": "a", "N": 1}], {}, "has no column `error_step`"),
        (
            [LINE, LINE, {**LINE, "business_id": "b"}],
            {},
            "has 2 lines with the `business_id` 'a': results have one line",
        ),
        ([LINE, {**LINE, "business_id": None}], {}, "has 1 line without a `business_id`"),
        ([{**LINE, "M": 1}], {}, r"the columns differ: `M`: number in .*, missing in "),
        ([{**LINE, "N": "1"}], {}, r"the columns differ: `N`: string in .*, number in "),
        ([{**LINE, "N": [1]}], {}, r"the columns differ: `N`: list.* in .*, number in "),
        ([LINE, {**LINE, "N": "1"}], {}, "cannot read "),
        ([LINE, [1]], {}, "old.jsonl:2: "),
        ([LINE], {"output": "VERDIC"}, "there is no output `VERDIC`; did you mean `VERDICT`?"),
        ([{**LINE, "business_id": f"{n}", "VERDICT": f"{n}"} for n in range(13)], {"output": "VERDICT"}, "no verdict"),
    ],
)
def test_what_cannot_be_compared_is_refused(old: Any, options: Any, message: str, tmp_path: Path) -> None:
    """With the file and the column, and nothing else than our errors."""
    paths = write_lines(tmp_path / "old.jsonl", *old), write_lines(tmp_path / "new.jsonl", LINE)
    with pytest.raises(library.DataError, match=message):
        library.diff_results(*paths, **{"key": "business_id", **options})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    text = tmp_path / "text.parquet"
    text.write_text("no")
    for path, message in (
        (text, "cannot read"),
        (tmp_path / "none.jsonl", "none.jsonl"),
        ({}, "are a file that ends in"),
    ):
        with pytest.raises(library.DataError, match=message):
            library.diff_results(path, path, key="business_id")


def test_wrong_usage_of_the_command(tmp_path: Path) -> None:
    """Results and seeds have different options, and cannot be compared with each other."""
    seed, lines = write_json(tmp_path / "seed.json", tiny_seed()), write_lines(tmp_path / "results.jsonl", LINE)
    for arguments, message in (
        ((lines, lines), "results need --key"), ((seed, lines, "--key", "a"), "must both be seeds"),
        ((lines, lines, "--key", "a", "--rows", lines), "without rows"), ((seed, seed, "--key", "a"), "--key is for results"),
        ((lines, lines, "--key", "a", "--fail-on", "extraction"), "without rows, parameters, --expected, --prove and"),
        ((lines, lines, "--key", "a", "--expected", lines), "without rows, parameters, --expected, --prove and"),
    ):  # fmt: skip
        done = run(*arguments)
        assert (done.status, message in done.err) == (2, True), done.err
    assert run(lines, lines, "--key", "a").status == 1
