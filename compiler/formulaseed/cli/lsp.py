"""`formulaseed lsp`."""

from __future__ import annotations

import sys

import click

from formulaseed import __version__


@click.command("lsp")
def lsp() -> None:
    """Serve editors by the Language Server Protocol, over standard input and output.

    Problems as you type, what names mean, completion, definitions, references, renaming, fixes, formatting. An editor starts
    it; docs/editors.md says how for some. Needs the extra `lsp`.
    """
    try:
        from formulaseed.editor.server import start
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise click.UsageError("this needs the package pygls: pip install 'formulaseed[lsp]'") from None
    start(__version__)
    sys.exit(0)
