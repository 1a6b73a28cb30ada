"""`formulaseed draft` as people run it: the SDK against a stand-in for its API, and replays without any."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from drafts import (
    BAD_SEED,
    CONDITIONS,
    GRAPH,
    KEY,
    NAMES,
    RECORDED,
    REPAIR,
    TASK,
    changed_seed,
    draft,
    files,
    good_seed,
    repair,
    replies,
    step_of,
    steps_of,
)
from helpers import EXAMPLES, TASKS, formulaseed, needs
from loopback import Loopback, loopback
from loopback_script import Ask, Reply, Script, model

needs("anthropic", "llm")

OWN = TASKS / "g1a_v2" / "seed.json"


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the hand-written transcript gives: seed.json, and the transcript that the replay writes."""
    folder = tmp_path_factory.mktemp("replayed")
    where = ("--out", folder / "seed.json", "--transcript", folder / "transcript")
    found = formulaseed("draft", TASK, "--replay", RECORDED, *where)
    assert found.status == 0, found.err
    assert found.out == f"{folder / 'seed.json'}: 5 warnings, 4 notes\n"
    return folder


# --- replay


def test_a_replay_gives_a_seed_that_computes_what_the_specification_s_does(replayed: Path, tmp_path: Path) -> None:
    """Every step of SPEC's own seed has the same value in the drafted one, on every row at hand."""
    real = TASKS.parents[1] / "shared" / "data" / "g1a" / "rows.jsonl"
    for rows in (EXAMPLES / "rows-g1a_v2.jsonl", *([real] if real.is_file() else [])):
        drafted, own = (formulaseed("evaluate", s, "--rows", rows, "--trace") for s in (replayed / "seed.json", OWN))
        assert drafted.status == own.status == 0
        assert len(own.results) >= 14
        assert [(r["output"], r["steps"]) for r in drafted.results] == [(r["output"], r["steps"]) for r in own.results]


def test_a_replay_is_the_same_byte_for_byte(replayed: Path, tmp_path: Path) -> None:
    """The transcript that a replay writes is the one it reads; its seed is laid out as fmt does; a replay of it is the same."""
    copied = files(replayed / "transcript")
    original = files(RECORDED)
    del original["README.md"]
    assert copied == original
    assert formulaseed("fmt", "--check", replayed / "seed.json").status == 0
    again = draft(None, "--replay", replayed / "transcript", "--out", "-")
    assert again.out.encode() == (replayed / "seed.json").read_bytes()
    same = draft(None, "--replay", RECORDED, "--out", replayed / "seed.json")
    assert (same.status, same.out) == (0, f"{replayed / 'seed.json'}: unchanged\n")


def test_the_planted_mistakes_are_fixed_in_the_recorded_round() -> None:
    """An unlisted value and a step out of order are errors of the draft, and gone after the repair."""
    reported = {name: json.loads((RECORDED / f"{name}.diagnostics.json").read_text()) for name in NAMES[2:]}
    errors = {name: [d["code"] for d in found if d["severity"] == "error"] for name, found in reported.items()}
    assert errors == {"03-seed": ["FS302", "FS202"], "04-repair": []}


def test_a_replay_of_another_text_is_refused_by_name(tmp_path: Path) -> None:
    """A changed task text, changed instructions, a changed answer and a missing file are each reported with the step."""
    other = tmp_path / "task.md"
    other.write_text(TASK.read_text().replace("over 0.7", "over 0.8"))
    found = draft(None, "--replay", RECORDED, "--out", "-", task=other)
    assert (found.status, found.out) == (1, "")
    assert "step 01-conditions is not the recorded one: its user message differs from line 43 on" in found.err

    for name, key, word in (("02-graph", "system", "instructions"), ("03-seed", "schema", "schema")):
        folder = tmp_path / name
        shutil.copytree(RECORDED, folder)
        record = json.loads((folder / f"{name}.json").read_text())
        record[key] = [*record[key], "more"] if key == "system" else {}
        (folder / f"{name}.json").write_text(json.dumps(record))
        found = draft(None, "--replay", folder, "--out", "-")
        assert found.status == 1
        assert f"step {name} is not the recorded one: its {word} differs" in found.err

    (folder / "03-seed.json").unlink()
    found = draft(None, "--replay", folder, "--out", "-")
    assert found.status == 1
    assert "the transcript has no answer to step 03-seed" in found.err
    (folder / "03-seed.json").write_text('{"step": 3}')
    assert "03-seed.json: not a call of a draft" in draft(None, "--replay", folder, "--out", "-").err
    assert draft(None, "--replay", tmp_path / "nowhere", "--out", "-").status == 2

    record = json.loads((RECORDED / "03-seed.json").read_text())
    record["usage"]["output"] = -999_999_999
    (folder / "03-seed.json").write_text(json.dumps(record))
    found = draft(None, "--replay", folder, "--out", "-")
    assert (found.status, found.out) == (1, "")
    assert "03-seed.json: not a call of a draft: its usage is wrong: `output` must be 0 or more" in found.err


def test_a_replay_takes_no_settings() -> None:
    """What the transcript decides cannot be given beside it."""
    found = draft(None, "--replay", RECORDED, "--out", "-", "--model", "claude-opus-5-5")
    assert found.status == 2
    assert "--model cannot be combined with --replay" in found.err


# --- live


def test_a_good_draft_takes_three_calls(server: Loopback, replayed: Path, tmp_path: Path) -> None:
    """Each is streamed with its schema; the seed, the transcript and the report are there; the key is in none of them."""
    server.reset(queue=replies(CONDITIONS, GRAPH, good_seed()))
    out = tmp_path / "made" / "seed.json"
    found = draft(server, "--out", out, "--transcript", tmp_path / "t")
    assert found.status == 0, found.err
    assert out.read_bytes() == (replayed / "seed.json").read_bytes()
    asked = server.messages
    assert [one.body["stream"] for one in asked] == [True, True, True]
    assert {one.body["model"] for one in asked} == {"claude-sonnet-5-5"}
    assert {one.body["output_config"]["effort"] for one in asked} == {"medium"}
    keys = [list(one.body["output_config"]["format"]["schema"]["properties"]) for one in asked]
    assert keys == [list(CONDITIONS), list(GRAPH), list(BAD_SEED)]
    names = ["01-conditions.json", "02-graph.json", "03-seed.diagnostics.json", "03-seed.json"]
    assert list(files(tmp_path / "t")) == [*names, "report.md", "session.json"]
    assert "46 of 49 sentences became part of the seed, 3 state no rule, 0 map to nothing." in found.err
    assert "- 3 calls: " in found.err
    everything = b"".join([*files(tmp_path / "t").values(), out.read_bytes(), found.err.encode()])
    assert KEY.encode() not in everything
    assert server.url.encode() not in everything
    again = draft(None, "--replay", tmp_path / "t", "--out", "-")
    assert again.out.encode() == out.read_bytes()


FAULTY = {
    "an undefined name": (changed_seed("TRUST_RAW", expr="1.0 + N_PRAISED * 0.1"), "TRUST_RAW", "FS201", "N_PRAISED"),
    "an unlisted value": (
        changed_seed("N_BETRAYAL", where=[{"subject": "extraction.safety_interaction", "test": "is", "values": ["lie"]}]),
        "N_BETRAYAL", "FS302", '"lie"',
    ),
    "a division by zero": (
        changed_seed("CREDIBILITY_FACTOR", expr="TOTAL_WEIGHT / N_TOTAL_INCIDENTS"), "CREDIBILITY_FACTOR", "FS604",
        "TOTAL_WEIGHT / N_TOTAL_INCIDENTS",
    ),
    "a certain division by zero": (
        changed_seed("CREDIBILITY_FACTOR", expr="TOTAL_WEIGHT / 0"), "CREDIBILITY_FACTOR", "FS306", "TOTAL_WEIGHT / 0",
    ),
    "what no object can say": (
        changed_seed("CUISINE_MODIFIER", table=[{"key": "Thai", "value": 2}, {"key": "Thai", "value": 1}]),
        "CUISINE_MODIFIER", None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTY)
def test_one_round_fixes(what: str, server: Loopback, replayed: Path, tmp_path: Path) -> None:
    """The diagnostic goes back as JSON with the offending fragment and its sentences; the fixed seed is the good one."""
    seed, name, code, fragment = FAULTY[what]
    server.reset(queue=replies(CONDITIONS, GRAPH, seed, repair(step_of(good_seed(), name))))
    found = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert found.status == 0, found.err
    assert found.out.encode() == (replayed / "seed.json").read_bytes()
    shown = json.loads(server.messages[3].text)
    reported = shown["diagnostics"][0]
    assert (reported.get("code"), reported.get("fragment"), reported["part"]) == (code, fragment, f"step {name}")
    sources = step_of(seed, name)["sources"]
    assert list(shown["sentences"]) == [str(number) for number in sources]
    assert step_of(seed, name) in shown["steps"]


def test_one_round_moves_a_step(server: Loopback, replayed: Path, tmp_path: Path) -> None:
    """A step that stands before what it uses goes where the repair puts it."""
    seed = good_seed()
    seed["steps"].insert(0, seed["steps"].pop(next(n for n, s in enumerate(seed["steps"]) if s["name"] == "RAW_RISK")))
    moved = repair(step_of(seed, "RAW_RISK"), before="FINAL_RISK_SCORE")
    server.reset(queue=replies(CONDITIONS, GRAPH, seed, moved))
    found = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert (found.status, found.out.encode()) == (0, (replayed / "seed.json").read_bytes())


def test_a_model_that_never_fixes_it(server: Loopback, tmp_path: Path) -> None:
    """After so many rounds the best draft is written as a draft, status 3; a seed that is there already stays."""
    worse = repair(*(step_of(changed_seed(n, expr="NOTHING"), n) for n in ("TRUST_RAW", "MILD_WEIGHT", "RAW_RISK")))
    server.reset(queue=replies(CONDITIONS, GRAPH, BAD_SEED, worse, "refusal", "not_json"))
    out = tmp_path / "seed.json"
    out.write_text("mine")
    found = draft(server, "--out", out, "--force", "--transcript", tmp_path / "t")
    assert (found.status, found.out, out.read_text()) == (3, "", "mine")
    path = tmp_path / "seed.draft.json"
    assert "error[FS302]" in found.err
    assert f"--> {path}:" in found.err
    assert f"{path}: 2 errors; no seed is written" in found.err
    steps = {step["name"]: step for step in steps_of(path.read_text())}
    assert steps["TRUST_RAW"]["expr"].startswith("1.0 + N_POSITIVE")
    checked = formulaseed("check", path)
    assert (checked.status, checked.out.count("error[")) == (1, 2)
    asked = [json.loads(one.text) for one in server.messages[3:]]
    assert [list(one)[-1] for one in asked] == ["output", "rejected", "rejected"]
    assert [d["code"] for d in asked[1]["rejected"]["diagnostics"][:4]] == ["FS302", "FS201", "FS201", "FS202"]
    for line in ("1: 2 errors; then 5 errors; refused: the number ",
                 "2: no result: the model refused", "3: no result: the answer is not usable JSON"):  # fmt: skip
        assert f"- {line}" in found.err

    server.reset(queue=replies(REPAIR, REPAIR))
    more = draft(server, "--out", out, "--force", "--transcript", tmp_path / "t", "--resume", "--max-repairs", 4)
    assert more.status == 0, more.err
    assert len(server.messages) == 1, "the refused round was asked anew, and fixed it"
    assert (tmp_path / "t" / "05-repair.unused-1.json").exists()


def test_a_refusal_and_a_cut_answer_end_the_draft_and_resume_goes_on(
    server: Loopback, replayed: Path, tmp_path: Path
) -> None:
    """The step, the reason and the cost are reported; --resume asks only what is missing, a cut answer with more room."""
    where = ("--out", tmp_path / "seed.json", "--transcript", tmp_path / "t")
    server.reset(queue=replies(CONDITIONS, "refusal"))
    found = draft(server, *where)
    assert (found.status, found.out) == (1, "")
    assert "step 02-graph: the model refused to answer" in found.err
    assert "2 calls: " in found.err
    assert f"kept in {tmp_path / 't'}; --resume continues from there" in found.err
    assert not (tmp_path / "seed.json").exists()

    second = draft(server, *where)
    assert (second.status, "holds a transcript; --resume continues it" in second.err) == (2, True)

    server.reset(queue=replies(GRAPH, "max_tokens"))
    found = draft(server, *where, "--resume")
    assert "step 03-seed: the answer was cut off at its longest length" in found.err
    assert len(server.messages) == 2

    other = tmp_path / "task.md"
    other.write_text(TASK.read_text().replace("over 0.7", "over 0.8"))
    changed = draft(server, *where, "--resume", task=other)
    assert (changed.status, "step 01-conditions is not the recorded one" in changed.err) == (1, True)

    server.reset(queue=replies(good_seed()))
    found = draft(server, *where, "--resume")
    assert found.status == 0, found.err
    assert [one.body["max_tokens"] for one in server.messages] == [64_000]
    assert (tmp_path / "seed.json").read_bytes() == (replayed / "seed.json").read_bytes()
    assert [name for name in files(tmp_path / "t") if "unused" in name] == [
        "02-graph.unused-1.json",
        "03-seed.unused-1.json",
    ]
    again = draft(None, "--replay", tmp_path / "t", "--out", "-")
    assert (again.status, again.out.encode()) == (0, (replayed / "seed.json").read_bytes())


@pytest.mark.parametrize(
    "fault", ["not_json", "missing_field", "wrong_type", "extra_key", "empty", "http_400", "drop_body"]
)
def test_an_answer_that_is_none_ends_the_draft(fault: str, server: Loopback, tmp_path: Path) -> None:
    """Whatever comes in place of an answer, the command says so and keeps what came before."""
    server.reset(queue=[*replies(CONDITIONS), Reply(fault)])
    found = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert (found.status, found.out) == (1, "")
    assert "the answer" in found.err or "API answered 400" in found.err or "client failed" in found.err
    assert (tmp_path / "t" / "01-conditions.json").exists()


def test_an_answer_that_no_file_could_hold_is_recorded_and_asked_for_again(server: Loopback, tmp_path: Path) -> None:
    """Half of a character in a name: one line, the cost, and a transcript that --resume reads."""
    odd = {**CONDITIONS, "description": CONDITIONS["description"] + "\ud800"}
    server.reset(queue=[Reply(text=json.dumps(odd, ensure_ascii=False)), *replies(CONDITIONS, GRAPH, good_seed())])
    found = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert (found.status, found.out) == (1, "")
    assert "step 01-conditions: the answer is not usable JSON: " in found.err
    assert "1 call: " in found.err
    again = draft(server, "--out", "-", "--transcript", tmp_path / "t", "--resume")
    assert (again.status, "4 calls, 1 of them discarded: " in again.err) == (0, True), again.err


@pytest.mark.parametrize("is_known", [True, False])
def test_a_model_without_structured_output_is_given_the_schema(is_known: bool, replayed: Path, tmp_path: Path) -> None:
    """Where the model is not held to a schema, or the API refuses it, the prompt says it; the answer is checked as ever."""
    fenced = Reply(text=f"```json\n{json.dumps(GRAPH)}\n```")
    queue = [*([] if is_known else [Reply()]), *replies(CONDITIONS), fenced, *replies(good_seed())]

    def rule(ask: Ask) -> Reply | None:
        return None if is_known or not ask.path.startswith("/v1/models") else Reply("http_404")

    with loopback(Script(models=[model("plain", structured=False)], queue=queue, rule=rule)) as plain:
        found = draft(plain, "--out", "-", "--transcript", tmp_path / "t", "--model", "plain")
        assert found.status == 0, found.err
        reported = [one for one in plain.messages if '"required": ["description"' in one.body["system"][0]["text"]]
        assert len(reported) == 1
        assert "format" not in reported[0].body["output_config"]
    assert found.out.encode() == (replayed / "seed.json").read_bytes()
    assert "an unknown cost (plain)" in found.err
    assert ("asked again with the schema in the prompt" in found.err) is not is_known


# --- the name of the task, damaged transcripts, what was billed


def test_the_task_is_named_by_its_text_or_its_file(server: Loopback, tmp_path: Path) -> None:
    """By the first heading, else by the file, else by --task-name; never by the model, whose answer may not hold a name."""
    answers = replies(CONDITIONS, GRAPH, good_seed())
    names = {}
    for heading in ("# G1b: another one\n", "", "# $(touch x): no name\n", f"# {'long ' * 20}\n"):
        folder = tmp_path / f"Night shift {len(names)}"
        folder.mkdir()
        (folder / "task.md").write_text(
            TASK.read_text().replace("# G1a-v2: peanut and tree nut allergy safety\n", heading)
        )
        server.reset(queue=answers)
        found = draft(server, "--out", "-", task=folder / "task.md")
        assert found.status == 0, found.err
        names[heading[:5]] = json.loads(found.out)["task_name"]
        assert f"# Draft of {names[heading[:5]]}\n" in found.err
    assert [*names.values()] == ["G1b", "Night shift 1", "Night shift 2", "Night shift 3"]
    server.reset(queue=answers)
    where = ("--out", "-", "--transcript", tmp_path / "t")
    found = draft(server, *where, "--task-name", "Mine 1")
    assert json.loads(found.out)["task_name"] == "Mine 1"
    assert json.loads((tmp_path / "t" / "session.json").read_text())["task_name"] == "Mine 1"
    again = draft(None, "--replay", tmp_path / "t", "--out", "-")
    assert again.out == found.out
    assert draft(None, *where, "--task-name", "a/b").status == 2
    server.reset(queue=replies({**CONDITIONS, "task_name": "model's"}))
    named = draft(server, "--out", "-", "--transcript", tmp_path / "u")
    assert (named.status, "`task_name` is an unknown key" in named.err) == (1, True)


def test_what_was_discarded_was_billed(server: Loopback, replayed: Path, tmp_path: Path) -> None:
    """An answer that was cut off, and asked for again, is in the costs of the run, of its report and of each replay."""
    where = ("--out", tmp_path / "seed.json", "--transcript", tmp_path / "t")
    server.reset(queue=replies(CONDITIONS, "max_tokens"))
    first = draft(server, *where)
    assert first.status == 1
    server.reset(queue=replies("refusal"))
    assert draft(server, *where, "--resume").status == 1
    server.reset(queue=replies(GRAPH, good_seed()))
    done = draft(server, *where, "--resume")
    assert done.status == 0, done.err
    usages = [
        json.loads(path.read_text())["usage"]
        for path in sorted((tmp_path / "t").glob("0*.json"))
        if "diag" not in path.name
    ]
    assert len(usages) == 5
    tokens = sum(usage["input"] + usage["cache_write"] + usage["cache_read"] for usage in usages)
    output = sum(usage["output"] for usage in usages)
    assert f"- 5 calls, 2 of them discarded: {tokens:,} tokens in, {output:,} out, $" in done.err
    assert done.err.count("- 02-graph, discarded: ") == 2
    again = draft(None, "--replay", tmp_path / "t", "--out", "-", "--transcript", tmp_path / "u")
    assert again.status == 0, again.err
    assert (tmp_path / "u" / "report.md").read_text() == (tmp_path / "t" / "report.md").read_text()
    once_more = draft(None, "--replay", tmp_path / "u", "--out", "-")
    assert "5 calls, 2 of them discarded" in once_more.err


@pytest.mark.parametrize("damage", [b"", b"{", b'{"step": 3}', b"\xff", b"[]", b'{"a": 1'])
def test_a_damaged_file_of_a_transcript_is_asked_for_again(
    damage: bytes, server: Loopback, replayed: Path, tmp_path: Path
) -> None:
    """Only that one, where the answers after it fit the new one; its cost is unknown, and that is said."""
    where = ("--out", tmp_path / "seed.json", "--transcript", tmp_path / "t")
    shutil.copytree(replayed / "transcript", tmp_path / "t")
    (tmp_path / "t" / "02-graph.json").write_bytes(damage)
    server.reset(queue=replies(GRAPH))
    done = draft(server, *where, "--resume")
    assert done.status == 0, done.err
    assert len(server.messages) == 1
    assert (tmp_path / "seed.json").read_bytes() == (replayed / "seed.json").read_bytes()
    assert "02-graph.json" in done.err
    assert "; it is asked for again\n" in done.err
    assert (tmp_path / "t" / "02-graph.unused-1.json").read_bytes() == damage
    assert "- 02-graph, discarded: its file is damaged, and what it cost is unknown" in done.err
    assert "- 5 calls, 1 of them discarded: " in done.err
    replay = draft(None, "--replay", tmp_path / "t", "--out", "-")
    assert (replay.status, replay.out) == (0, (tmp_path / "seed.json").read_text())


def test_answers_after_another_one_are_asked_for_again(server: Loopback, replayed: Path, tmp_path: Path) -> None:
    """A graph in other words makes another prompt; a transcript of a changed text is refused as ever."""
    where = ("--out", tmp_path / "seed.json", "--transcript", tmp_path / "t")
    shutil.copytree(replayed / "transcript", tmp_path / "t")
    (tmp_path / "t" / "02-graph.json").write_text("{")
    other = {**GRAPH, "steps": [{**GRAPH["steps"][0], "does": "Something else"}, *GRAPH["steps"][1:]]}
    server.reset(queue=replies(other, good_seed()))
    done = draft(server, *where, "--resume")
    assert done.status == 0, done.err
    assert len(server.messages) == 2
    assert "step 03-seed is not the recorded one" in done.err
    assert (tmp_path / "seed.json").read_bytes() == (replayed / "seed.json").read_bytes()

    shutil.rmtree(tmp_path / "t")
    shutil.copytree(replayed / "transcript", tmp_path / "t")
    task = tmp_path / "task.md"
    task.write_text(TASK.read_text().replace("over 0.7", "over 0.8"))
    server.reset()
    changed = draft(server, "--out", "-", "--transcript", tmp_path / "t", "--resume", task=task)
    assert (changed.status, server.messages) == (1, [])


def test_damaged_settings_are_those_of_the_command(server: Loopback, replayed: Path, tmp_path: Path) -> None:
    """--resume says so, and writes them anew; a replay needs them."""
    shutil.copytree(replayed / "transcript", tmp_path / "t")
    (tmp_path / "t" / "session.json").write_text("{")
    (tmp_path / "t" / "04-repair.json").unlink()
    assert draft(None, "--replay", tmp_path / "t", "--out", "-").status == 1
    server.reset(queue=replies(REPAIR))
    done = draft(server, "--out", "-", "--transcript", tmp_path / "t", "--resume")
    assert done.status == 0, done.err
    assert "session.json" in done.err
    assert "the options of this command are used instead" in done.err
    assert json.loads((tmp_path / "t" / "session.json").read_text())["model"] == "claude-sonnet-5-5"


def test_attempts_without_an_answer_are_counted(server: Loopback, tmp_path: Path) -> None:
    """A connection that broke may have been charged for; nobody knows, and that is said."""
    server.reset(queue=["drop_body", *replies(CONDITIONS, GRAPH, good_seed())])
    broken = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert broken.status in (0, 1)
    assert "1 attempt ended without an answer: whether the API charges for that is unknown" in broken.err


def test_an_answer_that_cannot_be_written_was_billed(server: Loopback, tmp_path: Path) -> None:
    """The folder of the transcript is a file: the call that was made is in the costs all the same."""
    (tmp_path / "t").write_text("mine")
    server.reset(queue=replies(CONDITIONS))
    found = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert (found.status, len(server.messages)) == (2, 1)
    assert "1 call: " in found.err
