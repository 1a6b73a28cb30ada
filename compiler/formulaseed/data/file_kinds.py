"""Recognises the kind of a file, and the command that reads it: one table for documents, data and pasted snippets.

In: a JSON value, or a text that is not JSON. Out: a `FileKind`, or None if nothing is certain; each reader then reports
its own errors. A reader names the kinds that it reads; a file of another kind is one error, with the help of the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple

_SEED_SECTIONS = frozenset((
    "filter", "extract", "compute", "output", "filter_keywords", "extraction_fields", "extraction_prompt", "compute_dag",
    "output_fields",
))  # fmt: skip
_SEED_PARTS = _SEED_SECTIONS | {"review_handling", "parameters", "properties", "allow"}
_REFERENCE_KEYS = frozenset(("custom_fields", "enums", "operators", "functions", "syntax_patterns", "examples"))
_COMPARISON_OPERATORS = frozenset(("in", ">=", ">", "<=", "<", "!="))
_CONDITION_PREFIXES = ("extraction.", "meta.", "context.", "$")
_CHECK_HELP = "`formulaseed check {0}` and `compile` take it"

_Keys = Set[str]


class FileKind(NamedTuple):
    """A kind of file or snippet."""

    name: str
    noun: str
    """The kind in messages."""
    help: str
    """The command that reads the kind, or other help, with `{0}` for the file's name."""
    has_keys: Callable[[_Keys], bool] | None = None
    """Returns True if an object with these keys is of the kind; None for a kind that is no object."""


def _any_of(*names: str) -> Callable[[_Keys], bool]:
    """Return a function that returns whether some keys include any of `names`."""
    return lambda keys: not keys.isdisjoint(names)


def _all_of(*names: str) -> Callable[[_Keys], bool]:
    """Return a function that returns whether some keys include all of `names`."""
    return lambda keys: keys >= {*names}


def _one_of(names: _Keys) -> Callable[[_Keys], bool]:
    """Return a function that returns whether there is a single key, and it is one of `names`."""
    return lambda keys: len(keys) == 1 and keys <= names


def _is_results(keys: _Keys) -> bool:
    """Return whether an object with these keys is a result of `run` or `evaluate`."""
    return "task" in keys and not keys.isdisjoint(("output", "error"))


def _is_restaurants(keys: _Keys) -> bool:
    """Return whether an object with these keys is a restaurant, not a result, which has a name, too."""
    names = ("business", "name", "categories", "attributes")
    return "business_id" in keys and not keys.isdisjoint(names) and not _is_results(keys)


_DATA_KINDS = (
    FileKind("seed", "a seed", "pass it as SEED, as to `formulaseed check {0}`",
             lambda keys: "task_name" in keys or len(keys & _SEED_SECTIONS) > 1),
    FileKind("step", "a step", "put it into `compute`", lambda keys: "op" in keys and "args" not in keys),
    FileKind("rows", "a file of rows", "`formulaseed evaluate SEED --rows {0}` takes it", _any_of("rows")),
    FileKind("results", "a file of results", "pass what they were computed from: a seed, rows or contexts", _is_results),
    FileKind("expected", "a file of expected outputs", "`formulaseed expect SEED --rows FILE --expected {0}` takes it",
             lambda keys: keys >= {"business_id", "output"} and "task" not in keys),
    FileKind("contexts", "a file of contexts", "`formulaseed run SEED --contexts {0}` takes it",
             lambda keys: "reviews" in keys and "task" not in keys),
    FileKind("extractions", "a file of recorded extractions",
             "`formulaseed run SEED --contexts FILE --extractor recorded --extractions {0}` takes it",
             _all_of("review_id", "fields")),
    FileKind("judgements", "a file of judgements",
             "`formulaseed validate REQUESTS --restaurants FILE --judgements {0}` takes it", _any_of("judgement")),
    FileKind("social", "a social graph", "`formulaseed validate REQUESTS --restaurants FILE --social {0}` takes it",
             _any_of("friend_graph")),
    FileKind("reviews", "a file of reviews", "`formulaseed run SEED --restaurants FILE --reviews {0}` takes it",
             lambda keys: "review_id" in keys and not keys.isdisjoint(("text", "stars"))),
    FileKind("restaurants", "a file of restaurants", "`formulaseed run SEED --restaurants {0} --reviews FILE` takes it",
             _is_restaurants),
)  # fmt: skip
_DOCUMENT_KINDS = (
    FileKind("requests", "a file of requests", "`formulaseed check {0}`, `compile` and `validate` take it",
             lambda keys: not keys.isdisjoint(("gold_restaurant", "structure", "shorthand", "scenario"))
             or keys >= {"op", "args"} or keys >= {"aspect", "evidence"}),
    FileKind("reference", "a formula reference", "`formulaseed formula TEXT --reference {0}` takes it", _any_of("entities")),
    FileKind("rules", "a file of rules", _CHECK_HELP, _any_of("rules")),
)  # fmt: skip
_SNIPPET_KINDS = (
    FileKind("evidence", "the evidence of a condition", 'put it into {{"aspect": …, "evidence": {{…}}}}', _any_of("kind")),
    FileKind("rule of case", "a rule of `case`", "put it into the `rules` of a step", _any_of("when", "else")),
    FileKind("formula", "a rule or a step of seed v1", "put a rule into a list, `[…]`, and a step into `compute_dag`",
             _any_of("formula")),
    FileKind("field", "the declaration of a field", "put it into the `fields` of `extract`", _all_of("name", "type")),
    FileKind("keywords", "the filter of a seed", 'put it into `filter`: {{"keywords": […]}}', _any_of("keywords")),
    FileKind("fields", "the `extract` of a seed", "put it into `extract`", _any_of("fields")),
    FileKind("section", "a section of a seed", 'put it beside the others: {{"task_name": …, "extract": …, …}}',
             _one_of(_SEED_PARTS)),
    FileKind("section of a reference", "a section of a formula reference", "put it beside its `entities`",
             _one_of(_REFERENCE_KEYS)),
    FileKind("comparison", "the comparison of a condition", 'put it into `where`: {{"meta.year": {{…}}}}',
             lambda keys: bool(keys) and keys <= _COMPARISON_OPERATORS),
    FileKind("condition", "a condition", "put it into the `where` of a step",
             lambda keys: bool(keys) and all(key.startswith(_CONDITION_PREFIXES) for key in keys)),
)  # fmt: skip
_FILE_KIND_NAMES = frozenset(kind.name for kind in (*_DATA_KINDS, *_DOCUMENT_KINDS))
KINDS = {kind.name: kind for kind in (*_DATA_KINDS, *_DOCUMENT_KINDS, *_SNIPPET_KINDS)}
"""Every kind of JSON object by its name; an object is of the first that its keys fit."""

_TABLE_KIND = FileKind("table", "a lookup table", "put it into the `table` of a step with the operation `lookup`")
_LIST_NOUNS = {"step": "a list of steps", "field": "a list of fields", "rule of case": "the rules of `case`"}
_SEEDS_KIND = FileKind("seeds", "a file of several seeds", "write each into a file of its own")
_JSON_LINES_HELP = "write one object a line, as `jq -c '.[]' {0}` does: "


class _TextKind(NamedTuple):
    """A kind of file that is not JSON, with the suffixes of its names and a pattern of its beginning."""

    kind: FileKind
    suffixes: tuple[str, ...]
    beginning: re.Pattern[str]


_DRAFT_HELP = "`formulaseed draft {0}` writes a seed from a policy in words"
_EXPORT_HELP = "export it as CSV, which `formulaseed score SEED --rows FILE` takes"
_NEVER_MATCHES = re.compile(r"(?!)")
_TEXT_KINDS = (
    _TextKind(FileKind("module", "a generated module", "`formulaseed evaluate {0}` and `run` take it in place of its seed"),
              (), re.compile(r'"""(?:Code generated|Compiled) by formulaseed')),
    _TextKind(FileKind("python", "Python", "`formulaseed init` writes an example of a seed"), (".py",), _NEVER_MATCHES),
    _TextKind(FileKind("markdown", "Markdown", _DRAFT_HELP), (".md", ".markdown"),
              re.compile(r"#{1,6} (?!(?s:.*)\n[{\[])")),
    _TextKind(FileKind("text", "plain text", _DRAFT_HELP), (".txt", ".text"), _NEVER_MATCHES),
    _TextKind(FileKind("yaml", "YAML", "convert it to JSON, as `yq -o json {0}` does"), (".yaml", ".yml"),
              re.compile(r"---\s|[A-Za-z_]\w*:(?:\s|$)", re.M)),
    _TextKind(FileKind("csv", "CSV", "`formulaseed score SEED --rows {0}` takes tables"), (".csv", ".tsv"),
              re.compile(r'"?[A-Za-z_][\w.]*"?(?:,"?[A-Za-z_][\w.]*"?)+$', re.M)),
    _TextKind(FileKind("parquet", "Parquet", "`formulaseed evaluate SEED --rows {0}` takes it"), (".parquet",),
              re.compile("PAR1")),
    _TextKind(FileKind("excel", "an Excel workbook", _EXPORT_HELP), (".xlsx", ".xls"), re.compile("PK\x03\x04")),
)  # fmt: skip
_TOKEN = re.compile(r'[{}\[\]:]|"(?:[^"\\]|\\.)*+"?', re.S)
_MAX_SCANNED_CHARACTERS = 100_000
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
"""In a file with such a suffix a comment or a stray line at the beginning is a fault, not another format."""


def kind_of(value: object) -> FileKind | None:
    """Return the kind of a JSON object by its keys; the first kind that fits counts. None if nothing is certain.

    A list has the kind of its first object among its first ten items, with help for lists. An object whose values are
    all numbers is a lookup table.
    """
    if isinstance(value, list):
        return _kind_of_list(next((item for item in value[:10] if isinstance(item, Mapping)), {}))
    if not isinstance(value, Mapping):
        return None
    keys = {key for key in value if isinstance(key, str)}
    kind = next((kind for kind in KINDS.values() if kind.has_keys is not None and kind.has_keys(keys)), None)
    is_table = value and all(isinstance(number, int | float) and number is not True for number in value.values())
    return _TABLE_KIND if kind is None and is_table else kind


def _kind_of_list(first: Mapping[str, object]) -> FileKind | None:
    """Return the kind of a JSON list by its `first` object, with help for lists; None if uncertain or several seeds."""
    kind = kind_of(first)
    if kind is None or kind.name == "seed":
        return None
    if kind.name == "formula":
        return KINDS["rules"]
    if kind in _DATA_KINDS[2:]:
        return kind._replace(
            noun=kind.noun.replace("a file of", "a JSON list of"),
            help=_JSON_LINES_HELP + kind.help.replace("{0}", "FILE"),
        )
    return kind._replace(noun=_LIST_NOUNS.get(kind.name, kind.noun))


def kind_of_text(text: str, name: str) -> FileKind | None:
    """Return the kind of a text by its first JSON value, or as another format; None if it is not certain.

    `name` is the file's name, whose suffix counts unless the text begins like JSON. A text with invalid JSON has the
    kind of a whole file that its keys show.
    """
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] not in ("{", "["):
        return _kind_of_plain_text(text[start:], name)
    value, end = _read_first_value(text, start)
    kind = kind_of(value)
    # The keys of a file with invalid JSON show its intended kind; a part may have too few keys for that.
    if value is None:
        kind = kind_of(_find_keys(text, start))
        return kind if kind is not None and kind.name in _FILE_KIND_NAMES else None
    if kind is not KINDS["seed"]:
        return kind
    second, _ = _read_first_value(text, end)
    return _SEEDS_KIND if kind_of(second) is kind else kind


def _read_first_value(text: str, start: int) -> tuple[object, int]:
    """Return the JSON value at or after `start`, past white space, and the offset of its end.

    If it is not valid JSON, return None and the end of the text.
    """
    start += len(text[start:]) - len(text[start:].lstrip())
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, len(text)


def _find_keys(text: str, start: int) -> dict[str, object]:
    """Return the keys of the object at `start`, or of the first one in a list, even if the JSON is invalid inside.

    The values are None. At most 100,000 characters are scanned.
    """
    keys: dict[str, object] = {}
    outer = text[start] == "["
    depth = 0
    last = ""
    for token in _TOKEN.findall(text, start, start + _MAX_SCANNED_CHARACTERS):
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
        elif token == ":" and depth == 1 + outer:
            keys.setdefault(last)
        last = token[1:-1]
        if depth == outer and keys:
            break
    return keys


def _kind_of_plain_text(text: str, name: str) -> FileKind | None:
    """Return the kind of a text that is not JSON; None if neither its name nor its beginning tells.

    A module is recognised by its beginning, any other kind first by the file's name. An empty text, and the name of a
    JSON file, give None.
    """
    plain = name.lower().removesuffix(".gz")
    by_name = next((entry.kind for entry in _TEXT_KINDS if entry.suffixes and plain.endswith(entry.suffixes)), None)
    if not text or plain.endswith(_JSON_SUFFIXES):
        return None
    by_text = next((entry.kind for entry in _TEXT_KINDS if entry.beginning.match(text)), None)
    if by_text is KINDS_OF_TEXT["module"]:  # a module is one under any name
        return by_text
    return by_name or by_text


KINDS_OF_TEXT = {entry.kind.name: entry.kind for entry in _TEXT_KINDS}


def is_snippet(kind: FileKind) -> bool:
    """Return whether a kind is a part of a seed, such as a step or a field, rather than a whole file."""
    return kind.name in ("step", "table") or any(kind.name == snippet.name for snippet in _SNIPPET_KINDS)


def list_kinds(kinds: Iterable[str]) -> str:
    """Return the nouns of the kinds with these names, at least one, in words, such as `a seed, requests or rules`."""
    *nouns, last = [KINDS[name].noun.removeprefix("a file of ") for name in kinds]
    return f"{', '.join(nouns)} or {last}" if nouns else last


_IN_MEMORY_HELP = {
    "rows": "`formulaseed.extract(seed, contexts)` makes rows",
    "contexts": "`formulaseed.load_evaluator(seed).evaluate(rows, context)` evaluates rows",
}
"""The help for other objects in memory than the expected ones."""


def describe_mismatch(kind: FileKind, expected: str, name: str) -> str:
    """Return the message that a file is of another kind than the `expected` one, with help.

    For objects in memory, whose name is `<rows>` and the like, the help names functions instead of commands.
    """
    help = _IN_MEMORY_HELP.get(expected, "pass another list") if name == f"<{expected}>" else kind.help.format(name)
    return f"it is {kind.noun}, not {KINDS[expected].noun}; {help}"


def find_mismatch(value: object, expected: str, name: str) -> str:
    """Return the reason why a data file is not of the `expected` kind; empty if it may be.

    `value` is the file's first object, or its text if the first line is not JSON; `name` is the file. Restaurants may
    have reviews, and contexts none.
    """
    if isinstance(value, str):
        kind = _kind_of_plain_text(value, name)
        return f"it is {kind.noun}, not JSON Lines; {kind.help.format(name)}" if kind is not None else ""
    kind = kind_of(value)
    keys = {key for key in value if isinstance(key, str)} if isinstance(value, Mapping) else set()
    has_keys = KINDS[expected].has_keys
    assert has_keys is not None
    is_alike = kind is not None and {kind.name, expected} == {"contexts", "restaurants"}
    if kind is None or has_keys(keys) or is_alike or kind.name not in _FILE_KIND_NAMES:
        return ""
    return describe_mismatch(kind, expected, name)
