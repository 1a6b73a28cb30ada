"""`score --since`: results of which only changed restaurants were evaluated are those of a full run, in every value."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("duckdb", reason="the engine needs duckdb")

import formulaseed as library  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from formulaseed.data.scored import merge_batches  # noqa: E402
from formulaseed.errors import DataError, UnreadableError  # noqa: E402
from formulaseed.runtime.scoring import score_tables  # noqa: E402
from formulaseed.runtime.tables import ScoreOptions  # noqa: E402
from formulaseed.testing import contexts, rows  # noqa: E402
from helpers import IS_DEEP, command, tiny_row, tiny_rows, tiny_seed, write_json, write_lines  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scoring import build_tables, mood_seed, tiny_tables  # noqa: E402

SEED = library.load_seed(tiny_seed())
EVALUATOR = library.load_evaluator(SEED)
RECORDS = st.tuples(rows(SEED), contexts(SEED))


def score(restaurants: Any, order: list[str], **options: Any) -> tuple[Any, Counter[str]]:
    """The results of tables in which restaurants and their rows are in the order of `order`, and the counts."""
    tables = build_tables(SEED.program, {id: restaurants[id] for id in order})
    return score_tables(
        SEED,
        EVALUATOR,
        *tables,
        ScoreOptions(fingerprint=True, **options),
        lambda results: (merge_batches(results.batches, results.schema), results.counts),
    )


@st.composite
def changed_restaurants(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Restaurants, and the same ones with some added, removed, with other rows in any order, or another context."""
    old = {f"b{at}": record for at, record in enumerate(draw(st.lists(RECORDS, min_size=1, max_size=6)))}
    new = deepcopy(old)
    for id in draw(st.lists(st.sampled_from([*old]), unique=True)):
        lines, context = new[id]
        match draw(st.sampled_from(["remove", "rows", "row", "order", "context", "invalid"])):
            case "remove":
                del new[id]
            case "rows":
                new[id] = (draw(rows(SEED)), context)
            case "row" if lines:
                lines[draw(st.integers(0, len(lines) - 1))] = draw(rows(SEED).filter(bool))[0]
            case "order":
                new[id] = (draw(st.permutations(lines)), context)
            case "invalid" if lines:
                lines[-1]["extraction"]["mood"] = "none"
            case _:
                new[id] = (lines, draw(contexts(SEED)))
    added = draw(st.lists(RECORDS, max_size=2))
    new |= {f"a{at}": record for at, record in enumerate(added)} or {"a": draw(RECORDS)}
    for line in (line for lines, _ in (*old.values(), *new.values()) for line in lines):
        line["extraction"].setdefault("score", None)  # so that all tables have its column
        line.pop("review_id", None)  # no table has it
    return old, new


@settings(max_examples=1000 if IS_DEEP else 25, deadline=None, suppress_health_check=list(HealthCheck))
@given(changed_restaurants(), st.booleans(), st.sampled_from([None, {"LEAST": 3}]), st.randoms())
@pytest.mark.thorough
def test_results_are_those_of_a_full_run(
    tmp_path: Path, restaurants: Any, trace: bool, parameters: Any, random: Any
) -> None:
    """After any changes, also of parameters, in any order of the tables; the unchanged are not evaluated."""
    old, new = restaurants
    earlier = tmp_path / "earlier.parquet"
    pq.write_table(score(old, sorted(old), trace=trace)[0], earlier)
    order = random.sample([*new], len(new))
    full, full_counts = score(new, order, trace=trace, parameters=parameters)
    table, counts = score(new, order, trace=trace, parameters=parameters, since=earlier)
    assert table.equals(full, check_metadata=True)
    unchanged = sum(record == old.get(id) for id, record in new.items()) if parameters is None else 0
    assert counts.pop("unchanged") == unchanged
    assert +counts == +full_counts


def write_rows(path: Path, **moods: str) -> Path:
    return write_lines(path, *(tiny_rows(id, tiny_row("r0"), tiny_row("r1", mood)) for id, mood in moods.items()))


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_the_command_replaces_its_own_results(jobs: int, tmp_path: Path) -> None:
    """A second run with the same file evaluates what changed, and counts all restaurants."""
    seed, out = write_json(tmp_path / "seed.json", tiny_seed()), tmp_path / "out.parquet"
    first = write_rows(tmp_path / "first.jsonl", b0="good", b1="bad", b2="none")
    done = command("score", seed, "--rows", first, "--fingerprint", "--out", out)
    assert (done.status, "3 restaurants, 1 failed (1 data)" in done.err) == (3, True), done.err
    second = write_rows(tmp_path / "second.jsonl", a="bad", b0="good", b1="good", b2="none")
    done = command("score", seed, "--rows", second, "--since", out, "--out", out, "--jobs", jobs)
    assert (done.status, "4 restaurants, 1 failed (1 data); 2 unchanged, 2 evaluated" in done.err) == (3, True), (
        done.err
    )
    results = pq.read_table(out)
    assert results.equals(library.score(tiny_seed(), second, fingerprint=True), check_metadata=False)
    assert results.column("VERDICT").to_pylist() == ["bad", "good", "good", None]
    assert json.loads(results.schema.metadata[b"formulaseed"])["task"] == "Tiny-1"


def test_rows_without_a_restaurant_are_counted(tmp_path: Path) -> None:
    """Also those of restaurants that are not evaluated, so that `--strict` refuses them."""
    table, places = tiny_tables()
    earlier, out = tmp_path / "earlier.parquet", tmp_path / "out.parquet"
    for name, lines in (("rows", table), ("contexts", places.slice(0, 2))):
        pq.write_table(lines, tmp_path / f"{name}.parquet")
    arguments = (write_json(tmp_path / "seed.json", mood_seed()), "--rows", tmp_path / "rows.parquet")
    arguments += ("--contexts", tmp_path / "contexts.parquet")
    command("score", *arguments, "--fingerprint", "--out", earlier)
    done = command("score", *arguments, "--since", earlier, "--out", out, "--strict")
    assert (done.status, out.exists(), "2 rows without a restaurant" in done.err) == (1, False, True), done.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": mood_seed()}, r"results of another seed \(`Tiny-1`, [0-9a-f]+.*, not `moods`"),
        ({"trace": True}, "has other columns than the new results"),
        ({"fingerprint": False}, "no results with fingerprints; `score` writes them"),
        ({"rows": "reader"}, "fingerprints read tables twice"),
    ],
)
@pytest.mark.thorough
def test_other_results_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Those of another seed by its name, with other columns, without fingerprints; and rows that are read only once."""
    lines = write_rows(tmp_path / "rows.jsonl", b0="good")
    earlier = tmp_path / "earlier.parquet"
    pq.write_table(library.score(tiny_seed(), lines, fingerprint=change.get("fingerprint", True)), earlier)
    table = tiny_tables()[0]
    source = lines
    if "seed" in change:
        source = table
    if "rows" in change:
        source = table.to_reader()
    seed = mood_seed() if {"seed", "rows"} & {*change} else tiny_seed()
    with pytest.raises(DataError, match=message):
        library.score(seed, source, since=earlier, trace=change.get("trace", False))


@pytest.mark.thorough
def test_wrong_usage(tmp_path: Path) -> None:
    """A missing or hostile file, an output called `fingerprint`, and engines without fingerprints are refused."""
    lines = write_rows(tmp_path / "rows.jsonl", b0="good")
    with pytest.raises(UnreadableError, match=r"cannot read .*missing\.parquet"):
        library.score(tiny_seed(), lines, since=tmp_path / "missing.parquet")
    text = tmp_path / "text.parquet"
    text.write_text("no")
    with pytest.raises(UnreadableError, match=r"cannot read .*text\.parquet"):
        library.score(tiny_seed(), lines, since=text)
    odd = pa.table({"fingerprint": ["0"]}, metadata={"formulaseed": "[" * 9})
    pq.write_table(odd, text)
    with pytest.raises(DataError, match="no results with fingerprints"):
        library.score(tiny_seed(), lines, since=text)
    named = json.loads(json.dumps(tiny_seed()).replace("N_GOOD", "fingerprint"))
    with pytest.raises(DataError, match="`fingerprint` has the name of another column"):
        library.score(named, lines, fingerprint=True)
    with pytest.raises(DataError, match="are for the engine `duckdb`"):
        library.score(tiny_seed(), lines, engine="python", since=text)
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    for engine, message in (("python", "--engine python reads"), ("spark", "are for DuckDB")):
        done = command(
            "score", seed, "--rows", lines, "--engine", engine, "--since", text, "--out", tmp_path / "o.jsonl"
        )
        assert (done.status, message in done.err) == (2, True), done.err
