"""What moved a verdict between two runs: each change, applied alone to the old input, gives the verdict that it says."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import formulaseed as library
import pytest
from formulaseed.compare import causes
from formulaseed.compare.diff import diff
from helpers import command, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import assume, given, settings
from hypothesis import strategies as st

SEED = tiny_seed()
EVALUATOR = library.load_evaluator(SEED)
ROWS = st.builds(tiny_row, st.sampled_from("abcd"), st.sampled_from(["good", "bad", "none"]), st.integers(0, 2))
LINES = st.builds(
    lambda rows, is_open: {**tiny_rows("b", *rows), "context": {"is_open": is_open}},
    st.lists(ROWS, unique_by=lambda row: row["review_id"], max_size=4),
    st.sampled_from([0, 1, "no"]),
)
SETTINGS = st.sampled_from([{}, {"LEAST": 1}, {"LEAST": 3}])


def evaluate(line: Any, parameters: Any, seed: Any = None) -> str | None:
    """The verdict of a line of rows; None if it fails."""
    evaluator = EVALUATOR if seed is None else library.load_evaluator(seed)
    try:
        return evaluator.evaluate(line["rows"], line["context"], parameters)["VERDICT"]
    except (library.DataError, library.EvaluationError):
        return None


def apply_change(change: Any, old: Any, new: Any, parameters: tuple[Any, Any]) -> tuple[Any, Any]:
    """The old line and its parameters, with one change."""
    line = deepcopy(old)
    if change.part == "parameter":
        return line, {**parameters[0], change.name: change.values[change.name][1]}
    if change.part == "fact":
        line["context"] = new["context"]  # `is_open` is all that the seed reads
        return line, parameters[0]
    [*added] = (row for row in new["rows"] if row["review_id"] == change.name and change.kind != "removed")
    if change.kind == "changed":
        line["rows"] = [added[0] if row["review_id"] == change.name else row for row in line["rows"]]
    else:
        line["rows"] = [row for row in line["rows"] if row["review_id"] != change.name] + added
    return line, parameters[0]


@settings(max_examples=100)
@given(LINES, LINES, SETTINGS, SETTINGS)
@pytest.mark.thorough
def test_each_change_alone_does_what_it_says(old: Any, new: Any, before: Any, after: Any) -> None:
    """And all of them together lead from the old input to the new one."""
    verdicts = evaluate(old, before), evaluate(new, after)
    assume(verdicts[0] != verdicts[1])
    outcomes = diff(SEED, SEED, [old], new_rows=[new], parameters_old=before, parameters_new=after).outcomes
    assert outcomes is not None
    [change] = outcomes.changes
    assert change.verdicts == verdicts
    line, parameters = old, before
    for cause in change.causes:
        alone = evaluate(*apply_change(cause, old, new, (before, after)))
        assert cause.verdict == alone
        assert cause.moves == (alone != verdicts[0] and (alone is not None or verdicts[1] is None))
        line, parameters = apply_change(cause, line, new, (parameters, after))
    assert evaluate(line, parameters) == verdicts[1]
    assert [cause.moves for cause in change.causes] == sorted((cause.moves for cause in change.causes), reverse=True)


def find_causes(old: Any, new: Any, *seeds: Any, **options: Any) -> list[tuple[Any, ...]]:
    """The changes of the only restaurant, and whether each moves the verdict."""
    outcomes = diff(*(seeds or (SEED, SEED)), [old], new_rows=[new], **options).outcomes
    assert outcomes is not None
    return [(cause.part, cause.kind, cause.name, cause.moves) for cause in outcomes.changes[0].causes]


GOOD = [tiny_row("r0"), tiny_row("r1")]


def test_what_the_seed_does_not_read_is_no_change() -> None:
    """Texts, names and the order of reviews; reviews without an id are equal if what is read of them is."""
    old = tiny_rows("b", *({**row, "text": "old"} for row in GOOD))
    new = tiny_rows("b", tiny_row("r2", "bad"), *({**row, "text": "new"} for row in reversed(GOOD)))
    new["rows"].append(tiny_row("r3", "bad"))
    new["context"]["name"] = "Another"
    assert find_causes(old, new) == [("review", "added", "r2", False), ("review", "added", "r3", False)]
    for row in (*old["rows"], *new["rows"]):
        del row["review_id"]
    assert find_causes(old, new) == [("review", "added", "rows[0]", False), ("review", "added", "rows[3]", False)]


def test_a_new_seed_is_a_change_of_its_own() -> None:
    """Beside the reviews, which the old seed reads; a parameter that only one seed has belongs to it."""
    strict = tiny_seed(description="strict")
    strict["compute"][-1]["rules"][1]["when"] = "SHARE > 0.7 and context.is_open == 1"
    old, new = tiny_rows("b", *GOOD), tiny_rows("b", *GOOD, tiny_row("r2", "bad"))
    assert find_causes(old, new, SEED, strict) == [
        ("seed", "changed", "Tiny-1", False),
        ("review", "added", "r2", False),
    ]
    strict["compute"][-1]["rules"][1]["when"] = "SHARE > 1.0"
    assert find_causes(old, new, SEED, strict)[0] == ("seed", "changed", "Tiny-1", True)
    del strict["parameters"]
    strict["compute"][-1]["rules"][0]["when"] = "N < 2"
    assert find_causes(old, new, SEED, strict, parameters_old={"LEAST": 1})[0] == ("seed", "changed", "Tiny-1", True)


def test_invalid_rows_are_changes_too() -> None:
    """A row that cannot be read fails the restaurant, and so does a review that is there twice."""
    old = tiny_rows("b", *GOOD)
    assert find_causes(old, tiny_rows("b", GOOD[0], tiny_row("r1", "none"))) == [("review", "changed", "r1", True)]
    assert find_causes(old, tiny_rows("b", *GOOD, GOOD[0])) == [("review", "added", "r0", True)]
    invalid = {**old, "context": {"is_open": "no"}}
    assert find_causes(old, invalid) == [("fact", "changed", "context", True)]


def test_many_changes_of_many_reviews_are_not_all_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are not have no verdict."""
    monkeypatch.setattr(causes, "_MAX_EVALUATED_ROWS", 6)
    new = tiny_rows("b", *GOOD, *(tiny_row(f"n{number}", "bad") for number in range(5)))
    assert [moves for *_, moves in find_causes(tiny_rows("b", *GOOD), new)] == [False] * 3 + [None] * 2


def test_the_command_says_what_moved_each_verdict(tmp_path: Any) -> None:
    """In text, on a page with tables that can be sorted; without other rows or parameters there is nothing to say."""
    seed = write_json(tmp_path / "seed.json", SEED)
    old = write_lines(tmp_path / "old.jsonl", *(tiny_rows(name, *GOOD) for name in ("alone", "both", "gone", "same")))
    lines = [
        tiny_rows("alone", *GOOD, tiny_row("r2"), tiny_row("<b>r3</b>", "bad")),
        tiny_rows("both", *GOOD, tiny_row("r2", "bad"), tiny_row("r3", "bad")),
        tiny_rows("new", *GOOD),
        tiny_rows("same", *GOOD),
    ]
    lines[0]["context"]["is_open"] = 0
    arguments = (seed, seed, "--rows", old, "--new-rows", write_lines(tmp_path / "new.jsonl", *lines))
    text = command("diff", *arguments).out
    assert (
        "- alone: good → bad, moved by\n  - fact is_open changed: 1 → 0\n  - not moved by 2 other changes alone\n"
        in text
    )
    both = "- both: good → bad, moved by 2 changes together, and by none of them alone\n  - review r2 added: mood bad,"
    assert both in text
    assert "1 restaurant only in the old run, 1 only in the new." in text
    page = command("diff", *arguments, "--format", "html").out
    assert page.count("<table data-sortable>") == 3
    assert ("script-src 'sha256-" in page, page.count("<script>"), "<b>r3" in page) == (True, 1, False)
    assert "What moved" not in command("diff", seed, seed, "--rows", old).out
    changed = command("diff", seed, seed, "--rows", old, "--param-new", "LEAST=3").out
    assert "- both: good → few, moved by\n  - parameter LEAST changed: 2 → 3\n" in changed
