"""Files of rules: checked in one go, compiled to modules that agree with the reference interpreter, refused by name."""

from __future__ import annotations

import ast
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from formulaseed import DataError, EvaluationError, SeedError, pipeline
from formulaseed.backends.python.verify import verify_source
from formulaseed.documents import analyse_rules
from formulaseed.pipeline import require_valid
from formulaseed.reference.evaluation import evaluate_each, evaluate_steps
from formulaseed.runtime.loading import module_from_source
from helpers import EXAMPLES, ROOT, command, write_json
from listing import BARE, DOCUMENTED, FULL, LISTINGS

REFERENCE = EXAMPLES / "formula_reference.json"
RULES = EXAMPLES / "rules.json"
GENERATED = ROOT / "generated" / "rules.py"


def compile_rules(path: Path, reference: Path = REFERENCE) -> Any:
    """The module of a file of rules, imported."""
    return module_from_source(pipeline.compile(require_valid(analyse_rules(path, reference))), path.stem)


def codes(path: Path, reference: Path | None = REFERENCE) -> list[str]:
    return [d.code for d in analyse_rules(path, reference).diagnostics]


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every formula of the documentation as a rule."""
    rules = [{"name": f"rule {n}", "formula": d.formula} for n, d in enumerate(DOCUMENTED)]
    return write_json(tmp_path_factory.mktemp("rules") / "documented.json", rules)


@pytest.fixture(scope="module")
def module() -> Any:
    return compile_rules(RULES)


# --- modules


def test_modules_agree_with_the_interpreter(documented: Path) -> None:
    """Each rule's function gives what the interpreter gives, or fails with the same kind, for every listing."""
    program = require_valid(analyse_rules(documented, REFERENCE)).program
    module = compile_rules(documented)
    assert len(module.RULES) == len(DOCUMENTED)
    for index, values in enumerate(LISTINGS):
        record = module.parse_record(values)
        for number, expected in enumerate(formula.values[index] for formula in DOCUMENTED):
            function = getattr(module, f"rule_{number}")
            if isinstance(expected, str):
                with pytest.raises(module.EvaluationError) as failed:
                    function(record)
                assert (failed.value.kind, failed.value.step) == (expected, f"rule {number}")
            else:
                value = function(record)
                assert (type(value), value) == (float, pytest.approx(expected, rel=1e-9))
    assert evaluate_steps(program, FULL) == module.evaluate(module.parse_record(FULL))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ram_gb": None}, "`ram_gb` is missing; it must be an integer"),
        ({"ram_gb": "1"}, "`ram_gb` must be an integer of 64 bits, not '1'"),
        ({"cpu": 5}, "`cpu` must be an object or null, not 5"), ({"gpu": []}, "`gpu` must be an object or null, not []"),
        ({"condition": "broken"}, "`condition` must be one of new, refurb, used, not 'broken'"),
        ({"listing": {"ram_gb": 1}}, "`ram_gb` is given twice, with different values"),
        ({"cpu": {"tdp_w": True}}, "`cpu.tdp_w` must be an integer of 64 bits, not True"),
    ],
)  # fmt: skip
def test_records_that_do_not_fit(changes: dict[str, Any], message: str, module: Any) -> None:
    """A module refuses the JSON that a formula refuses."""
    with pytest.raises(module.DataError, match=re.escape(message)):
        module.parse_record({**FULL, **changes})


def test_records_are_read_like_values(module: Any) -> None:
    """A module takes the same JSON as a formula, with fields of the root inside its entity or not."""
    plain = {name: value for name, value in FULL.items() if not isinstance(value, dict)}
    related = {name: value for name, value in FULL.items() if name not in plain and name != "listing"}
    prefixed = {"listing": {**FULL["listing"], **plain}}
    direct = module.evaluate(module.parse_record(FULL))
    assert module.evaluate(module.parse_record({**prefixed, **related})) == direct
    assert module.evaluate(module.parse_record(BARE))["clamped_gpu_value"] == 0.0


def test_a_module_stands_alone(tmp_path: Path) -> None:
    """It imports the standard library only, in an interpreter that knows no other."""
    shutil.copy(GENERATED, tmp_path / "rules.py")
    program = (
        f"import json, sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport rules\n"
        f"print(json.dumps(rules.evaluate(rules.parse_record(json.loads({json.dumps(FULL)!r})))))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["basic_ram_valuation"] == 80.0


@pytest.mark.thorough
def test_modules_pass_strict_type_checking(documented: Path, tmp_path: Path) -> None:
    """mypy's strict mode finds nothing, whatever the formulas are like."""
    path = tmp_path / "documented.py"
    path.write_text(pipeline.compile(require_valid(analyse_rules(documented, REFERENCE))), encoding="utf-8")
    arguments = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_texts_cannot_leave_their_place(tmp_path: Path) -> None:
    """Descriptions that look like code or like orders to tools change nothing of what a module does."""
    nasty = ['"""\nimport os\n"""# type: ignore', "noqa", "{{ rules }}", "\\", "a\u2028b", '"', "'''", "}} {% raw %}"]
    trees = []
    for described in (False, True):
        texts = [{"description": text} if described else {} for text in nasty]
        rules = [{"name": f"r{n}", "formula": "ram_gb * 2.5", **text} for n, text in enumerate(texts)]
        path = write_json(tmp_path / "rules.json", rules)
        source = pipeline.compile(require_valid(analyse_rules(path, REFERENCE)))
        assert verify_source(source) is None
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
                node.body = node.body[1:]
        trees.append([ast.dump(node) for node in tree.body if "SHA256" not in ast.dump(node)])
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    "name",
    ["evaluate", "class", "Record", "parse_record", "int", "max", "1st", "…", "RAM per GB ($)", "_x", "record", "ram_gb",
     "JsonValue", "__init__", "math", "gi_frame", "'; import os", "Ünïcode", "l", "RULES"],
)  # fmt: skip
def test_any_name_makes_a_function(name: str, tmp_path: Path) -> None:
    """Whatever a rule is called, the module has a function for it that hides nothing of the module's own."""
    rules = [{"name": name, "formula": "ram_gb * 2"}, {"name": "other", "formula": "log(ram_gb + 1)"}]
    module = compile_rules(write_json(tmp_path / "rules.json", rules))
    assert module.evaluate(module.parse_record({"ram_gb": 3})) == {name: 6.0, "other": math.log(4)}


def test_odd_fields_make_a_record(tmp_path: Path) -> None:
    """Fields that are called like words of Python, of the language or of the module are read as any others."""
    names = ["class", "if", "True", "record", "count", "index", "_hidden", "int", "evaluate", "self", "def", "x" * 90]
    entities = {"thing": {"fields": dict.fromkeys(names, "integer")}}
    reference = write_json(tmp_path / "reference.json", {"root": "thing", "entities": entities})
    formula = " + ".join(f"thing.{name}" for name in names)
    module = compile_rules(write_json(tmp_path / "rules.json", [{"name": "sum", "formula": formula}]), reference)
    assert module.evaluate(module.parse_record(dict.fromkeys(names, 1))) == {"sum": float(len(names))}


def test_modules_are_the_same_every_time(tmp_path: Path) -> None:
    """The same rules give the same bytes, in any process."""
    sources = {command("compile", "examples/rules.json", "--stdout", env={"PYTHONHASHSEED": seed}).out for seed in "12"}
    assert sources == {GENERATED.read_text(encoding="utf-8")}


# --- diagnostics


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"rules": []}, ["FS509"]), ({"rules": 5}, ["FS503"]),
        ({"rules": [{"name": "a", "formula": "1"}], "extra": 1}, ["FS501"]),
        ({"rules": [{"name": "a", "formula": "1"}], "reference": "none.json"}, ["FS509"]),
        ({"rules": [{"name": "a", "formula": "1"}], "description": "Prices"}, []),
        ([{"name": "a", "formula": "stars * 2"}], []), ([{"name": "a" * 256, "formula": "1"}], ["FS206"]),
        ([{"name": "a\nb", "formula": "1"}], ["FS206"]), ([{"name": "a", "formula": "x" * 20_000}], ["FS104"]),
        ([{"name": f"r{n}", "formula": "1"} for n in range(1001)], ["FS510"]),
    ],
    ids=lambda value: json.dumps(value)[:60],
)  # fmt: skip
def test_the_format(document: Any, expected: list[str], tmp_path: Path) -> None:
    """A file of rules has a list or an object; without a reference its names are the restaurant's."""
    assert codes(write_json(tmp_path / "rules.json", document), None) == expected


def test_where_the_reference_comes_from(tmp_path: Path) -> None:
    """It lies beside the rules, or they name it, or it is given; a broken one is reported instead of the rules."""
    rules = [{"name": "a", "formula": "ram_gb * 2"}]
    path, beside = write_json(tmp_path / "rules.json", rules), tmp_path / "formula_reference.json"
    assert codes(path, None) == ["FS204"]
    shutil.copy(REFERENCE, beside)
    assert codes(path, None) == []
    (tmp_path / "other").mkdir()
    named = {"reference": "../formula_reference.json", "rules": rules}
    assert codes(write_json(tmp_path / "other" / "rules.json", named), None) == []
    beside.write_text("{", encoding="utf-8")
    assert (codes(path, None), codes(path, REFERENCE)) == (["FS001"], [])


def test_strict_rules(tmp_path: Path) -> None:
    """With --strict a rule that may meet null is refused."""
    path = write_json(tmp_path / "rules.json", [{"name": "a", "formula": "cpu.cores * 2"}])
    for arguments in (["check", path], ["compile", path, "--stdout"]):
        assert command(*arguments, "--reference", REFERENCE).status == 0
        assert command(*arguments, "--reference", REFERENCE, "--strict").status == 1


def test_fix_leaves_rules_alone(tmp_path: Path) -> None:
    """--fix changes seeds and requests; a file of rules stays as it is. Its errors raise the exception of seeds."""
    path = write_json(tmp_path / "rules.json", [{"name": "a", "formula": "ram_gbs * 2"}])
    before = path.read_bytes()
    for arguments in (("check", "--fix", path), ("compile", path, "--stdout")):
        assert command(*arguments, "--reference", REFERENCE).status == 1
    assert path.read_bytes() == before
    with pytest.raises(SeedError, match="FS204"):
        require_valid(analyse_rules(path, REFERENCE))


def test_one_rule_that_fails(tmp_path: Path) -> None:
    """`evaluate_steps` raises for the first rule that has no value, by its name."""
    rules = [{"name": "fine", "formula": "1"}, {"name": "bad one", "formula": "1 / ram_gb"}]
    path = write_json(tmp_path / "rules.json", rules)
    with pytest.raises(EvaluationError) as failed:
        evaluate_steps(require_valid(analyse_rules(path, REFERENCE)).program, BARE)
    failure = failed.value
    assert (failure.step, failure.kind, failure.place) == ("bad one", "division_by_zero", f"{path}:8:17")


def test_a_misspelt_field_of_a_record_is_refused(tmp_path: Path) -> None:
    """A key that is a typo of an absent field, in its entity or beside it, does not leave the field null."""
    fields = {"price": "float", "cond": {"type": "enum", "values": ["new", "old"], "nullable": True}, "bond": "float"}
    schema = write_json(tmp_path / "schema.json", {"root": "listing", "entities": {"listing": {"fields": fields}}})
    rules = write_json(tmp_path / "rules.json", [{"name": "r", "formula": "1 if cond == 'new' else 2"}])
    module = compile_rules(rules, schema)
    for record in ({"cnd": "new"}, {"Cond": "new"}, {"listing": {"cnd": "new"}}, {"listng": {"cond": "new"}}):
        with pytest.raises(module.DataError, match="is missing, but there is"):
            module.parse_record(record)
    for record in ({"bond": 1.0}, {"listing": {"bond": 1.0}}, {"listing": None}, {}, {"cond": None}):
        assert module.parse_record(record) == (None,)
    for value in (5, None, [], "x"):
        with pytest.raises(module.DataError, match="the record must be an object"):
            module.parse_record(value)


def test_rules_use_earlier_rules(tmp_path: Path) -> None:
    """Module and reference evaluator agree on rules that use rules; each is computed once, and the first failure counts."""
    chain = [{"name": "r0", "formula": "ram_gb"}, {"name": "r1", "formula": "r0 + 1  # twice"}]
    chain += [{"name": f"r{n}", "formula": f"r{n - 1} + r{n - 2}"} for n in range(2, 90)]
    path = tmp_path / "chain.json"
    path.write_text(
        json.dumps([*chain, {"name": "fails", "formula": "1 / (r1 - r1)"}, {"name": "last", "formula": "fails"}])
    )
    program = require_valid(analyse_rules(path, REFERENCE)).program
    module = compile_rules(path)
    with pytest.raises(module.EvaluationError) as failed:
        module.evaluate(module.parse_record(FULL))
    assert failed.value.step == "fails"
    values, errors = evaluate_each(program, FULL)
    assert [*errors] == ["fails", "last"]
    path.write_text(json.dumps(chain))
    assert compile_rules(path).evaluate(module.parse_record(FULL)) == values


def test_a_rule_that_uses_a_failed_rule_says_through_which(tmp_path: Path) -> None:
    """The failure and its place are those of the first rule; only the rule that is used directly is named."""
    path = tmp_path / "rules.json"
    rules = {
        "base_value": "1 / (ram_gb - ram_gb)",
        "middle": "base_value * 2",
        "last": "middle + base_value * 0",
        "end": "middle",
    }
    write_json(path, [{"name": name, "formula": formula} for name, formula in rules.items()])
    errors = evaluate_each(require_valid(analyse_rules(path, REFERENCE)).program, FULL)[1]
    root = errors["base_value"]
    assert isinstance(root, EvaluationError)
    through = {"middle": "base_value", "last": "base_value", "end": "middle"}
    assert {name: error.message for name, error in errors.items()} == {
        "base_value": root.message, **{name: f"{root.message}, through `{used}`" for name, used in through.items()}
    }  # fmt: skip
    assert {getattr(error, "place", None) for error in errors.values()} == {root.place}
    unusable = {**FULL, "ram_gb": "much"}
    errors = evaluate_each(require_valid(analyse_rules(path, REFERENCE)).program, unusable)[1]
    assert isinstance(errors["end"], DataError)
    assert str(errors["end"]) == f"{errors['base_value']}, through `middle`"
    done = command("formula", "--file", path, "--reference", REFERENCE, "--vars", '{"ram_gb": 8}')
    assert (done.status, "end: division_by_zero: " in done.err, ", through `middle` (" in done.err) == (1, True, True)
