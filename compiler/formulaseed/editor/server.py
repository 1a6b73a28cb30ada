"""Serve the Language Server Protocol over standard input and output.

In: texts of seeds as they are typed. Out: diagnostics a moment after the last change, and answers about places. Needs the
package `pygls` (extra `lsp`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from formulaseed.diagnostics.model import Diagnostic, Suggestion
from formulaseed.editor.document import Completion, SeedDocument

PAUSE_SECONDS = 0.15  # a text is checked when it has not changed for this time
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Hint,
}
_COMPLETION_KINDS = {
    "operation": lsp.CompletionItemKind.Keyword,
    "value": lsp.CompletionItemKind.EnumMember,
    "type": lsp.CompletionItemKind.TypeParameter,
    "step": lsp.CompletionItemKind.Variable,
    "filter": lsp.CompletionItemKind.Reference,
    "field": lsp.CompletionItemKind.Field,
    "parameter": lsp.CompletionItemKind.Constant,
    "function": lsp.CompletionItemKind.Function,
    "key": lsp.CompletionItemKind.Property,
}


class SeedServer(LanguageServer):
    """A language server for seeds. It keeps the analysis of the last version of each open text."""

    def __init__(self, version: str) -> None:
        """Start without texts. The client gets `version` as the server's."""
        super().__init__("formulaseed", version)
        self._documents: dict[str, tuple[int | None, SeedDocument]] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self.was_shut_down = False
        self.exited_early = False

    def text(self, uri: str) -> TextDocument:
        """Return the document of the workspace as it is now."""
        return self.workspace.get_text_document(uri)

    def seed(self, uri: str) -> SeedDocument:
        """Return the text as it is now as a seed; one version is analysed only once.

        Replaces the stored document of `uri` if its version or text has changed.
        """
        text = self.text(uri)
        version, document = self._documents.get(uri, (None, None))
        if document is None or version != text.version or document.text != text.source:
            document = SeedDocument(text.path or uri, text.source)
            self._documents[uri] = text.version, document
        return document

    def check_soon(self, uri: str) -> None:
        """Check a text and publish its diagnostics when it has not changed for `PAUSE_SECONDS`.

        A call before that starts the time anew. Needs a running event loop.
        """
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self.check, uri)

    def check(self, uri: str) -> None:
        """Send the diagnostics of a text to the client."""
        version = self.text(uri).version
        diagnostics = [self.diagnostic(uri, diagnostic) for diagnostic in self.seed(uri).diagnostics]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def forget(self, uri: str) -> None:
        """Remove a closed text and its planned check from the server, and its diagnostics from the client."""
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._documents.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def offset(self, uri: str, position: lsp.Position) -> int:
        """Return the offset, in characters, of a position of the protocol."""
        return self.text(uri).offset_at_position(position)

    def range(self, text: TextDocument, start: int, end: int) -> lsp.Range:
        """Return the range of the protocol between two offsets of a document."""
        return lsp.Range(text.client_position_at_offset(start), text.client_position_at_offset(end))

    def location(self, uri: str, start: int, end: int) -> lsp.Location:
        """Return the location of the protocol between two offsets of a text."""
        return lsp.Location(uri, self.range(self.text(uri), start, end))

    def diagnostic(self, uri: str, diagnostic: Diagnostic) -> lsp.Diagnostic:
        """Convert a diagnostic to that of the protocol; the help is a part of the message, a note is a hint."""
        locations = [self.location(uri, span.start, span.end) for span in diagnostic.related]
        return lsp.Diagnostic(
            range=self.range(self.text(uri), diagnostic.span.start, diagnostic.span.end),
            message=f"{diagnostic.message}\nhelp: {diagnostic.help}",
            severity=_SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            source="formulaseed",
            related_information=[lsp.DiagnosticRelatedInformation(at, diagnostic.name) for at in locations] or None,
        )


def start(version: str) -> int:
    """Serve on standard input and output until the client sends `exit` or closes the pipe; return the exit status.

    The client gets `version` as the server's. The status is 1 if the client sends `exit` without `shutdown`, as the
    protocol requires, else 0. pygls logs errors with tracebacks to standard error; this is on only with
    FORMULASEED_DEBUG=1, as the client gets each error as a message.
    """
    if os.environ.get("FORMULASEED_DEBUG") != "1":
        logging.getLogger("pygls").addHandler(logging.NullHandler())
        logging.getLogger("pygls").propagate = False
    server = _create_server(version)
    # pygls closes its stream at `exit`; standard output must stay open, since the interpreter flushes it at the end
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stream:
        server.start_io(stdout=stream)
    return 1 if server.exited_early else 0


def _shut_down(server: SeedServer, _: None) -> None:
    """Note that the client asked for a shutdown, so that `exit` ends with status 0."""
    server.was_shut_down = True


def _exit(server: SeedServer, _: None) -> None:
    """Note whether the client exits without a shutdown, which makes the exit status 1."""
    server.exited_early = not server.was_shut_down


def _open(server: SeedServer, params: lsp.DidOpenTextDocumentParams) -> None:
    """Check a text that the client has opened, at once."""
    server.check(params.text_document.uri)


def _change(server: SeedServer, params: lsp.DidChangeTextDocumentParams) -> None:
    """Check a text that has changed, after a pause."""
    server.check_soon(params.text_document.uri)


def _close(server: SeedServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """Forget a text that the client has closed, and clear its diagnostics."""
    server.forget(params.text_document.uri)


def _show_hover(server: SeedServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """Return the hover text at a position, in Markdown, with its range; None if there is no name or function."""
    uri = params.text_document.uri
    hover = server.seed(uri).hover(server.offset(uri, params.position))
    if hover is None:
        return None
    text, start, end = hover
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, server.range(server.text(uri), start, end))


def _complete(server: SeedServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    """Return the completions at a position, as a list that is complete."""
    uri = params.text_document.uri
    offset = server.offset(uri, params.position)
    completions = server.seed(uri).completions(offset)
    return lsp.CompletionList(False, [_build_completion(server, uri, offset, item) for item in completions])


def _build_completion(server: SeedServer, uri: str, offset: int, completion: Completion) -> lsp.CompletionItem:
    """Return a completion that replaces the word around the cursor by its text and suffix."""
    word = server.range(server.text(uri), *server.seed(uri).word_at(offset))
    return lsp.CompletionItem(
        completion.text,
        kind=_COMPLETION_KINDS[completion.kind],
        detail=completion.kind,
        documentation=completion.description,
        text_edit=lsp.TextEdit(word, completion.text + completion.suffix),
    )


def _find_definition(server: SeedServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    """Return the definition of the name at a position; None if the seed does not define the name."""
    uri = params.text_document.uri
    definition = server.seed(uri).definition(server.offset(uri, params.position))
    if definition is None:
        return None
    return server.location(uri, definition.start, definition.end)


def _find_references(server: SeedServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    """Return the places of the name at a position; its definition only if the client includes declarations."""
    uri = params.text_document.uri
    with_definition = params.context.include_declaration
    references = server.seed(uri).references(server.offset(uri, params.position))
    return [server.location(uri, o.start, o.end) for o in references if with_definition or not o.is_definition]


def _rename(server: SeedServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """Return the edits to rename the name at a position. Raises `JsonRpcInvalidParams` if it cannot be renamed so."""
    uri = params.text_document.uri
    try:
        edits = server.seed(uri).rename(server.offset(uri, params.position), params.new_name)
    except ValueError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    text = server.text(uri)
    changes = [lsp.TextEdit(server.range(text, place.start, place.end), name) for place, name in edits]
    return lsp.WorkspaceEdit(changes={uri: changes})


def _list_outline(server: SeedServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """Return the names that the seed defines as flat symbols, in its order.

    Extraction, meta and context fields have the kind of fields, parameters and steps that of variables.
    """
    uri = params.text_document.uri
    symbols = []
    for symbol in server.seed(uri).outline():
        place = server.range(server.text(uri), symbol.start, symbol.end)
        kind = lsp.SymbolKind.Field if " field" in symbol.kind else lsp.SymbolKind.Variable
        symbols.append(lsp.DocumentSymbol(symbol.name, kind, place, place, detail=symbol.kind))
    return symbols


def _suggest_fixes(server: SeedServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Return an action for each suggestion that touches the range; examples of a form (`display`) are left out."""
    uri = params.text_document.uri
    start = server.offset(uri, params.range.start)
    end = server.offset(uri, params.range.end)
    diagnostics = [d for d in server.seed(uri).diagnostics if d.span.start <= end and start <= d.span.end]
    return [
        _build_action(server, uri, diagnostic, diagnostic.suggestion)
        for diagnostic in diagnostics
        if diagnostic.suggestion is not None and diagnostic.suggestion.applicability != "display"
    ]


def _build_action(server: SeedServer, uri: str, diagnostic: Diagnostic, suggestion: Suggestion) -> lsp.CodeAction:
    """Convert a suggestion to an action of the protocol.

    A safe one is preferred; the title of any other says that it changes the meaning.
    """
    is_safe = suggestion.applicability == "safe"
    span = diagnostic.span
    edit = lsp.TextEdit(server.range(server.text(uri), span.start, span.end), suggestion.replacement)
    return lsp.CodeAction(
        title=suggestion.text if is_safe else f"{suggestion.text} (changes the meaning)",
        kind=lsp.CodeActionKind.QuickFix,
        is_preferred=is_safe,
        edit=lsp.WorkspaceEdit(changes={uri: [edit]}),
        diagnostics=[server.diagnostic(uri, diagnostic)],
    )


def _format(server: SeedServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    """Return the edit that replaces the text by its formatted form; None if it is formatted or cannot be read."""
    uri = params.text_document.uri
    text = server.text(uri)
    formatted = server.seed(uri).format()
    if formatted is None or formatted == text.source:
        return None
    return [lsp.TextEdit(server.range(text, 0, len(text.source)), formatted)]


_FEATURES: dict[str, tuple[Callable[..., Any], Any]] = {
    lsp.SHUTDOWN: (_shut_down, None),
    lsp.EXIT: (_exit, None),
    lsp.TEXT_DOCUMENT_DID_OPEN: (_open, None),
    lsp.TEXT_DOCUMENT_DID_CHANGE: (_change, None),
    lsp.TEXT_DOCUMENT_DID_CLOSE: (_close, None),
    lsp.TEXT_DOCUMENT_HOVER: (_show_hover, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (_complete, lsp.CompletionOptions(trigger_characters=['"', ".", "$", " "])),
    lsp.TEXT_DOCUMENT_DEFINITION: (_find_definition, None),
    lsp.TEXT_DOCUMENT_REFERENCES: (_find_references, None),
    lsp.TEXT_DOCUMENT_RENAME: (_rename, None),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (_list_outline, None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (
        _suggest_fixes,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    ),
    lsp.TEXT_DOCUMENT_FORMATTING: (_format, None),
}
"""The function that handles each message of the protocol, and the options that the client gets."""


def _create_server(version: str) -> SeedServer:
    """Return a server that handles the messages of `_FEATURES`."""
    server = SeedServer(version)
    for name, (handler, options) in _FEATURES.items():
        server.feature(name, options)(handler)
    return server
