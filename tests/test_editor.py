"""The language server: what an editor is told of a seed, over standard input and output by a real client."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from formulaseed.editor.document import SeedDocument
from helpers import TASKS, formulaseed

pytest.importorskip("pygls", reason="pygls, of the extra `lsp`, is not installed")
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

G1A = (TASKS / "g1a_v2" / "seed.json").read_text(encoding="utf-8")
SMALL = json.dumps(
    {
        "task_name": "Ünïcødé 🍜",
        "parameters": {"LIMIT": {"type": "integer", "default": 3, "description": "How many are many."}},
        "extract": {
            "fields": [{"name": "mood", "type": "enum", "values": {"good": "It was good", "bad": "It was bad"}}]
        },
        "compute": [
            {"name": "IS_BAD", "op": "define_filter", "extraction": {"mood": "bad"}},
            {"name": "N_BAD", "op": "count", "where": {"$IS_BAD": True, "extraction.mood": "bad"}},
            {"name": "V", "op": "case", "rules": [{"when": "N_BAD >= param.LIMIT", "then": "many"}, {"else": "few"}]},
        ],
        "output": ["V", "N_BAD"],
    },
    indent=2,
    ensure_ascii=False,
)


def place(text: str, part: str, inside: int = 1) -> int:
    assert text.count(part) == 1, part
    return text.index(part) + inside


def texts(document: SeedDocument, found: Any) -> list[str]:
    return [document.text[each.start : each.end] for each in found]


# --- places in a text


def test_a_name_is_found_wherever_it_occurs() -> None:
    """A step in formulas and outputs, a filter behind its sign, a field in conditions, a parameter: all of them, exactly."""
    document = SeedDocument("seed.json", SMALL)
    expected = {
        'N_BAD", "op': ("N_BAD", 3),
        '"$IS_BAD': ("IS_BAD", 2),
        "param.LIMIT": ("LIMIT", 2),
        '"extraction.mood': ("mood", 3),
    }
    for part, (name, number) in expected.items():
        offset = (
            SMALL.index(part) + len(part) - 1 if not part.startswith("N_BAD") else SMALL.index('"name": "N_BAD') + 10
        )
        assert texts(document, document.references(offset)) == [name] * number, part
        definition = document.definition(offset)
        assert definition is not None
        assert definition.is_definition


def test_a_renamed_step_leaves_a_seed_without_errors() -> None:
    """Every occurrence is changed and nothing else; a taken name and a text that is no name are refused."""
    document = SeedDocument("seed.json", G1A)
    assert not document.analysis.has_errors
    offset = G1A.index('"name": "N_SEVERE"') + 10
    text = G1A
    for each, name in sorted(document.renamed(offset, "N_GRAVE"), key=lambda edit: -edit[0].start):
        text = text[: each.start] + name + text[each.end :]
    assert "N_SEVERE" not in text
    assert not SeedDocument("seed.json", text).analysis.has_errors
    for wrong in ("N_MILD", "2nd", "a b"):
        with pytest.raises(ValueError, match="`"):
            document.renamed(offset, wrong)


def test_hover_says_what_a_name_is() -> None:
    """The type, the range, the definition and who uses it; a field's values; a function's signature."""
    document = SeedDocument("seed.json", G1A)
    said = document.hover(G1A.index('"name": "TRUST_SCORE"') + 12)
    assert said is not None
    assert "number, 0.1 to 1" in said[0]
    assert "`max(0.1, min(1.0, TRUST_RAW))`" in said[0]
    assert "`MILD_WEIGHT`" in said[0]
    field = document.hover(G1A.index("extraction.safety_interaction") + 15)
    assert field is not None
    assert "betrayal" in field[0]
    function = document.hover(G1A.index("log(meta") + 1)
    assert function is not None
    assert "natural logarithm" in function[0]
    assert document.hover(0) is None


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ('"op": "count', "lookup"),
        ('"when": "N', "N_BAD"),
        ('"when": "N', "log"),
        ('"mood": "b', "good"),
        ('"extraction.mood": "b', "bad"),
        ('"where": {"$I', "$IS_BAD"),
        ('"output": [\n    "V', "N_BAD"),
        ('"define_filter",\n      "extraction": {\n        "m', "mood"),
        ('{\n      "name": "N_BAD",\n      "o', "where"),
        ('{\n  "ta', "compute"),
    ],
)
def test_completion_knows_the_place(part: str, expected: str) -> None:
    """Operations, names, functions, values and keys are proposed where they can be written."""
    text = SMALL.replace('{\n        "$IS_BAD"', '{"$IS_BAD"')
    offset = text.index(part) + len(part)
    assert expected in {each.text for each in SeedDocument("seed.json", text).completions(offset)}


def test_a_broken_text_is_no_trouble() -> None:
    """At every length of a text that is being typed each question has an answer or none, and nothing is raised."""
    for length in range(0, len(SMALL), 23):
        document = SeedDocument("seed.json", SMALL[:length])
        assert isinstance(document.diagnostics, tuple)
        for offset in (0, length // 2, length):
            document.hover(offset)
            document.definition(offset)
            document.completions(offset)
        assert document.formatted() is None or length == len(SMALL)
        list(document.outline())


# --- the server


@asynccontextmanager
async def editor() -> AsyncIterator[tuple[LanguageClient, dict[str, list[lsp.Diagnostic]]]]:
    """A client of a server process that has been initialized, and what the server publishes."""
    client, published = LanguageClient("test", "1"), dict[str, list[lsp.Diagnostic]]()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def note(params: lsp.PublishDiagnosticsParams) -> None:
        published[params.uri] = list(params.diagnostics)

    await client.start_io(sys.executable, "-m", "formulaseed", "lsp")
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


def test_an_editor_session(tmp_path: Path) -> None:
    """Open, read the problems, fix one, complete, go to a definition, rename, format, close: by a real client."""
    asyncio.run(_session((tmp_path / "seed.json").as_uri()))


def test_notes_are_hints(tmp_path: Path) -> None:
    """A note is shown as a hint at its first place, with the others as related ones."""
    asyncio.run(_notes((tmp_path / "seed.json").as_uri()))


async def _notes(uri: str) -> None:
    seed = {**json.loads(SMALL), "filter": {"keywords": ["slow", "slower", "slowly"]}}
    async with editor() as (client, published):
        text = lsp.TextDocumentItem(uri, "json", 1, json.dumps(seed))
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(text))
        await eventually(lambda: uri in published)
        (note,) = [each for each in published[uri] if each.code == "FS617"]
        assert note.severity == lsp.DiagnosticSeverity.Hint
        (related,) = note.related_information or ()
        at = text.text.index('"slowly"')
        assert (related.location.uri, related.location.range.start.character) == (uri, at)


async def _session(uri: str) -> None:
    broken = SMALL.replace("N_BAD >= param.LIMIT", "N_BADD >= param.LIMIT")
    async with editor() as (client, published):
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "json", 1, broken)))
        await eventually(lambda: uri in published)
        (error,) = [each for each in published[uri] if each.severity == lsp.DiagnosticSeverity.Error]
        assert error.code == "FS201"
        assert error.range.start == position(broken, broken.index("N_BADD"))

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
        found = await client.text_document_definition_async(lsp.DefinitionParams(identifier, here))
        assert isinstance(found, lsp.Location)
        assert found.range.start == position(SMALL, SMALL.index('"name": "N_BAD') + 9)
        context = lsp.ReferenceContext(include_declaration=False)
        references = await client.text_document_references_async(lsp.ReferenceParams(context, identifier, here))
        assert references is not None
        assert len(references) == 2
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
        assert outline is not None
        assert [each.name for each in outline] == ["LIMIT", "mood", "IS_BAD", "N_BAD", "V"]
        options = lsp.FormattingOptions(2, insert_spaces=True)
        edits = await client.text_document_formatting_async(lsp.DocumentFormattingParams(identifier, options))
        assert edits is not None
        assert json.loads(edits[0].new_text) == json.loads(SMALL)
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(identifier))
        await eventually(lambda: not published[uri])


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    """A missing package is wrong usage, with what to install."""
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(name='pygls')")
    (tmp_path / "lsprotocol.py").write_text("raise ModuleNotFoundError(name='lsprotocol')")
    found = formulaseed("lsp", env={"PYTHONPATH": str(tmp_path)})
    assert found.status == 2
    assert "formulaseed[lsp]" in found.err
