"""Define the command `lsp`: it serves editors."""

from __future__ import annotations

import sys

import click

from formulaseed import __version__
from formulaseed.errors import require_extra


@click.command("lsp")
def lsp() -> None:
    """Serve editors by the Language Server Protocol, over standard input and output.

    Problems as you type, what names mean, completion, definitions, references, renaming, fixes, formatting. An editor starts
    it; docs/editors.md says how for some. Needs the extra `lsp`.
    """
    with require_extra("lsp", "the language server"):
        from formulaseed.editor.server import start
    sys.exit(start(__version__))
