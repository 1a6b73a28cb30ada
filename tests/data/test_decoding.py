"""A line of JSON has the same value with every decoder: msgspec's, the standard library's, and the strict reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from formulaseed import load_evaluator
from formulaseed.data import decoding
from formulaseed.data.decoding import decode_object, fast_decoder
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures
from formulaseed.errors import DataError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.running import evaluate_lines
from helpers import EXAMPLES, msgspec_installed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import given
from hypothesis import strategies as st
from test_bad_input import BAD_ROWS

pytest.importorskip("msgspec")


@pytest.fixture(params=["msgspec", "standard library"], scope="module", autouse=True)
def _decoder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run all tests with msgspec, and as if it were not installed."""
    with msgspec_installed(request.param == "msgspec", fast_decoder):
        assert (fast_decoder() is decoding._decode) == (request.param != "msgspec")
        yield


def outcome(read: Callable[[bytes, str], dict[str, Any]], line: bytes) -> str:
    """Return the object, to the last bit and in its order, or the error."""
    try:
        return repr(read(line, "utf-8"))
    except DataError as error:
        return f"DataError: {error}"
    except RecursionError:  # of `repr`
        return "an object nested too deep to be shown"


def assert_same(line: bytes) -> None:
    """Assert that `decode_object` returns the value, or raises the error, of the strict reader."""
    # the lambda makes the strict reader's stack as deep as that of `decode_object`, which calls it
    assert outcome(decode_object, line) == outcome(lambda *args: decoding._read_strictly(*args), line)


SPACE = st.sampled_from(["", "", "", " ", "\t", "\r", "\n", "  ", "\x0b", "\xa0"])
TEXTS = [
    "a", "b", "c", "", "\\u0061", "\\u0041", ":", '\\":', '\\\\\\":', "\\\\", ' \\" : ', "a:b", "{", "[", "é", "\\u00e9",
    "\\ud83d\\ude00", "\\uD83D\\uDE00", "\\ud83d", "\\uDE00", "\\uDE00\\ud83d", "\\\\ud83d", "\\u003a", "\\n", "\n", "\x00",
    "\x7f", "\\x", "\\u12", "\u2028", "2018-04-14 12:18:05",
]  # fmt: skip
NUMBERS = [
    "0", "-0", "-0.0", "1", "01", "+1", "1.", ".5", "1.0", "1E5", "1e-5", "0.1", "2.5e-324", "1e400", "-1e400", "1e-400",
    "1_0", "0x1", "9007199254740993", "18446744073709551616", "-9223372036854775809", "1" + "0" * 30, "9" * 4300, "9" * 5000,
    "-" + "9" * 5000, "1" + "0" * 400 + ".0", "1234567890123456789.123456789012345678901234567890", "NaN", "Infinity",
    "-Infinity", "١",
]  # fmt: skip
STRINGS = st.sampled_from(TEXTS).map('"{}"'.format)
SCALARS = st.one_of(STRINGS, st.sampled_from(NUMBERS), st.sampled_from(["true", "false", "null", "None", "", "'a'"]))


def members(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(STRINGS, SPACE, st.just(":"), SPACE, values, SPACE).map("".join)


def nest(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    objects = st.lists(members(values), max_size=4).map(lambda parts: "{" + ",".join(parts) + "}")
    return objects | st.lists(values, max_size=4).map(lambda parts: "[" + ",".join(parts) + "]")


DOCUMENTS = nest(st.recursive(SCALARS, nest, max_leaves=12))


@given(
    document=DOCUMENTS,
    at=st.integers(0, 200),
    damage=st.sampled_from([b"", b"", b"\xff", b"\xed\xa0\x80", b",", b'"', b"\\", b"]"]),
)
def test_a_line_has_the_value_or_the_error_of_the_strict_reader(document: str, at: int, damage: bytes) -> None:
    """Duplicate keys, white space, escapes, numbers of any size, constants, nesting, bytes that are not UTF-8."""
    line = document.encode()
    assert_same(line[:at] + damage + line[at:])


@pytest.mark.parametrize(
    "document",
    [
        '{"a": 1, "a": 2}', '{"a" : 1, "a": 2}', '{"a": "x", "a": "\\":"}', '{"a": [[{"b": 1, "b": 2}]], "c": ":"}',
        '{"a": {"b": {"c": {"d": 1, "d": 2}}}}', '{"a": "\\uDE00"}', '{"a": 1, "\\u0061": 2}',
        '{"a": 1, "a": 2, "b": "\\u003a"}', '{"a": 1, "a": 2, "b": "\\u003A"}', '{"a": 1, "b": "a:b:c", "b": "d"}',
        '{"a": 1, "a": [2], "b": []}', '{"a": [[1, 2]], "b": {"c": 1}, "b": ""}',
        '{"a": "\\u003a\\u003a", "a": "\\u003a\\n", "b": 1}',
    ],
)  # fmt: skip
def test_duplicate_keys_are_never_lost(document: str) -> None:
    assert_same(document.encode())


@given(line=st.binary(max_size=40))
def test_any_bytes_have_the_value_or_the_error_of_the_strict_reader(line: bytes) -> None:
    assert_same(line)


@given(
    number=st.floats()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.from_regex(r"\A-?[1-9][0-9]{0,30}\.[0-9]{1,30}e-?[0-9]{1,3}\Z")
)
def test_a_number_has_the_same_bits(number: object) -> None:
    assert_same(f'{{"a": {number}}}'.encode())


@pytest.mark.parametrize("place", ['{"a": %s}', '{"a": [{"b": %s}], "c": ":"}', '{"a": %s, "a": 1}'])
@pytest.mark.thorough
def test_deep_nesting_has_the_value_or_the_error_of_the_strict_reader(place: str) -> None:
    """At depths that any decoder reads, that none does, and that depend on the decoder's own calls."""
    for depth in (*range(1, 1000, 100), *range(880, 1000), 5000):
        for opening, closing in ("[]", ('{"a":', "}")):
            assert_same((place % (opening * depth + "1" + closing * depth)).encode())


@pytest.mark.parametrize("name", ["rows-g1a_v2", "contexts", "extractions-g1a_v2", "judgements"])
def test_ordinary_lines_are_read_quickly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the few lines with a quote before a colon in a string come to the strict reader."""
    lines = (EXAMPLES / f"{name}.jsonl").read_bytes().splitlines()
    slow: list[bytes] = []
    read_strictly = decoding._read_strictly

    def read_slowly(line: bytes, encoding: str) -> dict[str, Any]:
        slow.append(line)
        return read_strictly(line, encoding)

    monkeypatch.setattr(decoding, "_read_strictly", read_slowly)
    assert [decode_object(line) for line in lines] == [json.loads(line) for line in lines]
    assert all(b'\\":' in line for line in slow)
    assert len(slow) < len(lines) / 5


def test_a_byte_order_mark_is_allowed_only_on_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\xef\xbb\xbf{"a": 1}\n')
    first, second = read_lines(str(path))
    assert first.content == {"a": 1}
    assert str(second.content).startswith("not JSON: Unexpected UTF-8 BOM")


def test_evaluation_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results and failures of good lines and bad ones are those that the strict reader alone gives."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    lines = (*(bad.line for bad in BAD_ROWS.values()), tiny_rows("good", tiny_row("r")))
    rows = write_lines(tmp_path / "rows.jsonl", *lines)

    def evaluate() -> tuple[list[object], list[str]]:
        failures = Failures()
        results = evaluate_lines(load_evaluator(seed), read_lines(str(rows)), failures)
        return [result.to_json() for result in results], failures.lines

    fast = evaluate()
    monkeypatch.setattr(decoding, "fast_decoder", lambda: json.loads(""))
    monkeypatch.setattr(Evaluator, "row_decoder", lambda evaluator: None)
    assert fast == evaluate()
    assert len(fast[0]) > len(BAD_ROWS) / 2
