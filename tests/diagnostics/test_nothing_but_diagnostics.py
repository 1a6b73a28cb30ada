"""Test that the compiler reports diagnostics for any seed: it raises no other exception, and ends soon.

Each analysis has a limit in processor time, so that a busy machine fails no test.
"""

from __future__ import annotations

import copy
import json
import random
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from formulaseed.backends.python.verify import verify_source
from formulaseed.diagnostics.render import render_json, render_text
from formulaseed.documents import SeedAnalysis, analyse, compile_seed
from helpers import SEEDS, places
from hypothesis import assume, given, settings
from hypothesis import strategies as st

Json = Any
SECONDS = 5.0
"""The time that the analysis of any seed may take; most take some milliseconds."""


def examples(share: float) -> Callable[[Any], Any]:
    """Return settings with a share of the profile's number of examples."""
    return settings(max_examples=max(1, round(settings.default.max_examples * share)))  # type: ignore[union-attr]


def assert_only_diagnostics(seed: Json | Path) -> SeedAnalysis:
    start = time.process_time()
    analysis = analyse(seed)
    render_text(analysis.diagnostics)
    render_json(analysis.diagnostics)
    assert time.process_time() - start < SECONDS
    for diagnostic in analysis.diagnostics:
        assert diagnostic.code != "FS901", diagnostic.message
        assert "" not in (diagnostic.message, diagnostic.help)
        assert (diagnostic.line, diagnostic.column) <= (diagnostic.end_line, diagnostic.end_column)
    assert analysis.has_errors or analysis.program is not None
    return analysis


# --- texts where formulas stand

_TOKENS = (
    "1", "0", "2.5", "1e308", "9" * 19, "9" * 50, "N", "X", "meta.stars", "extraction.kind", "context.name", "param.P", "$F",
    "+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", "=", "in", "not", "not in", "and", "or", "if", "else",
    "(", ")", "[", "]", ",", ".", "'a'", '"b"', "'", '"', "None", "true", "False", "max", "log(", "round(", "len(", "int(",
    "is", "lambda", "&&", "||", "!", "?", ":", "{", "}", "\\", "\n", "@", "'\\q'", "a.b.c", "1.", ".5", "0x10", "01", "1_000",
    "context.price", "clamp(", "sum([", "pow(", "abs(None)", "None and", "\ud800", "\x00", "é", "\u2028", "１",
)  # fmt: skip
_ANY_CHARACTER = st.characters(exclude_categories=[])
_FORMULAS = st.one_of(
    st.lists(st.sampled_from(_TOKENS), max_size=14).map(" ".join),
    st.lists(st.sampled_from(_TOKENS), max_size=8).map("".join),
    st.text(max_size=20),
    st.text(_ANY_CHARACTER, max_size=20),
)
_RULES = [{"else": 2}]
PLACES: dict[str, Callable[[str], Json]] = {
    "expr": lambda text: {"op": "expr", "expr": text},
    "sum": lambda text: {"op": "sum", "expr": text, "where": {"$F": True}},
    "max": lambda text: {"op": "max", "expr": text, "default": 0},
    "field": lambda text: {"op": "min", "field": text, "default": 0},
    "when": lambda text: {"op": "case", "rules": [{"when": text, "then": 1}, *_RULES]},
    "continuation": lambda text: {"op": "case", "source": "N", "rules": [{"when": text, "then": 1}, *_RULES]},
    "case": lambda text: {"op": "case", "source": text, "rules": [{"when": "> 1", "then": 1}, *_RULES]},
    "then": lambda text: {"op": "case", "rules": [{"when": "N > 1", "then": text}, {"else": text}]},
    "source": lambda text: {"op": "lookup", "source": text, "table": {"a": 1}, "match": "exact", "default": 0},
    "key": lambda text: {"op": "lookup", "source": "context.name", "table": {text: 1}, "match": text},
    "const": lambda text: {"op": "const", "value": text},
    "condition": lambda text: {"op": "count", "where": {"extraction.kind": text, "meta.stars": {">": text}}},
    "subject": lambda text: {"op": "count", "where": {text: 1, f"${text}": True, f"meta.{text}": {text: 1}}},
    "filter": lambda text: {
        "op": "define_filter",
        "extraction": {text: "a"},
        "where": {"extraction.note": {"in": [text]}},
    },
    "op": lambda text: {"op": text, text: 1},
}


def seed_with(step: Json) -> Json:
    fields = [{"name": "kind", "type": "enum", "values": ["a", "b"]}, {"name": "note", "type": "string"}]
    first = [{"name": "F", "op": "define_filter", "extraction": {"kind": "a"}}, {"name": "N", "op": "count"}]
    return {
        "task_name": "T", "parameters": {"P": {"type": "number", "default": 1.5}},
        "context": [{"name": "price", "type": "integer", "nullable": True}],
        "extract": {"fields": fields}, "compute": [*first, {"name": "X", **step}], "output": ["X"],
    }  # fmt: skip


@examples(3)
@given(_FORMULAS, st.sampled_from(sorted(PLACES)))
def test_any_text_as_a_formula(text: str, place: str) -> None:
    assert_only_diagnostics(seed_with(PLACES[place](text)))


@given(_FORMULAS)
def test_any_text_as_a_name(text: str) -> None:
    seed = seed_with({"op": "count"})
    seed["compute"][1]["name"] = text
    seed["extract"]["fields"][0]["name"] = text
    seed["extract"]["fields"][0]["values"] = {text: text}
    seed["parameters"] = {text: {"type": "number", "default": text, "description": text}}
    seed["context"][0]["name"] = text
    seed.update({"task_name": text, "description": text, "filter": {"keywords": [text]}, "output": [text], text: text})
    assert_only_diagnostics(seed)


DEEP = (
    ("(", "1", ")"), ("[", "1", "]"), ("max(", "1", ", 2)"), ("-", "N", ""), ("not ", "N > 1", ""), ("N ** ", "2", ""),
    ("N + ", "1", ""), ("N > 1 and ", "N > 2", ""), ("1 if N > 1 else ", "2", ""), ("", "1", " if N > 1 else 2"),
    ("N < ", "1", ""), ("(", "", ""), ("", "", ")"), ("'a' == ", "'", ""), ("a.", "b", ""), ("(context.price or ", "1", ")"),
    ("1 / (", "N", ")"), ("'a' in ", "'b'", ""), ("\\", "'", "'"), (" ", "1", " "), ("log(1 + ", "N", ")"),
    ("(N != 0 and ", "N > 1", ")"),
)  # fmt: skip
"""Parts of formulas that are repeated, those between them, and those that are repeated behind them."""


@pytest.mark.thorough
@pytest.mark.parametrize(("before", "middle", "after"), DEEP)
@pytest.mark.parametrize("times", [50, 250, 2_000, 100_000])
def test_deep_and_long_formulas(before: str, middle: str, after: str, times: int) -> None:
    text = before * times + middle + after * times
    for place in ("expr", "sum", "when", "source"):
        assert_only_diagnostics(seed_with(PLACES[place](text)))


@pytest.mark.thorough
def test_formulas_at_their_limits() -> None:
    """Random formulas of the greatest length, with all parts of the language."""
    names = ("N", "1", "2.5", "context.price", "param.P", "(N or 1)", "(1 if N > 1 else N)", "log(N + 1)", "-N", "'a'")
    signs = ("+", "-", "*", "/", "//", "%", "**", "and", "or", "<", "==", "in", "if N > 1 else")
    for attempt in range(20):
        chosen = random.Random(attempt)
        text = chosen.choice(names)
        for _ in range(chosen.choice([100, 250])):
            text += f" {chosen.choice(signs if attempt % 2 else signs[:5])} {chosen.choice(names)}"
        assert_only_diagnostics(seed_with(PLACES[chosen.choice(["expr", "sum", "when"])](text)))


# --- damaged seeds

SCRAPS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=6),
    st.text(_ANY_CHARACTER, max_size=3),
    st.sampled_from([[], {}, [[]], [None], {"name": "A"}, {"in": []}, "param.P", "count", "$A", 2**63, 10**60, -(2**63), 1e308]),
)  # fmt: skip


@cache
def task_texts() -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8") for path in SEEDS)


@st.composite
def damaged_seeds(draw: st.DrawFn) -> Json:
    """A task's seed with parts removed, doubled, exchanged or replaced, or with one longer text."""
    seed = json.loads(draw(st.sampled_from(task_texts())))
    changes = ["delete", "double", "replace", "edit", "rename", "exchange"]
    for change in draw(st.just(["append"]) | st.lists(st.sampled_from(changes), min_size=1, max_size=3)):
        texts = [place for place in places(seed) if isinstance(place[0][place[1]], str)]
        holder, key = draw(st.sampled_from(texts if change in ("append", "edit") and texts else list(places(seed))))
        if change == "append":
            holder[key] += draw(st.sampled_from([" ", " + 1", " (see below)", "!", "_2"]))
        elif change == "delete":
            del holder[key]
        elif change == "double" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif change == "rename" and isinstance(holder, dict):
            holder[draw(st.text(max_size=5))] = holder.pop(key)
        elif change == "edit" and texts:
            at = draw(st.integers(0, len(holder[key])))
            holder[key] = holder[key][:at] + draw(st.text(max_size=3)) + holder[key][at + draw(st.integers(0, 3)) :]
        elif change == "exchange":
            other, other_key = draw(st.sampled_from(list(places(seed))))
            holder[key] = copy.deepcopy(other[other_key])
        else:
            holder[key] = draw(SCRAPS | _FORMULAS)
        assume(seed)
    return seed


def test_damaged_seeds() -> None:
    """A damaged seed gives diagnostics; one without errors compiles, as some do."""
    compiled = 0

    @given(damaged_seeds())
    def only_diagnostics(seed: Json) -> None:
        nonlocal compiled
        if not assert_only_diagnostics(seed).has_errors:
            compiled += 1
            assert verify_source(compile_seed(seed, formatted=False)) is None

    only_diagnostics()
    assert compiled


# --- damaged files

_SCRAP_BYTES = (
    b'"', b"{", b"}", b"[", b",", b":", b"\\u", b"\\ud800", b"\\udc00\\ud800", b"\xff", b"\xed\xa0\x80", b"\x00", b"NaN", b"-",
    b"1e999", b"//",
)  # fmt: skip
_REPEATED = (
    b"[", b'{"a":', b'{"compute":[', b'"', b"\\", b"1", b"-", b" ", b"\n", b"\xff", b"{}", b",", b"\xef\xbb\xbf",
)  # fmt: skip


@st.composite
def damaged_bytes(draw: st.DrawFn) -> bytes:
    """The bytes of a task's seed with some removed, repeated, moved or overwritten, or without its end."""
    data = draw(st.sampled_from(task_texts())).encode()
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        part, rest = data[start:][: draw(st.integers(0, 30))], data[start:]
        at = draw(st.integers(0, len(rest)))
        scrap = draw(st.one_of(st.binary(max_size=4), st.sampled_from(_SCRAP_BYTES)))
        changed = (
            rest.removeprefix(part), part * draw(st.sampled_from([1, 2, 1000])) + rest, scrap + rest.removeprefix(part),
            rest[at:] + rest[:at], b"",
        )  # fmt: skip
        data = data[:start] + draw(st.sampled_from(changed))
    return data


def assert_file_has_only_diagnostics(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        Path(file.name).write_bytes(data)
        assert_only_diagnostics(Path(file.name))


@given(st.one_of(damaged_bytes(), st.binary(max_size=30)))
def test_damaged_files(data: bytes) -> None:
    assert_file_has_only_diagnostics(data)


@pytest.mark.parametrize("part", _REPEATED)
@pytest.mark.parametrize("times", [70, 5_000, 200_000])
def test_files_of_one_part(part: bytes, times: int) -> None:
    assert_file_has_only_diagnostics(part * times)
