"""Test which files `compile` writes over, the names of modules, and the constructs that a target supports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from formulaseed.backends import refusals
from formulaseed.backends.base import TARGETS, Construct, Identity, load_backend
from formulaseed.backends.python.identity import read_identity
from formulaseed.backends.python.names import TAKEN_MODULES, module_name
from formulaseed.backends.python.target import BACKEND as PYTHON
from formulaseed.documents import analyse, compile_seed, load_seed
from formulaseed.errors import SeedError
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import LOGICAL, MEMBERSHIP, OPERATORS, ORDERING
from formulaseed.seed.operations import OPERATIONS
from helpers import EXAMPLES, ROOT, Outcome, command, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

HAND_WRITTEN = "def evaluate(rows):\n    return 42\n"
NOT_OURS = "it is not a file that formulaseed generated"


def compile_in(folder: Path, *arguments: object) -> Outcome:
    return command("compile", *arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the small seed and a row in it, and room for its module."""
    write_json(tmp_path / "seed.json", tiny_seed())
    write_lines(tmp_path / "rows.jsonl", tiny_rows("a", tiny_row("r1")))
    (tmp_path / "generated").mkdir()
    return tmp_path


@pytest.fixture
def target(folder: Path) -> Path:
    return folder / "generated" / "tiny_1.py"


SOURCE = compile_seed(tiny_seed())
HEADER = '"""Compiled by formulaseed, emission style 2026-11, from seed.json.\n"""\n'
FOREIGN_FILES = {
    "code": HAND_WRITTEN, "empty": "", "text": "not Python at all (", "escape": "x = '\\d'\n", "NUL": "\x00",
    "header only": f"{HEADER}{HAND_WRITTEN}",
    "constants only": f'TASK_NAME = "Tiny-1"\nSEED_SHA256 = "{"0" * 64}"\n',
    "no hash": f'{HEADER}TASK_NAME = "Tiny-1"\nSEED_SHA256 = "x"\n',
    "quoted": f"'''{SOURCE}'''\n", "commented": "\n".join(f"# {line}" for line in SOURCE.splitlines()),
}  # fmt: skip


@pytest.mark.parametrize("content", FOREIGN_FILES.values(), ids=FOREIGN_FILES)
@pytest.mark.thorough
def test_a_file_that_is_no_generated_module_is_left_alone(folder: Path, target: Path, content: str) -> None:
    """Exit status 2, what is there and what to do; --check says that it is not current; --force insists."""
    target.write_text(content)
    done = compile_in(folder, "seed.json")
    assert (done.status, done.out) == (2, "")
    advice = "move it, write to another folder with --out, or replace it with --force"
    assert done.err.endswith(f"generated/tiny_1.py: not overwritten: {NOT_OURS}; {advice}\n")
    checked = compile_in(folder, "seed.json", "--check")
    assert (checked.status, checked.out) == (1, f"generated/tiny_1.py: not what seed.json compiles to: {NOT_OURS}\n")
    assert target.read_text() == content
    assert compile_in(folder, "seed.json", "--force").status == 0
    assert compile_in(folder, "seed.json", "--check").status == 0


def test_the_other_files_are_compiled_all_the_same(folder: Path, target: Path) -> None:
    """--force is for writing alone."""
    target.write_text(HAND_WRITTEN)
    write_json(folder / "other.json", tiny_seed(task_name="Other"))
    done = compile_in(folder, "seed.json", "other.json")
    assert (done.status, done.out) == (2, "generated/other.py\n")
    assert [compile_in(folder, "seed.json", "--force", option).status for option in ("--check", "--stdout")] == [2, 2]


def test_a_module_is_written_again(folder: Path, target: Path) -> None:
    """It is, after its seed changed, after somebody edited it, and after its seed moved."""
    for change in ({}, {"description": "new"}, {"output": ["N_GOOD"]}):
        write_json(folder / "seed.json", tiny_seed(**change))
        assert compile_in(folder, "seed.json").status == 0
        target.write_text(target.read_text() + "\n# edited\n")
    (folder / "seed.json").rename(folder / "moved.json")
    assert compile_in(folder, "moved.json").status == 0
    assert "from ../moved.json" in target.read_text()


@pytest.mark.thorough
def test_a_module_of_another_seed_is_left_alone(folder: Path, target: Path) -> None:
    """The other seed is another task, or a task of the same name in another file that still exists."""
    assert compile_in(folder, "seed.json").status == 0
    before = target.read_bytes()
    write_json(folder / "other.json", tiny_seed(task_name="Tiny 1"))
    write_json(folder / "same.json", tiny_seed())
    for other in ("other.json", "same.json"):
        done = compile_in(folder, other)
        assert (done.status, done.out) == (2, "")
        reason = "it was generated from `../seed.json`, which is `Tiny-1`; rename one of the two, "
        assert f"not overwritten: {reason}" in done.err
        assert compile_in(folder, other, "--check").status == 1
        assert target.read_bytes() == before
    assert compile_in(folder, "other.json", "--force").status == 0
    assert 'TASK_NAME: Final = "Tiny 1"' in target.read_text()


def test_a_seed_is_the_same_from_wherever_it_is_named(folder: Path) -> None:
    """The working directory, the way to write the path, and a new project around the seed make no difference."""
    (folder / "tasks" / "tiny").mkdir(parents=True)
    (folder / "seed.json").rename(folder / "tasks" / "tiny" / "seed.json")
    assert compile_in(folder, "tasks/tiny/seed.json").status == 0
    assert compile_in(folder / "tasks", "tiny/../tiny/seed.json", "--out", "../generated").status == 0
    (folder / "pyproject.toml").write_text("")
    assert compile_in(folder, folder / "tasks" / "tiny" / "seed.json").status == 0
    (folder / "other").mkdir()
    done = compile_in(folder, write_json(folder / "other" / "seed.json", tiny_seed()))
    assert (done.status, "it was generated from `tasks/tiny/seed.json`, which is `Tiny-1`" in done.err) == (2, True)


@pytest.mark.thorough
def test_modules_of_other_kinds_are_other_modules(tmp_path: Path) -> None:
    reference = "formula_reference.json"
    for example, name in (("requests.jsonl", "tiny.jsonl"), ("rules.json", "tiny.json"), (reference, reference)):
        (tmp_path / name).write_bytes((EXAMPLES / example).read_bytes())
    write_json(tmp_path / "seed.json", tiny_seed(task_name="tiny"))
    names = ("seed.json", "tiny.jsonl", "tiny.json")
    for first in names:
        assert compile_in(tmp_path, first, "--force").status == 0, first
        assert [name for name in names if compile_in(tmp_path, name).status == 0] == [first]


@pytest.mark.parametrize("leads_to", ["elsewhere.py", "nothing.py", "generated"])
@pytest.mark.thorough
def test_a_link_is_not_written_through(folder: Path, target: Path, leads_to: str) -> None:
    """The link stays, and --force replaces the link itself."""
    elsewhere = folder / "elsewhere.py"
    elsewhere.write_text(SOURCE)
    target.symlink_to(folder / leads_to)
    done = compile_in(folder, "seed.json")
    assert (done.status, "not overwritten: it is a symbolic link; remove it, " in done.err) == (2, True)
    assert compile_in(folder, "seed.json", "--check").status == 1
    assert compile_in(folder, "seed.json", "--force").status == 0
    assert (target.is_symlink(), target.is_file()) == (False, True)
    assert elsewhere.read_text() == SOURCE
    assert not (folder / "nothing.py").exists()


@pytest.mark.parametrize(("make", "noun"), [(Path.mkdir, "a directory"), (os.mkfifo, "not a regular file")])
def test_no_special_file_is_replaced(folder: Path, target: Path, make: Callable[[Path], None], noun: str) -> None:
    """Not with --force either, which the message does not offer."""
    make(target)
    for options in ((), ("--force",)):
        done = compile_in(folder, "seed.json", *options)
        assert (done.status, done.out) == (2, "")
        assert done.err.endswith(f"not overwritten: it is {noun}; move it, write to another folder with --out\n")
    assert compile_in(folder, "seed.json", "--check").status == 1


def test_headers_of_every_style_are_known() -> None:
    """The header of this release is read in modules of each kind, and that of the next one."""
    kinds = {"requests_module": "requests", "rules": "rules"}
    for path in sorted((ROOT / "generated").glob("*.py")):
        identity = read_identity(path.read_text(encoding="utf-8"))
        assert identity is not None, path
        assert identity.kind == kinds.get(path.stem, "seed")
        assert (ROOT / identity.path).is_file()
        assert module_name(identity.name) == path.stem
    header = '"""Code generated by formulaseed (style 2027-01){} DO NOT EDIT.\n\nTiny.\n"""\n'
    rest = f'TASK_NAME: Final = "T"\nSEED_SHA256 = "{"a" * 64}"\nBODY_SHA256 = "{"b" * 64}"\n'
    for place, path in ((" from tasks/a, from b/seed.json.", "tasks/a, from b/seed.json"), (".", "")):
        assert read_identity(header.format(place) + rest) == Identity("seed", "T", path)


def test_the_tests_of_a_module_name_it(folder: Path) -> None:
    assert compile_in(folder, "seed.json", "--tests", "generated/tests").status == 0
    module = (folder / "generated" / "tiny_1.py").read_text()
    assert read_identity(module) == Identity("seed", "Tiny-1", "../seed.json")
    tests = (folder / "generated" / "tests" / "test_tiny_1.py").read_text()
    assert read_identity(tests) == Identity("seed", "../tiny_1.py", "../../seed.json", tested="../tiny_1.py")


def test_seeds_in_odd_folders_are_found_again(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    for name in ('a "quoted" \\ name', "DO NOT EDIT., from x.", "x\ny\u202e", "long" * 50):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "seed.json", tiny_seed(task_name=f"T {len(name)}"))
        for _ in range(2):
            assert compile_in(tmp_path, f"{name}/seed.json").status == 0, name


# --- what a target supports

EXPRESSIONS = [entry for entry in (*FUNCTIONS.values(), *OPERATORS.values()) if not getattr(entry, "folds", "")]
"""The functions and operators of arithmetic that a target sees: a function that folds is its operator by then."""
EXAMPLES_OF_ROWS: dict[Construct, Mapping[str, object]] = {
    **{
        ("function" if entry.name in FUNCTIONS else "operator", entry.name): {
            "name": "X", "op": "expr", "expr": entry.example.replace("None", "context.tier"),
        }
        for entry in EXPRESSIONS
    },
    **{
        ("operator", name): {"name": "X", "op": "any", "expr": formula}
        for name, formula in (
            *((sign, f"meta.stars {sign} 2") for sign in ORDERING),
            *((word, f"meta.year {word} [2020, 2021]") for word in MEMBERSHIP),
            *((word, f"meta.stars > 2 {word} meta.useful > 1") for word in LOGICAL if word != "not"),
            ("not", "not (meta.stars > 2 and meta.useful > 1)"),
        )
    },
    **{("aggregate", entry.name): entry.example for entry in AGGREGATES.values()},
    **{("operation", name): OPERATIONS[name].example for name in refusals.OPERATIONS.values()},
}  # fmt: skip
"""A step for each row of the tables. A field replaces null, since the checker folds `coalesce(None, 5)`."""


def refusals_of(construct: Construct, target: str) -> list[str]:
    """Compile the example of a row; return the messages of the errors FS702."""
    step = EXAMPLES_OF_ROWS[construct]
    context = [{"name": "tier", "type": "integer", "nullable": True}]
    output = ["N" if step["op"] == "define_filter" else step["name"]]
    steps = [{"name": "N", "op": "count"}, step]
    loaded = load_seed(
        {"task_name": "T", "context": context, "extract": {"fields": []}, "compute": steps, "output": output}
    )
    try:
        assert compile_seed(loaded, target=target)
    except SeedError as error:
        return [d.message for d in error.diagnostics if d.code == "FS702"]
    return []


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_has_every_row_of_the_tables_or_refuses_it_by_name(target: str) -> None:
    unsupported = load_backend(target).unsupported
    assert unsupported <= EXAMPLES_OF_ROWS.keys()
    for construct in EXAMPLES_OF_ROWS:
        assert bool(refusals_of(construct, target)) is (construct in unsupported), construct


@pytest.mark.parametrize("construct", EXAMPLES_OF_ROWS, ids=" ".join)
def test_a_row_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch, construct: Construct) -> None:
    """The program is refused before the target emits anything."""
    monkeypatch.setattr(PYTHON, "unsupported", frozenset({construct}))
    monkeypatch.setattr(type(PYTHON), "emit", None)
    noun, name = construct
    assert set(refusals_of(construct, "python")) == {f"the target `python` does not support the {noun} `{name}`"}


def test_every_use_is_reported_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also inside filters, aggregates and rules."""
    monkeypatch.setattr(PYTHON, "unsupported", frozenset({("function", "abs"), ("operation", "case")}))
    seed = tiny_seed()
    seed["compute"] += [
        {"name": "IS_FAR", "op": "define_filter", "expr": "abs(meta.stars - 3) > 1"},
        {"name": "X", "op": "sum", "expr": "abs(meta.useful)", "where": {"$IS_FAR": True}},
        {"name": "Y", "op": "case", "rules": [{"when": "abs(X) > 9", "then": 1}, {"else": 2}]},
    ]
    seed["output"] = ["X", "Y"]
    with pytest.raises(SeedError) as error:
        compile_seed(seed)
    diagnostics = error.value.diagnostics
    spans = [d.span for d in diagnostics if "`abs`" in d.message]
    texts = [span.source.text[span.start : span.end] for span in spans]
    assert texts == ["abs(meta.stars - 3)", "abs(meta.useful)", "abs(X)"]
    assert sum("`case`" in d.message for d in diagnostics) == 2  # VERDICT and Y


@pytest.mark.parametrize(
    ("task", "module"),
    [
        ("G1a-v2", "g1a_v2"), ("Café Noir", "cafe_noir"), ("a – b’s “c”", "a_bs_c"), ("Ｇ１", "g1"), ("42", "task_42"),
        ("Caf\u00e9 \u0439", "cafe_c81e3931"), ("Cafe\u0301 \u0438\u0306", "cafe_c81e3931"),
        ("花生过敏", "task_80bafb5e"), ("x" * 255, "x" * 119 + "_d22609da"), ("G1a 花生", "g1a_798cce2e"),
        ("G1a 苹果", "g1a_6c0e5a20"), ("42 花", "task_42_fe4e0de0"),
        ("Аллергия", "task_cc4cdcc7"), ("Soup 🍜", "soup_e9146ae8"),
        ("conftest", "conftest_module"), ("setup", "setup_module"), ("test", "task_test_module"), ("Test x", "task_test_x"),
        ("test-x-test", "task_test_x_test_module"), ("x test", "x_test_module"), ("testing", "testing"), ("a test b", "a_test_b"),
        ("__init__", "init"), ("class", "class_module"), ("math", "math_module"), ("formulaseed", "formulaseed_module"),
        ("CON", "con_module"),
        ("requests", "requests_module"), ("YAML", "yaml_module"), ("attr", "attr_module"), ("PIL", "pil_module"),
        ("asyncore", "asyncore_module"), ("annotationlib", "annotationlib_module"), ("rules", "rules"),
    ],
)  # fmt: skip
def test_modules_are_named_by_a_stated_rule(task: str, module: str) -> None:
    """A lost letter adds a hash, a lost accent or sign does not; no name is one that a tool or an import would find."""
    assert analyse(tiny_seed(task_name=task)).program is not None
    assert module_name(task) == module


def test_no_module_hides_an_installed_one() -> None:
    """The lists have the modules of this Python and this environment; they are sorted and without duplicates."""
    lines = TAKEN_MODULES.read_text(encoding="utf-8").splitlines()
    lists = [words.split() for words in re.split(r"#.*\n", "\n".join(lines)) if words]
    assert [sorted(set(names)) for names in lists] == lists
    assert not set(lists[0]) & set(lists[1])
    python = {name.lower() for name in sys.stdlib_module_names if not name.startswith("_")}
    assert python <= set(lists[0])
    needed = ("anthropic", "black", "click", "hypothesis", "jinja2", "lark", "pydantic", "pytest", "rich", "sqlalchemy")
    assert {module_name(name) for name in needed} == {f"{name}_module" for name in needed}


def test_a_module_under_its_former_name_is_reported(tmp_path: Path) -> None:
    """The former module stays, for people to delete; a file of another origin is not reported."""
    write_json(tmp_path / "seed.json", tiny_seed(task_name="math"))
    assert compile_in(tmp_path, "seed.json").status == 0
    folder = tmp_path / "generated"
    (folder / "math_.py").write_bytes((folder / "math_module.py").read_bytes())
    (folder / "math.py").write_text("PI = 3\n")
    for options in ((), ("--check",)):
        done = compile_in(tmp_path, "seed.json", *options)
        assert done.status == 0
        assert done.err.splitlines()[-1] == (
            "generated/math_.py: an earlier module of the same file, which is now generated/math_module.py: delete it"
        )
    assert sorted(path.name for path in folder.glob("*.py")) == ["math.py", "math_.py", "math_module.py"]


def test_tasks_without_a_letter_of_ascii_are_compiled_and_run(folder: Path) -> None:
    names = ("花生过敏", "Аллергия", "حساسية")
    files = [write_json(folder / f"{number}.json", tiny_seed(task_name=name)) for number, name in enumerate(names)]
    done = compile_in(folder, *files)
    assert (done.status, done.out.split()) == (0, [f"generated/{module_name(name)}.py" for name in names])
    for name in names:
        done = command("evaluate", folder / "generated" / f"{module_name(name)}.py", "--rows", folder / "rows.jsonl")
        assert [result["task"] for result in done.results] == [name]
    program = [sys.executable, "-c", f"import {module_name(names[0])} as m; print(ascii(m.TASK_NAME))"]
    imported = subprocess.run(program, cwd=folder / "generated", capture_output=True, text=True, check=True)
    assert imported.stdout.strip() == ascii(names[0])


def test_a_name_needs_a_letter_or_a_digit() -> None:
    assert [d.code for d in analyse(tiny_seed(task_name="🍜")).diagnostics if d.severity == "error"] == ["FS206"]


def test_a_name_of_256_characters_is_refused_and_a_long_typo_is_found() -> None:
    name = "N" * 255
    over = analyse({**tiny_seed(), "compute": [{"name": name + "N", "op": "count"}], "output": []})
    assert any("at most 255" in d.help for d in over.diagnostics)
    near = analyse({**tiny_seed(), "compute": [{"name": name, "op": "count"}], "output": [name[:-1]]})
    assert any(d.code == "FS201" and f"`{name}`" in d.help for d in near.diagnostics)


@pytest.mark.thorough
def test_a_module_outside_of_a_project_names_its_seed_from_its_folder(tmp_path: Path) -> None:
    """Every command finds the seed, from any working directory, and the bytes do not depend on the folder's place."""
    modules = []
    for place in (tmp_path / "here", tmp_path / "else" / "where"):
        (place / "tasks" / "p").mkdir(parents=True)
        write_json(place / "tasks" / "p" / "seed.json", tiny_seed())
        assert compile_in(place, "tasks/p/seed.json", "--tests", "generated/tests").status == 0
        module = place / "generated" / "tiny_1.py"
        modules.append(module.read_bytes())
        assert modules[-1].startswith(b'"""Code generated by formulaseed (style 2027-01) from ../tasks/p/seed.json.')
        assert command("compile", "tasks/p/seed.json", "--stdout", cwd=place).out.encode() == modules[-1]
        rows = write_lines(place / "rows.jsonl", tiny_rows("a", tiny_row("r1")))
        contexts = write_lines(place / "contexts.jsonl", {"business_id": "a", "name": "A", "is_open": 1, "reviews": []})
        for folder in (place, module.parent, tmp_path):
            named, seed, out, tests = (
                os.path.relpath(path, folder) for path in (
                    module, place / "tasks" / "p" / "seed.json", module.parent, module.parent / "tests" / "test_tiny_1.py")
            )  # fmt: skip
            for arguments in (
                ("evaluate", named, "--rows", rows), ("explain", named, "--rows", rows), ("run", named, "--contexts", contexts),
                ("compile", seed, "--check", "--out", out), ("compile", "--check", named, tests),
            ):  # fmt: skip
                done = command(*arguments, cwd=folder)
                assert done.status in (0, 3), (arguments, done.err)  # a restaurant without reviews has no share
    assert modules[0] == modules[1]


def explain(folder: Path, module: str) -> Outcome:
    return command("explain", module, "--rows", "rows.jsonl", cwd=folder)


def test_a_module_beside_or_above_its_seed_names_it_so(folder: Path) -> None:
    (folder / "seed.json").rename(folder / "generated" / "seed.json")
    assert compile_in(folder, "generated/seed.json", "--out", ".").status == 0
    assert " from generated/seed.json. " in (folder / "tiny_1.py").read_text()
    assert explain(folder, "tiny_1.py").status == 0


@pytest.mark.parametrize("is_project", [False, True])
def test_a_seed_that_is_gone_is_named(folder: Path, is_project: bool) -> None:
    if is_project:
        (folder / "pyproject.toml").write_text("")
    assert compile_in(folder, "seed.json").status == 0
    (folder / "seed.json").rename(folder / "moved.json")
    assert command("evaluate", "generated/tiny_1.py", "--rows", "rows.jsonl", cwd=folder).status == 0
    done = explain(folder, "generated/tiny_1.py")
    where = "../seed.json, and there is no such file in generated"
    if is_project:
        where = "seed.json, and there is no such file in generated or a folder above it"
    assert done.status == 2
    assert done.err.endswith(f"generated/tiny_1.py was compiled from {where}; pass the seed instead\n")
    checked = command("compile", "--check", "generated/tiny_1.py", cwd=folder)
    assert (checked.status, checked.out) == (1, f"generated/tiny_1.py: was compiled from {where}\n")


def test_a_module_without_a_path_says_so(folder: Path) -> None:
    (folder / "tiny.py").write_text(SOURCE)
    done = explain(folder, "tiny.py")
    assert done.status == 2
    assert done.err.endswith("tiny.py does not name the file that it was compiled from; pass the seed instead\n")
