"""`formulaseed draft` as people run it: the SDK against a stand-in for its API, and replays without any."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from drafts import (
    BAD_SEED,
    CONDITIONS,
    GOOD,
    GRAPH,
    KEY,
    RECORDED,
    REPAIR,
    Drafting,
    change_seed,
    draft,
    read_files,
    repair,
    replies,
    step_of,
)
from helpers import EXAMPLES, TASKS, formulaseed, needs
from loopback import loopback
from loopback_script import Ask, Reply, Script, model

needs("anthropic", "llm")

# --- replay


@pytest.mark.thorough
def test_a_replay_gives_a_seed_that_computes_what_the_specification_s_does(replayed: Path) -> None:
    """Every step of SPEC's own seed has the same value in the drafted one, on every row at hand."""
    real = TASKS.parents[1] / "shared" / "data" / "g1a" / "rows.jsonl"
    for rows in (EXAMPLES / "rows-g1a_v2.jsonl", *([real] if real.is_file() else [])):
        seeds = (replayed / "seed.json", TASKS / "g1a_v2" / "seed.json")
        drafted, own = (formulaseed("evaluate", seed, "--rows", rows, "--trace") for seed in seeds)
        assert drafted.status == own.status == 0
        assert len(own.results) >= 14
        assert [(r["output"], r["steps"]) for r in drafted.results] == [(r["output"], r["steps"]) for r in own.results]


def test_a_replay_is_the_same_byte_for_byte(replayed: Path) -> None:
    """The transcript that a replay writes is the one it reads; its seed is laid out as fmt does; a replay of it is the same."""
    original = read_files(RECORDED)
    del original["README.md"]
    assert read_files(replayed / "t") == original
    assert formulaseed("fmt", "--check", replayed / "seed.json").status == 0
    again = draft(None, "--replay", replayed / "t", "--out", "-")
    assert again.out.encode() == (replayed / "seed.json").read_bytes()
    same = draft(None, "--replay", RECORDED, "--out", replayed / "seed.json")
    assert (same.status, same.out) == (0, f"{replayed / 'seed.json'}: unchanged\n")


def test_a_replay_of_another_text_is_refused_by_name(drafting: Drafting) -> None:
    done = draft(None, "--replay", RECORDED, "--out", "-", task=drafting.change_task("over 0.7", "over 0.8"))
    assert (done.status, done.out) == (1, "")
    assert "step 01-conditions is not the recorded one: its user message differs from line 43 on" in done.err


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("02-graph", {"system": ["more"]}, "step 02-graph is not the recorded one: its instructions differs"),
        ("03-seed", {"schema": {}}, "step 03-seed is not the recorded one: its schema differs"),
        ("03-seed", None, "the transcript has no answer to step 03-seed"),
        ("03-seed", {"step": 3}, "03-seed.json: not a call of a draft"),
    ],
)
def test_a_changed_transcript_is_refused_by_name(name: str, changes: Any, message: str, drafting: Drafting) -> None:
    shutil.copytree(RECORDED, drafting.transcript)
    path = drafting.transcript / f"{name}.json"
    if changes is None:
        path.unlink()
    else:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    done = drafting.replay().expect(1, out="")
    assert message in done.err


def test_what_a_transcript_decides_cannot_be_given_beside_it(drafting: Drafting) -> None:
    done = draft(None, "--replay", RECORDED, "--out", "-", "--model", "claude-opus-5-5")
    assert (done.status, "--model cannot be combined with --replay" in done.err) == (2, True)
    assert drafting.replay().status == 2, "there is no transcript"


# --- live


def test_a_good_draft_takes_three_calls(drafting: Drafting, replayed: Path) -> None:
    """Each is streamed with its schema; the seed, the transcript and the report are there; the key is in none of them."""
    done = drafting.run(*GOOD).expect(
        0, "46 of 49 sentences became part of the seed, 3 state no rule, 0 map to nothing.", "- 3 calls: "
    )
    assert drafting.seed.read_bytes() == (replayed / "seed.json").read_bytes()
    bodies = [message.body for message in drafting.server.messages]
    assert [body["stream"] for body in bodies] == [True, True, True]
    assert {(body["model"], body["output_config"]["effort"]) for body in bodies} == {("claude-sonnet-5-5", "medium")}
    keys = [list(body["output_config"]["format"]["schema"]["properties"]) for body in bodies]
    assert keys == [list(CONDITIONS), list(GRAPH), list(BAD_SEED)]
    names = ["01-conditions.json", "02-graph.json", "03-seed.diagnostics.json", "03-seed.json"]
    files = read_files(drafting.transcript)
    assert list(files) == [*names, "report.md", "session.json"]
    everything = b"".join([*files.values(), drafting.seed.read_bytes(), done.err.encode()])
    assert KEY.encode() not in everything
    assert drafting.server.url.encode() not in everything
    assert drafting.replay().out.encode() == drafting.seed.read_bytes()


FAULTY = {
    "an undefined name": ("TRUST_RAW", {"expr": "1.0 + N_PRAISED * 0.1"}, "FS201", "N_PRAISED"),
    "an unlisted value": (
        "N_BETRAYAL", {"where": [{"subject": "extraction.safety_interaction", "test": "is", "values": ["lie"]}]},
        "FS302", '"lie"',
    ),
    "a division by zero": (
        "CREDIBILITY_FACTOR", {"expr": "TOTAL_WEIGHT / N_TOTAL_INCIDENTS"}, "FS604", "TOTAL_WEIGHT / N_TOTAL_INCIDENTS",
    ),
    "a certain division by zero": ("CREDIBILITY_FACTOR", {"expr": "TOTAL_WEIGHT / 0"}, "FS306", "TOTAL_WEIGHT / 0"),
    "what no object can say": (
        "CUISINE_MODIFIER", {"table": [{"key": "Thai", "value": 2}, {"key": "Thai", "value": 1}]}, None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "code", "fragment"), FAULTY.values(), ids=FAULTY)
def test_one_round_fixes(
    name: str, change: dict[str, object], code: str | None, fragment: str | None, drafting: Drafting, replayed: Path
) -> None:
    """The diagnostic goes back as JSON with the offending fragment and its sentences; the fixed seed is the good one."""
    seed = change_seed(name, **change)
    drafting.run(CONDITIONS, GRAPH, seed, repair(step_of(GOOD[2], name))).expect(0)
    assert drafting.seed.read_bytes() == (replayed / "seed.json").read_bytes()
    values = drafting.asked(3)
    diagnostic = values["diagnostics"][0]
    assert (diagnostic.get("code"), diagnostic.get("fragment"), diagnostic["part"]) == (code, fragment, f"step {name}")
    assert [*values["sentences"]] == [str(number) for number in step_of(seed, name)["sources"]]
    assert step_of(seed, name) in values["steps"]


@pytest.mark.thorough
def test_a_model_that_never_fixes_it(drafting: Drafting) -> None:
    names = ("TRUST_RAW", "MILD_WEIGHT", "RAW_RISK")
    worse = repair(*(step_of(change_seed(name, expr="NOTHING"), name) for name in names))
    drafting.seed.write_text("mine")
    done = drafting.run(CONDITIONS, GRAPH, BAD_SEED, worse, "refusal", "not_json", options=["--force"])
    assert (done.status, done.out, drafting.seed.read_text()) == (3, "", "mine")
    path = drafting.folder / "seed.draft.json"
    for part in (
        "error[FS302]",
        f"--> {path}:",
        f"{path}: 2 errors; no seed is written",
        "- 1: 2 errors; then 5 errors; refused: the number ",
        "- 2: no result: the model refused",
        "- 3: no result: the answer is not usable JSON",
    ):
        assert part in done.err
    steps = {step["name"]: step for step in json.loads(path.read_text())["compute"]}
    assert steps["TRUST_RAW"]["expr"].startswith("1.0 + N_POSITIVE")
    checked = formulaseed("check", path)
    assert (checked.status, checked.out.count("error[")) == (1, 2)
    assert [[*drafting.asked(number)][-1] for number in (3, 4, 5)] == ["output", "rejected", "rejected"]
    codes = [diagnostic["code"] for diagnostic in drafting.asked(4)["rejected"]["diagnostics"]]
    assert codes[:4] == ["FS302", "FS201", "FS201", "FS202"]

    drafting.resume(REPAIR, REPAIR, options=["--force", "--max-repairs", 4]).expect(0)
    assert len(drafting.server.messages) == 1, "the refused round was asked for again, and fixed it"
    assert (drafting.transcript / "05-repair.unused-1.json").exists()


def test_a_refusal_and_a_cut_answer_end_the_draft_and_resume_goes_on(drafting: Drafting, replayed: Path) -> None:
    """The step, the reason and the cost are reported; --resume asks only what is missing, a cut answer with more room."""
    done = drafting.run(CONDITIONS, "refusal")
    assert (done.status, done.out, drafting.seed.exists()) == (1, "", False)
    assert "step 02-graph: the model refused to answer" in done.err
    assert "2 calls: " in done.err
    assert f"kept in {drafting.transcript}; --resume continues from there" in done.err

    drafting.run().expect(2, "holds a transcript; --resume continues it")

    done = drafting.resume(GRAPH, "max_tokens")
    assert "step 03-seed: the answer was cut off at its longest length" in done.err
    assert len(drafting.server.messages) == 2

    changed = drafting.resume(task=drafting.change_task("over 0.7", "over 0.8"))
    assert (changed.status, "step 01-conditions is not the recorded one" in changed.err) == (1, True)
    assert drafting.server.messages == []

    drafting.resume(GOOD[2]).expect(0)
    assert [message.body["max_tokens"] for message in drafting.server.messages] == [64_000]
    assert drafting.seed.read_bytes() == (replayed / "seed.json").read_bytes()
    unused = [path.name for path in sorted(drafting.transcript.glob("*unused*"))]
    assert unused == ["02-graph.unused-1.json", "03-seed.unused-1.json"]
    again = drafting.replay()
    assert (again.status, again.out.encode()) == (0, (replayed / "seed.json").read_bytes())


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        *[(name, "the answer") for name in ("not_json", "missing_field", "wrong_type", "extra_key", "empty")],
        ("http_400", "API answered 400"),
        ("drop_body", "client failed"),
    ],
)
def test_an_answer_that_is_none_ends_the_draft(fault: str, message: str, drafting: Drafting) -> None:
    done = drafting.run(CONDITIONS, fault).expect(1, out="")
    assert message in done.err
    assert (drafting.transcript / "01-conditions.json").exists()


def test_an_answer_that_no_file_could_hold_is_recorded_and_asked_for_again(drafting: Drafting) -> None:
    """Half of a character in a name: one line, the cost, and a transcript that --resume reads."""
    odd = {**CONDITIONS, "description": CONDITIONS["description"] + "\ud800"}
    drafting.run(odd).expect(1, "step 01-conditions: the answer is not usable JSON: ", "1 call: ", out="")
    drafting.resume(*GOOD).expect(0, "4 calls, 1 of them discarded: ")


@pytest.mark.parametrize("is_known", [True, False])
def test_a_model_without_structured_output_is_given_the_schema(is_known: bool, replayed: Path, tmp_path: Path) -> None:
    """Where the model is not held to a schema, or the API refuses it, the prompt says it; the answer is checked as ever."""
    fenced = Reply(text=f"```json\n{json.dumps(GRAPH)}\n```")
    queue = [*([] if is_known else [Reply()]), *replies(CONDITIONS, fenced, GOOD[2])]

    def rule(ask: Ask) -> Reply | None:
        return None if is_known or not ask.path.startswith("/v1/models") else Reply("http_404")

    with loopback(Script(models=[model("plain", structured=False)], queue=queue, rule=rule)) as plain:
        done = draft(plain, "--out", "-", "--transcript", tmp_path / "t", "--model", "plain").expect(0)
        bodies = [message.body for message in plain.messages]
    with_schema = [body for body in bodies if '"required": ["description"' in body["system"][0]["text"]]
    assert ["format" in body["output_config"] for body in with_schema] == ([False] if is_known else [True, False])
    assert done.out.encode() == (replayed / "seed.json").read_bytes()
    assert "an unknown cost (plain)" in done.err
    assert ("asked again with the schema in the prompt" in done.err) is not is_known


def test_a_task_is_named_by_an_option_else_by_its_file(drafting: Drafting) -> None:
    """If its text has no title that is a name; never by the model."""
    drafting.run(*GOOD, options=["--task-name", "Mine 1"]).expect(0)
    for path in (drafting.seed, drafting.transcript / "session.json"):
        assert json.loads(path.read_text())["task_name"] == "Mine 1"
    assert drafting.replay().out == drafting.seed.read_text()
    assert drafting.run(options=["--task-name", "a/b"]).status == 2
    task = drafting.change_task("# G1a-v2: ", "# $(touch x): ").rename(drafting.folder / "Night shift 1.md")
    drafting.server.reset(queue=replies(*GOOD))
    by_file = draft(drafting.server, "--out", "-", task=task)
    assert json.loads(by_file.out)["task_name"] == "Night shift 1"
    assert "# Draft of Night shift 1\n" in by_file.err
    shutil.rmtree(drafting.transcript)
    drafting.run({**CONDITIONS, "task_name": "model's"}, options=["--force"]).expect(1, "`task_name` is an unknown key")


# --- what was billed, and damaged transcripts


def test_what_was_discarded_was_billed(drafting: Drafting) -> None:
    """An answer that was cut off, and asked for again, is in the costs of the run, of its report and of each replay."""
    assert (drafting.run(CONDITIONS, "max_tokens").status, drafting.resume("refusal").status) == (1, 1)
    done = drafting.resume(GRAPH, GOOD[2]).expect(0)
    paths = [path for path in sorted(drafting.transcript.glob("0*.json")) if "diag" not in path.name]
    usages = [json.loads(path.read_text())["usage"] for path in paths]
    assert len(usages) == 5
    tokens = sum(usage["input"] + usage["cache_write"] + usage["cache_read"] for usage in usages)
    output = sum(usage["output"] for usage in usages)
    assert f"- 5 calls, 2 of them discarded: {tokens:,} tokens in, {output:,} out, $" in done.err
    assert done.err.count("- 02-graph, discarded: ") == 2
    copy = drafting.folder / "u"
    drafting.replay("--transcript", copy).expect(0)
    assert (copy / "report.md").read_text() == drafting.report
    assert "5 calls, 2 of them discarded" in draft(None, "--replay", copy, "--out", "-").err


@pytest.mark.parametrize("damage", [b"", b"{", b'{"step": 3}', b"\xff", b"[]", b'{"a": 1'])
@pytest.mark.thorough
def test_a_damaged_file_of_a_transcript_is_asked_for_again(damage: bytes, drafting: Drafting, replayed: Path) -> None:
    """Only that one, where the answers after it fit the new one; its cost is unknown, and that is said."""
    shutil.copytree(replayed / "t", drafting.transcript)
    (drafting.transcript / "02-graph.json").write_bytes(damage)
    done = drafting.resume(GRAPH).expect(0)
    assert len(drafting.server.messages) == 1
    assert drafting.seed.read_bytes() == (replayed / "seed.json").read_bytes()
    assert (drafting.transcript / "02-graph.unused-1.json").read_bytes() == damage
    for part in (
        "02-graph.json",
        "; it is asked for again\n",
        "- 02-graph, discarded: its file is damaged, and what it cost is unknown",
        "- 5 calls, 1 of them discarded: ",
    ):
        assert part in done.err
    drafting.replay().expect(0, out=drafting.seed.read_text())


def test_answers_after_another_one_are_asked_for_again(drafting: Drafting, replayed: Path) -> None:
    shutil.copytree(replayed / "t", drafting.transcript)
    (drafting.transcript / "02-graph.json").write_text("{")
    other = {**GRAPH, "steps": [{**GRAPH["steps"][0], "does": "Something else"}, *GRAPH["steps"][1:]]}
    drafting.resume(other, GOOD[2]).expect(0, "step 03-seed is not the recorded one")
    assert len(drafting.server.messages) == 2
    assert drafting.seed.read_bytes() == (replayed / "seed.json").read_bytes()


def test_damaged_settings_are_those_of_the_command(drafting: Drafting, replayed: Path) -> None:
    """--resume says so, and writes them anew; a replay needs them."""
    shutil.copytree(replayed / "t", drafting.transcript)
    (drafting.transcript / "session.json").write_text("{")
    (drafting.transcript / "04-repair.json").unlink()
    assert drafting.replay().status == 1
    drafting.resume(REPAIR).expect(0, "session.json", "the options of this command are used instead")
    assert json.loads((drafting.transcript / "session.json").read_text())["model"] == "claude-sonnet-5-5"


def test_attempts_without_an_answer_are_counted(drafting: Drafting) -> None:
    """A connection that broke may have been charged for; nobody knows, and that is said."""
    broken = drafting.run("drop_body", *GOOD)
    assert broken.status in (0, 1)
    assert "1 attempt ended without an answer: whether the API charges for that is unknown" in broken.err


def test_an_answer_that_cannot_be_written_was_billed(drafting: Drafting) -> None:
    """The folder of the transcript is a file: the call that was made is in the costs all the same."""
    drafting.transcript.write_text("mine")
    drafting.run(CONDITIONS).expect(2, "1 call: ")
    assert len(drafting.server.messages) == 1
