"""The language server: what an editor gets about a seed, and sessions of real clients over standard input and output."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from formulaseed.editor.document import SeedDocument
from helpers import TASKS, formulaseed, tiny_seed
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("pygls", reason="pygls, of the extra `lsp`, is not installed")
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

SERVER = [sys.executable, "-m", "formulaseed", "lsp"]
G1A = (TASKS / "g1a_v2" / "seed.json").read_text(encoding="utf-8")
SMALL = """{
  "task_name": "Ünïcødé 🍜",
  "parameters": {"LIMIT": {"type": "integer", "default": 3, "description": "How many are many."}},
  "extract": {"fields": [{"name": "mood", "type": "enum", "values": {"good": "It was good", "bad": "It was bad"}}]},
  "compute": [
    {"name": "IS_BAD", "op": "define_filter", "extraction": {"mood": "bad"}},
    {"name": "N_BAD", "op": "count", "where": {"$IS_BAD": true, "extraction.mood": "bad"}},
    {"name": "V", "op": "case", "rules": [{"when": "N_BAD >= param.LIMIT", "then": "many"}, {"else": "few"}]}
  ],
  "output": ["V", "N_BAD"]
}"""


def completions(text: str, offset: int) -> set[str]:
    return {completion.text for completion in SeedDocument("seed.json", text).completions(offset)}


# --- places in a text


@pytest.mark.parametrize(
    ("part", "name", "count"),
    [('{"name": "N_B', "N_BAD", 3), ('{"$IS_B', "IS_BAD", 2), ("param.LIM", "LIMIT", 2), ('"extraction.mo', "mood", 3)],
)
def test_a_name_is_found_wherever_it_occurs(part: str, name: str, count: int) -> None:
    """A step in formulas and outputs, a filter behind its sign, a field in conditions, a parameter: all, exactly."""
    document = SeedDocument("seed.json", SMALL)
    offset = SMALL.index(part) + len(part)
    references = document.references(offset)
    assert [document.text[reference.start : reference.end] for reference in references] == [name] * count
    definition = document.definition(offset)
    assert definition is not None
    assert definition.is_definition


def test_a_renamed_step_leaves_a_seed_without_errors() -> None:
    """Every occurrence is changed and nothing else; a taken name and a text that is no name are refused."""
    document = SeedDocument("seed.json", G1A)
    assert not document.analysis.has_errors
    offset = G1A.index('"name": "N_SEVERE"') + 10
    text = G1A
    for old, name in sorted(document.rename(offset, "N_GRAVE"), key=lambda edit: -edit[0].start):
        text = text[: old.start] + name + text[old.end :]
    renamed = json.loads(text)
    for step in renamed["compute"]:
        del step["sources"]  # which quote the policy to the word
    assert "N_SEVERE" not in json.dumps(renamed)
    assert not SeedDocument("seed.json", text).analysis.has_errors
    for wrong in ("N_MILD", "2nd", "a b"):
        with pytest.raises(ValueError, match="`"):
            document.rename(offset, wrong)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ('"name": "TRUST_S', ["number, 0.1 to 1", "`max(0.1, min(1.0, TRUST_RAW))`", "`MILD_WEIGHT`"]),
        ("extraction.safety_in", ["betrayal"]),
        ("lo", ["natural logarithm"]),
    ],
)
def test_hover_says_what_a_name_is(part: str, expected: list[str]) -> None:
    """The type, the range, the definition and who uses it; a field's values; a function's description."""
    start = G1A.index("log(meta") if part == "lo" else G1A.index(part)
    hover = SeedDocument("seed.json", G1A).hover(start + len(part))
    assert hover is not None
    assert all(text in hover[0] for text in expected)
    assert SeedDocument("seed.json", G1A).hover(0) is None


def test_hover_begins_with_the_words_for_people() -> None:
    """The label and the unit of a step and of a field come before the definition and the description."""
    field = {"name": "mood", "label": "mood of the guest", "type": "string", "description": "As written"}
    step = {"name": "N", "label": "reviews", "unit": "pieces", "op": "count", "where": {"extraction.mood": "x"}}
    text = json.dumps(tiny_seed(extract={"fields": [field]}, compute=[step], output=["N"]))
    document = SeedDocument("seed.json", text)
    hovers = [document.hover(text.index(name) + 1) for name in ('"N"', '"mood"')]
    assert [hover and hover[0].split("\n\n")[1:3] for hover in hovers] == [
        ["reviews, in pieces", "`count where extraction.mood == 'x'`"],
        ["mood of the guest", "As written"],
    ]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ('"op": "count', "lookup"),
        ('"when": "N', "N_BAD"),
        ('"when": "N', "log"),
        ('"mood": "b', "good"),
        ('"extraction.mood": "b', "bad"),
        ('"where": {"$I', "$IS_BAD"),
        ('"output": ["V', "V"),
        ('"define_filter", "extraction": {"m', "mood"),
        ('{"name": "N_BAD", "o', "where"),
        ('{\n  "ta', "compute"),
    ],
)
def test_completion_knows_the_place(part: str, expected: str) -> None:
    """Operations, names, functions, values and keys are proposed where they can be written."""
    assert expected in completions(SMALL, SMALL.index(part) + len(part))


def test_completion_knows_the_words_of_adverse() -> None:
    """`adverse` of a step has two values."""
    text = SMALL.replace('"op": "count"', '"adverse": "", "op": "count"', 1)
    place = text.index('"adverse": "') + len('"adverse": "')
    assert completions(text, place) == {"higher", "lower"}


# --- completions fit


STEPS = """[
{"name": "IS_BAD", "op": "define_filter", "extraction": {"mood": "bad"}, "meta": {"stars": {"<": 3}}},
{"name": "IS_OLD", "op": "define_filter", "expr": "$IS_BAD and (meta.year < param.YEAR or context.is_open == 0)"},
{"name": "N", "op": "count", "where": {"$IS_OLD": true, "extraction.mood": "bad"}},
{"name": "USEFUL", "op": "sum", "expr": "max(meta.useful, 1) if meta.stars > 2 else 0"},
{"name": "LAST", "op": "max", "field": "meta.year", "default": 2020},
{"name": "KINDS", "op": "count_distinct", "field": "extraction.mood"},
{"name": "HAS_BAD", "op": "any", "expr": "extraction.mood == 'bad' or meta.stars < 2"},
{"name": "FEE", "op": "lookup", "source": "context.city", "match": "exact", "table": {"Rome": 2}, "default": 1},
{"name": "X", "op": "expr", "expr": "max(N, LAST - param.YEAR) / (1 + USEFUL) if N > 0 else context.stars"},
{"name": "BAND", "op": "case", "source": "X", "rules": [{"when": ">= N * 2", "then": "a"}, {"else": "b"}]},
{"name": "V", "op": "case", "rules": [{"when": "BAND == 'a' and X > FEE", "then": "m"}, {"else": "f"}]}
]"""
PARTS = """{
"task_name": "Every", "compute": [], "output": ["V", "X"],
"extract": {"fields": [{"name": "mood", "type": "enum", "values": ["good", "bad"]}]},
"parameters": {"YEAR": {"type": "integer", "default": 2020}}
}"""
EVERY = json.dumps({**json.loads(PARTS), "compute": json.loads(STEPS)}, indent=1)
V1 = json.dumps(json.loads("""{
"task_name": "Old", "filter_keywords": ["soup"], "extraction_prompt": "Read {review_text}",
"extraction_fields": [{"name": "mood", "type": "enum", "values": {"good": "good", "bad": "bad"}}],
"compute_dag": [
  {"name": "n_bad", "formula": "sum(1 for e in extractions if e['mood'] == 'bad')"},
  {"name": "score", "formula": "max(n_bad, 1) * 2 + context.stars"},
  {"name": "verdict", "formula": "'bad' if score > n_bad else 'good'"}
],
"output_fields": ["verdict"]
}"""), indent=1)  # fmt: skip


def with_formula(name: str, formula: str) -> tuple[str, int]:
    """Return `EVERY` with another formula of a step, and the offset of the `|` in it, which is taken out."""
    seed = json.loads(EVERY)
    next(step for step in seed["compute"] if step["name"] == name)["expr"] = formula
    text = json.dumps(seed, indent=1)
    return text.replace("|", ""), text.index("|")


def insertions(text: str, offset: int) -> Iterator[tuple[str, str]]:
    """Yield each name or function that is offered at a place, and the text with it."""
    document = SeedDocument("seed.json", text)
    start, end = document.word_at(offset)
    for completion in document.completions(offset):
        if completion.kind not in ("key", "operation", "type", "value"):
            yield completion.text, text[:start] + completion.text + completion.suffix + text[end:]


def errors(text: str) -> set[str]:
    return {d.code for d in SeedDocument("seed.json", text).diagnostics if d.severity == "error"}


@given(st.data(), st.sampled_from([EVERY, V1]), st.booleans())
@pytest.mark.thorough
def test_every_completion_has_a_meaning_where_it_is_offered(data: st.DataObject, text: str, is_cut: bool) -> None:
    """Anywhere in a string, with and without what is behind the place: no name that is inserted is unknown or misplaced there."""
    assert errors(text) == set()
    strings = [match for match in re.finditer(r'"([^"\n]*)"', text) if match.start() > text.index("compute")]
    string = data.draw(st.sampled_from(strings), label="string")
    offset = data.draw(st.integers(string.start(1), string.end(1)), label="offset")
    if is_cut:
        text = text[:offset] + text[string.end(1) :]
        assume(not any(code.startswith(("FS2", "FS401")) for code in errors(text)))
    for name, changed in insertions(text, offset):
        assert not [code for code in errors(changed) if code.startswith(("FS2", "FS401"))], (name, changed)


@pytest.mark.parametrize(
    ("key", "formula", "offered", "refused"),
    [
        (
            "X",
            "|",
            "N LAST USEFUL context.stars context.city param.YEAR log",
            "meta.stars extraction.mood $IS_BAD X V BAND",
        ),
        ("X", "N + |", "LAST param.YEAR log", "FEE_TEXT context.city meta.stars"),
        ("X", "max(0, N + |", "LAST param.YEAR log context.stars", "context.city len_ X"),
        ("X", "1 if |", "N context.city", "meta.year BAND"),
        ("X", "N > 0 and |", "LAST context.city", "meta.year V"),
        ("X", "'a' == |", "context.city context.name", "N LAST log"),
        ("X", "len(|) + 1", "context.city context.name", "N log"),
        ("X", "2 * con|text.st", "context.stars N", "context.city extraction.mood"),
        ("X", "N |", "", "N LAST log"),
        ("IS_OLD", "$|", "$IS_BAD meta.stars extraction.mood", "$IS_OLD N"),
        ("USEFUL", "1 + |", "meta.useful context.stars N", "extraction.mood meta.date LAST"),
    ],
)
@pytest.mark.thorough
def test_completions_are_those_that_the_checker_accepts(key: str, formula: str, offered: str, refused: str) -> None:
    """Names by their place and the type that is needed; the place is `|`."""
    names = completions(*with_formula(key, formula))
    assert set(offered.split()) <= names
    assert not set(refused.split()) & names


@pytest.mark.parametrize(
    "rules", ['[{"when": "N |"}]', '[{"when": "N > |", "then": 1}]', '[{"when": "|"}, {"els": 2}]']
)
@pytest.mark.thorough
def test_a_case_that_is_not_finished(rules: str) -> None:
    """Without its `else`, with a wrong key: no per-review name is offered, and steps and functions where they fit."""
    seed = json.loads(EVERY)
    seed["compute"][-1]["rules"] = json.loads(rules)
    text = json.dumps(seed)
    names = completions(text.replace("|", ""), text.index("|"))
    assert not [name for name in names if name.startswith(("meta.", "extraction.", "$"))]
    assert names == set() if "N |" in rules else {"LAST", "log", "context.stars"} <= names


def test_an_output_is_offered_once() -> None:
    """The steps with a value that the list does not have yet; filters never."""
    text = EVERY.replace('"X"\n ],', '""\n ],')
    place = text.index('""\n ],') + 1
    names = {name for name, _ in insertions(text, place)}
    assert {"N", "USEFUL", "FEE", "X", "BAND"} <= names
    assert not names & {"V", "IS_BAD", "$IS_BAD"}


def test_a_word_is_replaced_with_its_sign() -> None:
    """Wherever in it the place is: also in front of the sign, and behind it."""
    start = EVERY.index('"$IS_OLD"') + 1
    end = start + len("$IS_OLD")
    assert {SeedDocument("seed.json", EVERY).word_at(offset) for offset in range(start, end + 1)} == {(start, end)}


@pytest.mark.parametrize("written", [r"caf\u00e9", r"caf\u00e9N", r"a\nN"])
@pytest.mark.thorough
def test_a_place_in_or_behind_an_escape_ends_no_session(written: str) -> None:
    """Wherever the cursor is: inside the escape, behind it, and in the word that follows."""
    text = EVERY.replace('"expr": "', f'"expr": "{written} + ', 1)
    start = text.index(written)
    for offset in range(start, start + len(written) + 1):
        completions(text, offset)
    if written.endswith("N"):
        assert text[slice(*SeedDocument("seed.json", text).word_at(start + len(written)))] == "N"


def test_a_call_is_completed_with_its_bracket() -> None:
    """Unless there is one behind the word, all of which is replaced."""
    for formula, expected in (("lo| + 1", "log( + 1"), ("N + lo|g(2)", "N + log(2)")):
        changed = dict(insertions(*with_formula("X", formula)))["log"]
        assert json.loads(changed)["compute"][8]["expr"] == expected


def test_a_broken_text_is_no_trouble() -> None:
    for length in range(0, len(SMALL), 23):
        document = SeedDocument("seed.json", SMALL[:length])
        assert isinstance(document.diagnostics, tuple)
        for offset in (0, length // 2, length):
            document.hover(offset)
            document.definition(offset)
            document.completions(offset)
        assert document.format() is None or length == len(SMALL)
        list(document.outline())


# --- the server


@asynccontextmanager
async def editor() -> AsyncIterator[tuple[LanguageClient, dict[str, list[lsp.Diagnostic]]]]:
    """A client of a server process that has been initialized, and what the server publishes."""
    client, published = LanguageClient("test", "1"), dict[str, list[lsp.Diagnostic]]()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def note(params: lsp.PublishDiagnosticsParams) -> None:
        published[params.uri] = list(params.diagnostics)

    await client.start_io(*SERVER)
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=None))
    client.initialized(lsp.InitializedParams())
    try:
        yield client, published
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def position(text: str, offset: int) -> lsp.Position:
    """A place as the protocol counts: lines, and in a line UTF-16 units."""
    line = text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    return lsp.Position(line, len(text[start:offset].encode("utf-16-le")) // 2)


async def eventually(condition: Any) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")


@pytest.mark.thorough
def test_an_editor_session(tmp_path: Path) -> None:
    """Open, read problems and a hint, fix one, complete, go to a definition, rename, format, close: by a real client."""
    asyncio.run(_run_session((tmp_path / "seed.json").as_uri()))


async def _run_session(uri: str) -> None:
    keywords = '"filter": {"keywords": ["slow", "slower", "slowly"]},\n  "output"'
    noted = SMALL.replace('"output"', keywords)
    broken = noted.replace("N_BAD >= param.LIMIT", "N_BADD >= param.LIMIT")
    async with editor() as (client, published):
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "json", 1, broken)))
        await eventually(lambda: uri in published)
        (error,) = [d for d in published[uri] if d.severity == lsp.DiagnosticSeverity.Error]
        assert (error.code, error.range.start) == ("FS201", position(broken, broken.index("N_BADD")))
        (note,) = [d for d in published[uri] if d.code == "FS617"]
        assert note.severity == lsp.DiagnosticSeverity.Hint
        (related,) = note.related_information or ()
        assert (related.location.uri, related.location.range.start) == (uri, position(broken, broken.index('"slowly"')))

        identifier = lsp.TextDocumentIdentifier(uri)
        actions = await client.text_document_code_action_async(
            lsp.CodeActionParams(identifier, error.range, lsp.CodeActionContext([error]))
        )
        assert actions
        edit = actions[0].edit.changes[uri][0]  # type: ignore[union-attr, index]
        assert edit.new_text == "N_BAD"

        change = lsp.TextDocumentContentChangePartial(edit.range, edit.new_text)
        versioned = lsp.VersionedTextDocumentIdentifier(version=2, uri=uri)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(versioned, [change]))
        await eventually(lambda: not [d for d in published[uri] if d.severity == lsp.DiagnosticSeverity.Error])

        here = position(SMALL, SMALL.index("N_BAD >="))
        definition = await client.text_document_definition_async(lsp.DefinitionParams(identifier, here))
        assert isinstance(definition, lsp.Location)
        assert definition.range.start == position(SMALL, SMALL.index('"name": "N_BAD') + 9)
        context = lsp.ReferenceContext(include_declaration=False)
        references = await client.text_document_references_async(lsp.ReferenceParams(context, identifier, here))
        assert len(references or ()) == 2
        hover = await client.text_document_hover_async(lsp.HoverParams(identifier, here))
        assert hover is not None
        assert "count where" in hover.contents.value  # type: ignore[union-attr]
        proposed = await client.text_document_completion_async(lsp.CompletionParams(identifier, here))
        assert isinstance(proposed, lsp.CompletionList)
        assert "param.LIMIT" in {item.label for item in proposed.items}
        renamed = await client.text_document_rename_async(lsp.RenameParams(identifier, here, "N_LOW"))
        assert renamed is not None
        assert len(renamed.changes[uri]) == 3  # type: ignore[index]
        outline = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(identifier))
        assert [symbol.name for symbol in outline or ()] == ["LIMIT", "mood", "IS_BAD", "N_BAD", "V"]
        options = lsp.FormattingOptions(2, insert_spaces=True)
        edits = await client.text_document_formatting_async(lsp.DocumentFormattingParams(identifier, options))
        assert edits is not None
        assert json.loads(edits[0].new_text) == json.loads(noted)
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(identifier))
        await eventually(lambda: not published[uri])


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(name='pygls')")
    (tmp_path / "lsprotocol.py").write_text("raise ModuleNotFoundError(name='lsprotocol')")
    done = formulaseed("lsp", env={"PYTHONPATH": str(tmp_path)})
    assert (done.status, "formulaseed[lsp]" in done.err) == (2, True)


# --- the end of a session


def message(method: str, number: int | None = None, **parameters: Any) -> bytes:
    """A message as it is sent: a request if it has a number, else a notification."""
    body = {"jsonrpc": "2.0", "method": method, "params": parameters} | ({"id": number} if number is not None else {})
    text = json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text)


SEED_TEXT = {"uri": "file:///seed.json", "languageId": "json", "version": 1, "text": "{}"}
STARTED = b"".join((
    message("initialize", 1, processId=None, rootUri=None, capabilities={}),
    message("initialized"),
    message("textDocument/didOpen", textDocument=SEED_TEXT),
))  # fmt: skip
SHUT_DOWN, EXIT = message("shutdown", 2), message("exit")


SESSIONS = {
    "shutdown and exit": (STARTED + SHUT_DOWN + EXIT, 0),
    "shutdown": (STARTED + SHUT_DOWN, 0),
    "closed": (STARTED, 0),
    "nothing": (b"", 0),
    "half a message": (STARTED[:30], 0),
    "exit alone": (STARTED + EXIT, 1),
    "no JSON": (b"Content-Length: 5\r\n\r\n{{{{{" + STARTED + SHUT_DOWN + EXIT, 0),
}


RARE = {"shutdown", "nothing", "half a message", "no JSON"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.thorough) if n in RARE else n for n in SESSIONS])
def test_a_session_ends_in_silence(name: str) -> None:
    """A real process ends with status 0, or with 1 for an exit without a shutdown, and writes nothing to standard error."""
    sent, status = SESSIONS[name]
    done = subprocess.run(SERVER, input=sent, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (status, b"")
    assert (b'"capabilities"' in done.stdout) is (STARTED in sent)


@pytest.mark.thorough
def test_a_client_that_reads_no_more() -> None:
    """It has closed its end of the pipe before the diagnostics come."""
    with subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        first = STARTED.index(b"Content-Length", 1)
        server.stdin.write(STARTED[:first])
        server.stdin.flush()
        server.stdout.readline()
        server.stdout.close()
        server.stdin.write(STARTED[first:])
        server.stdin.close()
        assert (server.wait(60), server.stderr.read()) == (0, b"")
