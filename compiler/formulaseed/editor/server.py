"""The language server: speaks the Language Server Protocol over standard input and output.

In: texts of seeds as they are typed. Out: diagnostics a moment after the last change, and answers about places. Needs the
package `pygls` (extra `lsp`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.editor.document import Completion, SeedDocument

PAUSE = 0.15
"""Seconds without a change after which a text is checked."""
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
    """Keeps one analysed version of each open text."""

    def __init__(self, version: str) -> None:
        super().__init__("formulaseed", version)
        self._documents: dict[str, tuple[int | None, SeedDocument]] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self.was_shut_down = False
        self.exited_early = False

    def text(self, uri: str) -> TextDocument:
        return self.workspace.get_text_document(uri)

    def seed(self, uri: str) -> SeedDocument:
        """Return the text as it is now, analysed once a version."""
        text = self.text(uri)
        known = self._documents.get(uri)
        if known is None or known[0] != text.version or known[1].text != text.source:
            known = text.version, SeedDocument(text.path or uri, text.source)
            self._documents[uri] = known
        return known[1]

    def check_soon(self, uri: str) -> None:
        """Check a text when nothing has changed for a moment."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().call_later(PAUSE, self.check, uri)

    def check(self, uri: str) -> None:
        """Publish the diagnostics of a text."""
        text, seed = self.text(uri), self.seed(uri)
        found = [self._diagnostic(uri, each) for each in seed.diagnostics]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, text.version))

    def forget(self, uri: str) -> None:
        """Drop a text that was closed."""
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._documents.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def offset(self, uri: str, position: lsp.Position) -> int:
        return self.text(uri).offset_at_position(position)

    def range(self, text: TextDocument, start: int, end: int) -> lsp.Range:
        return lsp.Range(text.client_position_at_offset(start), text.client_position_at_offset(end))

    def _diagnostic(self, uri: str, found: Diagnostic) -> lsp.Diagnostic:
        text = self.text(uri)
        others = [lsp.Location(uri, self.range(text, span.start, span.end)) for span in found.related]
        return lsp.Diagnostic(
            range=self.range(text, found.span.start, found.span.end),
            message=f"{found.message}\nhelp: {found.help}",
            severity=_SEVERITIES[found.severity],
            code=found.code,
            source="formulaseed",
            related_information=[lsp.DiagnosticRelatedInformation(other, found.name) for other in others] or None,
        )


def start(version: str) -> int:
    """Serve until the client says to stop or closes the pipe; return the exit status. The client gets the `version`.

    As the protocol asks, the status is 1 if the client says `exit` without `shutdown`. pygls logs its errors with
    tracebacks to standard error; only FORMULASEED_DEBUG=1 shows them, as the client gets each error as a message.
    """
    if os.environ.get("FORMULASEED_DEBUG") != "1":
        logging.getLogger("pygls").addHandler(logging.NullHandler())
        logging.getLogger("pygls").propagate = False
    server = _server(version)
    # pygls closes its stream at `exit`: standard output itself stays open, as the interpreter flushes it at the end
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stream:
        server.start_io(stdout=stream)
    return 1 if server.exited_early else 0


def _server(version: str) -> SeedServer:
    server = SeedServer(version)

    @server.feature(lsp.SHUTDOWN)
    def shutdown(ls: SeedServer, _: None) -> None:
        ls.was_shut_down = True

    @server.feature(lsp.EXIT)
    def exit(ls: SeedServer, _: None) -> None:
        ls.exited_early = not ls.was_shut_down

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: SeedServer, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.check(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: SeedServer, params: lsp.DidChangeTextDocumentParams) -> None:
        ls.check_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: SeedServer, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(ls: SeedServer, params: lsp.HoverParams) -> lsp.Hover | None:
        uri = params.text_document.uri
        found = ls.seed(uri).hover(ls.offset(uri, params.position))
        if found is None:
            return None
        said, start, end = found
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, said), ls.range(ls.text(uri), start, end))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=['"', ".", "$", " "]))
    def completion(ls: SeedServer, params: lsp.CompletionParams) -> lsp.CompletionList:
        uri = params.text_document.uri
        offset = ls.offset(uri, params.position)
        found = ls.seed(uri).completions(offset)
        return lsp.CompletionList(False, [_item(ls, uri, offset, each) for each in found])

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(ls: SeedServer, params: lsp.DefinitionParams) -> lsp.Location | None:
        uri = params.text_document.uri
        found = ls.seed(uri).definition(ls.offset(uri, params.position))
        return lsp.Location(uri, ls.range(ls.text(uri), found.start, found.end)) if found is not None else None

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(ls: SeedServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
        uri = params.text_document.uri
        found = ls.seed(uri).references(ls.offset(uri, params.position))
        kept = [each for each in found if params.context.include_declaration or not each.is_definition]
        return [lsp.Location(uri, ls.range(ls.text(uri), each.start, each.end)) for each in kept]

    @server.feature(lsp.TEXT_DOCUMENT_RENAME)
    def rename(ls: SeedServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        uri = params.text_document.uri
        try:
            found = ls.seed(uri).renamed(ls.offset(uri, params.position), params.new_name)
        except ValueError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        text = ls.text(uri)
        edits = [lsp.TextEdit(ls.range(text, each.start, each.end), name) for each, name in found]
        return lsp.WorkspaceEdit(changes={uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(ls: SeedServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        text = ls.text(params.text_document.uri)
        found = []
        for each in ls.seed(params.text_document.uri).outline():
            place = ls.range(text, each.start, each.end)
            kind = lsp.SymbolKind.Field if " field" in each.kind else lsp.SymbolKind.Variable
            found.append(lsp.DocumentSymbol(each.name, kind, place, place, detail=each.kind))
        return found

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    )
    def actions(ls: SeedServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri, text = params.text_document.uri, ls.text(params.text_document.uri)
        first, last = ls.offset(uri, params.range.start), ls.offset(uri, params.range.end)
        found = []
        for each in ls.seed(uri).diagnostics:
            suggestion = each.suggestion
            if (
                suggestion is None
                or suggestion.applicability == "display"
                or each.span.start > last
                or each.span.end < first
            ):
                continue
            edit = lsp.TextEdit(ls.range(text, each.span.start, each.span.end), suggestion.replacement)
            found.append(
                lsp.CodeAction(
                    title=suggestion.text
                    if suggestion.applicability == "safe"
                    else f"{suggestion.text} (changes the meaning)",
                    kind=lsp.CodeActionKind.QuickFix,
                    is_preferred=suggestion.applicability == "safe",
                    edit=lsp.WorkspaceEdit(changes={uri: [edit]}),
                    diagnostics=[ls._diagnostic(uri, each)],
                )
            )
        return found

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(ls: SeedServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        uri, text = params.text_document.uri, ls.text(params.text_document.uri)
        found = ls.seed(uri).formatted()
        if found is None or found == text.source:
            return None
        return [lsp.TextEdit(ls.range(text, 0, len(text.source)), found)]

    return server


def _item(server: SeedServer, uri: str, offset: int, found: Completion) -> lsp.CompletionItem:
    """Return a proposal that replaces the word around the cursor."""
    edit = lsp.TextEdit(server.range(server.text(uri), *server.seed(uri).word_at(offset)), found.text + found.behind)
    return lsp.CompletionItem(
        found.text, kind=_COMPLETION_KINDS[found.kind], detail=found.kind, documentation=found.about, text_edit=edit
    )
