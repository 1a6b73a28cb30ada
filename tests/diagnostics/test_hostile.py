"""Test the hostile corpus: each seed is refused with the expected codes, or gives the expected values and no side effect."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from formulaseed.backends.python import expressions
from formulaseed.backends.python.names import module_name
from formulaseed.backends.python.render import render_function_helpers
from formulaseed.documents import analyse, compile_seed, load_seed
from formulaseed.errors import EvaluationError, SeedError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source
from generated_trees import code_alone
from helpers import ROOT, write_json
from hostile_corpus import FOLDER, base, entries, texts_of

CORPUS = entries()
SECONDS = 3
"""The processor time that a seed may take to be checked, and again to be compiled."""

REFUSED = [name for name, entry in CORPUS.items() if not entry.is_fine]
COMPILED = [entry for entry in CORPUS.values() if entry.is_fine and entry.canary][::2]
"""Half of the seeds with a payload that a careless compiler would run: the watched command compiles them, formatted."""

FINE = [entry.id for entry in CORPUS.values() if entry.is_fine and entry not in COMPILED]


def are_same(values: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Return True if all expected values are there, also of the same type: to Python 1, 1.0 and True are equal."""
    return all(name in values and repr(values[name]) == repr(value) for name, value in expected.items())


# --- a process that is watched


@dataclass
class Watched:
    """The events of a watched process, and the files of its plan."""

    folder: Path
    report: dict[str, Any]
    err: str
    seeds: dict[str, Path]
    modules: dict[str, Path]

    def events_of(self, kind: str) -> list[list[str]]:
        return [event[1:] for event in self.report["events"] if event[0] == kind]

    @cached_property
    def reported(self) -> dict[str, list[dict[str, Any]]]:
        """The diagnostics that `check` printed, by seed."""
        by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for diagnostic in json.loads(self.report["commands"][0]["out"]):
            by_file[diagnostic["file"]].append(diagnostic)
        return {name: by_file[str(path)] for name, path in self.seeds.items()}

    def time_of(self, name: str) -> float:
        """Return the processor time from the opening of a seed's file to that of the next one, in seconds."""
        files = [*map(str, self.seeds.values()), str(self.folder / "honest.json")]
        place, opened = files.index(str(self.seeds[name])), self.report["opened"]
        return float(opened[files[place + 1]] - opened[files[place]])


def watch(folder: Path, plan: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Run the plan in a process of its own, whose working directory is `folder/work`."""
    (folder / "work").mkdir()
    plan_file = write_json(folder / "plan.json", plan)
    command = [sys.executable, "-B", FOLDER / "watch.py", plan_file, folder / "report.json"]
    environment = {"PYTHONPATH": str(ROOT / "compiler"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder / "work", env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "report.json").read_text(encoding="utf-8")), done.stderr


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """The watched run of the command over the whole corpus: check, compile, and evaluate the compiled modules."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "seeds").mkdir()
    seeds = {name: folder / "seeds" / f"{name}.json" for name in CORPUS}
    for name, path in seeds.items():
        path.write_bytes(CORPUS[name].data)
    honest = str(write_json(folder / "honest.json", base()["seed"]))
    texts = ("1 +", "f(1)", "meta.date.year")
    formulas = [{"name": f"A{at}", "op": "expr", "expr": text} for at, text in enumerate(texts)]
    mistaken = str(write_json(folder / "mistaken.json", {**base()["seed"], "compute": formulas, "output": ["A0"]}))
    v1 = {"task_name": "V1", "compute_dag": [{"name": "A", "formula": "len(extractions)"}], "output_fields": ["A"]}
    older = str(write_json(folder / "older.json", v1))
    warm_out, out = str(folder / "warm"), folder / "out"
    modules = {entry.id: out / f"{module_name((entry.seed or {})['task_name'])}.py" for entry in COMPILED}
    plan = {
        "warm": [["check", honest, "--format", "json"], ["check", str(folder), mistaken, older, "--format", "json"],
                 ["compile", honest, "--out", warm_out]],
        "warm_load": [[f"{warm_out}/hostile.py", base()["rows"], base()["context"], None]],
        "watched": [["check", *map(str, seeds.values()), honest, "--format", "json"],
                    ["compile", *(str(seeds[entry.id]) for entry in COMPILED), "--out", str(out)]],
        "load": [[str(modules[entry.id]), entry.rows, entry.context, entry.parameters] for entry in COMPILED],
    }  # fmt: skip
    report, err = watch(folder, plan)
    return Watched(folder, report, err, seeds, modules)


# --- one by one


def test_the_corpus_is_large_and_has_no_seed_twice() -> None:
    assert len(CORPUS) >= 300
    keys = ("set", "text", "drop", "encoding", "rows", "parameters")
    contents = {json.dumps([entry.entry.get(key) for key in keys]) for entry in CORPUS.values()}
    assert len(contents) == len(CORPUS)
    for entry in CORPUS.values():
        assert entry.entry["about"]
        assert bool(entry.errors) is not entry.is_fine


@pytest.mark.thorough
@pytest.mark.parametrize("name", FINE)
def test_an_honest_oddity_gives_right_values(name: str, tmp_path: Path) -> None:
    """The seed compiles in time, its module has only printable lines, and gives the expected values."""
    entry = CORPUS[name]
    (tmp_path / "seed.json").write_bytes(entry.data)
    seed: Any = entry.seed or tmp_path / "seed.json"
    start = time.process_time()
    loaded = load_seed(seed)
    source = compile_seed(loaded, formatted=False)
    assert time.process_time() - start < 2 * SECONDS
    assert all(line.isprintable() for line in source.split("\n"))
    evaluator = Evaluator(module_from_source(source, loaded.task_name))
    if entry.raises is None:
        values = evaluator.trace(entry.rows, entry.context, entry.parameters)
        assert are_same(values, entry.values), values
    else:
        with pytest.raises(EvaluationError) as raised:
            evaluator.trace(entry.rows, entry.context, entry.parameters)
        assert [raised.value.step, raised.value.kind] == entry.raises


@pytest.mark.thorough
def test_hostile_seeds_are_refused(watched: Watched) -> None:
    """Each is refused with the expected codes, in printable words, and in time."""
    for name in REFUSED:
        diagnostics = watched.reported[name]
        errors = {d["code"] for d in diagnostics if d["severity"] == "error"}
        assert errors == CORPUS[name].errors, (name, diagnostics)
        assert all((d["message"] + d["help"]).isprintable() for d in diagnostics), (name, diagnostics)
        assert watched.time_of(name) < SECONDS, name


@pytest.mark.thorough
def test_a_dictionary_is_refused_like_a_file() -> None:
    refused = [CORPUS[name] for name in REFUSED if CORPUS[name].seed is not None]
    sample = [entry for entry in refused if len(entry.data) < 10_000][::10]
    assert len(sample) >= 30
    for entry in sample:
        codes = {d.code for d in analyse(entry.seed or {}).diagnostics if d.severity == "error"}
        assert codes == entry.errors, entry.id


NESTED = {
    "checked sums": " + ".join(["C12"] * 250),
    "quotients": " / ".join(["context.n"] * 250),
    "powers": " ** ".join(["param.Y"] * 250),
    "calls": "clamp(context.n if param.Y > 0 else " * 60 + "1 / param.Y / param.Y" + ", -1, 1)" * 60,
}


@pytest.mark.parametrize("formula", NESTED.values(), ids=NESTED)
@pytest.mark.thorough
def test_no_formula_nests_deeper_than_python_reads(formula: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of long formulas are computed first; without that the compiler reports FS104, not a bug."""
    steps = [{"name": "C0", "op": "count"}]
    steps += [{"name": f"C{n + 1}", "op": "expr", "expr": f"C{n} * C{n}"} for n in range(12)]
    steps.append({"name": "X", "op": "expr", "expr": formula})
    seed = {
        "task_name": "Deep", "parameters": {"Y": {"type": "number", "default": 1}},
        "context": [{"name": "n", "type": "number", "nullable": True}],
        "extract": {"fields": []}, "compute": steps, "output": ["X"],
    }  # fmt: skip
    assert "(part := " in compile_seed(seed, formatted=False)
    monkeypatch.setattr(expressions, "MAX_DEPTH", 1000)
    with pytest.raises(SeedError) as refused:
        compile_seed(seed)
    assert [d.code for d in refused.value.diagnostics] == ["FS104"]


# --- all of them in that process


@pytest.mark.thorough
def test_the_command_is_calm(watched: Watched) -> None:
    """`check` over all files ends with status 1, prints the list alone, and reports no error of an honest oddity."""
    checked = watched.report["commands"][0]
    assert (checked["status"], checked["err"], watched.err) == (1, "", "")
    fine = [name for name, entry in CORPUS.items() if entry.is_fine]
    assert [name for name in fine if any(d["severity"] == "error" for d in watched.reported[name])] == []
    assert [name for name in fine if watched.time_of(name) >= SECONDS] == []


@pytest.mark.thorough
def test_what_is_compiled_gives_right_values(watched: Watched) -> None:
    """The formatted modules, read from their files and verified again, give the values of the corpus."""
    compiled = watched.report["commands"][1]
    assert (compiled["status"], compiled["out"]) == (0, "".join(f"{path}\n" for path in watched.modules.values()))
    assert "Traceback" not in compiled["err"]
    for entry, values in zip(COMPILED, watched.report["values"], strict=True):
        assert are_same(values, entry.values), entry.id


@pytest.mark.thorough
def test_nothing_is_written_but_the_modules(watched: Watched) -> None:
    """The folders have the files of the plan and the modules; all files opened for writing are modules, unfinished."""
    files = {path for path in watched.folder.rglob("*") if path.is_file()}
    ours = ("honest.json", "mistaken.json", "older.json", "plan.json", "report.json")
    planned = {*watched.seeds.values(), *(watched.folder / name for name in ours)}
    assert files - planned == {*watched.modules.values(), watched.folder / "warm" / "hostile.py"}
    out = re.escape(str(watched.folder / "out"))
    for (path,) in watched.events_of("write"):
        assert re.fullmatch(rf"{out}/\.[\w.-]+\.tmp|[0-9]+", path), path


@pytest.mark.thorough
def test_nothing_of_a_seed_is_executed(watched: Watched) -> None:
    """All events are those of parsing and importing our modules and their records; no canary occurs."""
    sources = {path.read_text(encoding="utf-8") for path in watched.modules.values()}
    statements = {statement for source in sources for statement in code_alone(source)}
    for event, *arguments in watched.report["events"]:
        match event:
            case "exec":
                assert arguments == ["<string>"]
            case "compile":
                text, file = arguments
                is_parsed = file == "<unknown>" and text.startswith('"""')  # a module, looked at and not run
                is_part = file == "<unknown>" and not is_parsed and statements.issuperset(code_alone(text))
                is_helper = file == "<unknown>" and text == render_function_helpers()  # of the table of functions
                is_module = file == "<string>" and text in sources
                record = r"lambda _cls, [\w, ]*: _tuple_new\(_cls, \([\w, ]*\)\)"
                is_record = file == "<string>" and re.fullmatch(record, text)
                is_type = file == "<string>" and re.fullmatch(r"\w+( \| None)?", text)
                assert is_parsed or is_part or is_helper or is_module or is_record or is_type, (file, text[:200])
            case "write" | "os.rename" | "os.mkdir" | "os.chmod" | "os.listdir" | "os.scandir" | "tempfile.mkstemp":
                assert str(watched.folder / "out") in " ".join(arguments) or event == "write", (event, arguments)
            case _:
                raise AssertionError((event, arguments))
    compiled = watched.events_of("compile")
    modules = [text for text, file in compiled if file == "<string>" and text in sources]
    records = [text for text, _ in compiled if text.startswith("lambda _cls")]
    assert len(watched.events_of("exec")) == len(modules) + len(records)
    assert watched.report["new builtins"] == []


@pytest.mark.thorough
def test_the_canary_sings(tmp_path: Path) -> None:
    """Each payload with a canary leaves a trace if its text becomes code in the careless way that the canary names."""
    singers = [entry for entry in CORPUS.values() if entry.canary]
    payloads = [(entry, text) for entry in singers for text in texts_of(entry.seed or entry.data.decode())]
    report, _ = watch(tmp_path, {"plain": [[entry.canary, text] for entry, text in payloads]})
    sang = {entry.id for (entry, _), left in zip(payloads, report["plain"], strict=True) if left}
    assert [entry.id for entry in singers if entry.id not in sang] == []
    assert len(sang) >= 40
    seen = {event[0] for event in report["events"]}
    assert {"exec", "compile", "os.system", "subprocess.Popen", "write", "hostile.canary"} <= seen
