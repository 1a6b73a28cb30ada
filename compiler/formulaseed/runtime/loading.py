"""Generated modules, imported from source or from a file, after the verifier has seen them."""

from __future__ import annotations

import importlib.abc
import importlib.util
from pathlib import Path
from types import FunctionType
from typing import cast

from formulaseed.data.files import read_whole
from formulaseed.errors import SeedError, UnreadableError
from formulaseed.limits import MODULE_BYTES
from formulaseed.runtime.contract import GeneratedModule

_OFFERS: dict[str, type] = {
    **dict.fromkeys(("TASK_NAME", "SEED_SHA256"), str),
    **dict.fromkeys(("KEYWORDS", "OUTPUT", "STEPS"), tuple),
    **dict.fromkeys(("is_relevant", "parse_row", "parse_context", "evaluate", "trace", "evidence"), FunctionType),
    **dict.fromkeys(("EvaluationError", "DataError"), type),
}


class _SourceLoader(importlib.abc.InspectLoader):
    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source


def module_from_source(source: str, name: str) -> GeneratedModule:
    """Import source that the compiler has just made and verified."""
    loader = _SourceLoader(source)
    spec = importlib.util.spec_from_loader(f"formulaseed_generated.{name}", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return cast(GeneratedModule, module)


def module_from_file(path: Path) -> GeneratedModule:
    """Import a generated module from its file. Raises `SeedError` where it holds what the compiler never writes."""
    return verified_module(read_module(path), path)


def read_module(path: Path) -> str:
    """The text of a generated module, line ends as `\\n`. Raises `UnreadableError` for whatever is no regular file."""
    try:
        source = read_whole(path, MODULE_BYTES, regular=True).decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f"cannot read {path}: byte {error.start} of the file is not UTF-8") from None
    return source.replace("\r\n", "\n").replace("\r", "\n")


def verified_module(source: str, path: Path) -> GeneratedModule:
    """Import the text of a module's file. Raises `SeedError` where it holds what the compiler never writes."""
    from formulaseed.backends.python.verify import verify_source

    fault = verify_source(source)
    if fault is None:
        try:
            module = module_from_source(source, path.stem)
        except Exception as error:
            fault = f"it cannot be imported: {type(error).__name__}: {error}"
        else:
            offered = all(isinstance(getattr(module, name, None), kind) for name, kind in _OFFERS.items())
            if offered and _names_agree(module):
                return module
            fault = "it does not offer what a compiled seed does"
    raise not_as_compiled(path, f"this is no module as formulaseed compiles them: {fault}")


def not_as_compiled(
    path: Path, message: str, help: str = "compile the seed again, and pass the module it gives"
) -> SeedError:
    """The error of a module that is not as the compiler writes it."""
    from formulaseed.diagnostics.model import Diagnostic
    from formulaseed.source.text import Source, Span

    return SeedError([Diagnostic("FS701", "error", message, Span(Source(str(path), ""), 0, 0), help)])


def _names_agree(module: GeneratedModule) -> bool:
    """Whether the lists of names are as long as the records that they name, and hold names."""
    records = ((module.OUTPUT, getattr(module, "Result", ())), (module.STEPS, getattr(module, "Steps", ())))
    return all(
        len(names) == len(getattr(record, "_fields", ())) and all(isinstance(name, str) for name in names)
        for names, record in records
    )


def seed_path_of(module: GeneratedModule, path: Path) -> Path | None:
    """The seed that the module's header names, looked for in every folder above the module."""
    from formulaseed.backends.python.identity import header_path

    named = header_path(module.__doc__ or "")
    if not named:
        return None
    candidates = (folder / named for folder in path.resolve().parents)
    try:
        return next((candidate for candidate in candidates if candidate.is_file()), None)
    except OSError:  # no file has such a name
        return None
