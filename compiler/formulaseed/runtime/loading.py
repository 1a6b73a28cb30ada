"""Loads generated modules: verifies them, imports them, and compares them with what their seed compiles to.

A module with code that the compiler never writes is rejected here. The caller decides whether an edited module may run.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import cast

from formulaseed import pipeline
from formulaseed.data.documents import candidate_paths
from formulaseed.data.files import read_whole
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.documents import FormulaSeed, load_seed, locate
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.limits import MODULE_BYTES
from formulaseed.runtime.evaluator import Evaluator, GeneratedModule
from formulaseed.source.text import Source

_REQUIRED_NAMES: dict[str, type] = {
    **dict.fromkeys(("TASK_NAME", "SEED_SHA256"), str),
    **dict.fromkeys(("KEYWORDS", "OUTPUT", "STEPS"), tuple),
    "INPUTS": dict,
    **dict.fromkeys(("is_relevant", "parse_row", "parse_context", "evaluate", "trace", "evidence"), FunctionType),
    **dict.fromkeys(("EvaluationError", "DataError"), type),
}
"""The names that every generated module defines, with the types of their values."""


class _SourceLoader(importlib.abc.InspectLoader):
    """An import loader for source code in memory."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source


def module_from_source(source: str, name: str) -> GeneratedModule:
    """Execute `source` as a new module, without verifying it; `sys.modules` is not changed.

    For code that the compiler has just generated. Raises whatever the code raises.
    """
    loader = _SourceLoader(source)
    spec = importlib.util.spec_from_loader(f"formulaseed_generated.{name}", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return cast(GeneratedModule, module)


def compile_evaluator(seed: FormulaSeed, *, strict: bool = False) -> Evaluator:
    """Compile a seed in memory and return its evaluator, whose evaluation errors name their place in the seed.

    If `strict` is true, the evaluator rejects keys of `extraction` and `meta` that the seed does not know. Raises
    `SeedError` if no module can be generated from the seed.
    """
    module = module_from_source(seed.module_source, seed.task_name)
    return Evaluator(module, partial(locate, seed), strict=strict, program=seed.program)


def module_from_file(path: Path) -> GeneratedModule:
    """Verify and import a generated module from its file; it is not compared with its seed.

    Raises `SeedError` as `import_verified` does, `UnreadableError` if the file cannot be read.
    """
    return import_verified(read_module(path), path)


def read_module(path: Path) -> str:
    """Return the text of a module's file, with every line end as a line feed.

    Raises `UnreadableError` unless it is a regular file of UTF-8 that is not too large.
    """
    try:
        source = read_whole(path, MODULE_BYTES, regular=True).decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f"cannot read {path}: byte {error.start} of the file is not UTF-8") from None
    return source.replace("\r\n", "\n").replace("\r", "\n")


def import_verified(source: str, path: Path) -> GeneratedModule:
    """Verify the text of the module at `path`, then execute it and return the module.

    Raises `SeedError` if it contains code that the compiler never writes, lacks a name that every generated module
    defines, cannot be imported, or has an earlier style and must be recompiled.
    """
    from formulaseed.backends.python.identity import find_earlier_style
    from formulaseed.backends.python.verify import verify_source

    style = find_earlier_style(source)
    if style is not None:
        raise SeedError([catalogue.earlier_style(Source(str(path), ""), style, _suggest_compile_command(source, path))])
    fault = verify_source(source)
    if fault is None:
        try:
            module = module_from_source(source, path.stem)
        except Exception as error:
            fault = f"it cannot be imported: {type(error).__name__}: {error}"
        else:
            if _is_complete(module):
                return module
            fault = "it lacks names that a generated module has"
    raise SeedError([catalogue.foreign_module(Source(str(path), ""), fault)])


def _suggest_compile_command(source: str, path: Path) -> str:
    """Return the command that compiles the seed of the module at `path` again, into the module's folder.

    The command has `SEED` in place of the seed's path if the module's header names none.
    """
    from formulaseed.backends.python.identity import read_identity

    identity = read_identity(source)
    header_path = identity.path if identity is not None else ""
    seed_path = find_seed(header_path, path)
    argument = header_path or "SEED"
    if seed_path is not None and seed_path.is_relative_to(Path.cwd()):
        argument = seed_path.relative_to(Path.cwd()).as_posix()
    folder = path.parent.as_posix()
    command = f"formulaseed compile {argument}"
    if folder == "generated":
        return command
    return f"{command} --out {folder}"


def _is_complete(module: GeneratedModule) -> bool:
    """Return whether a module defines every required name, with a value of its type.

    Its records must also have one field for each output and step.
    """
    if not all(isinstance(getattr(module, name, None), kind) for name, kind in _REQUIRED_NAMES.items()):
        return False
    for names, record in ((module.OUTPUT, "Result"), (module.STEPS, "Steps")):
        fields = getattr(getattr(module, record, ()), "_fields", ())
        if len(names) != len(fields) or not all(isinstance(name, str) for name in names):
            return False
    return True


def find_seed(header_path: str, path: Path) -> Path | None:
    """Return the seed that the header of the module at `path` names. None if it names none or no such file exists."""
    if not header_path:
        return None
    try:
        return next((file for file in candidate_paths(header_path, path.resolve().parent) if file.is_file()), None)
    except OSError:  # no file has such a name
        return None


def describe_missing_seed(header_path: str, path: Path) -> str:
    """Return why `find_seed` returns None for the module at `path`, as the rest of a sentence that begins with the module."""
    if not header_path:
        return "does not name the file that it was compiled from"
    where = "" if header_path.startswith("../") else " or a folder above it"
    return f"was compiled from {header_path}, and there is no such file in {path.parent.as_posix()}{where}"


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A generated module from a file, compared with its seed."""

    path: Path
    module: GeneratedModule
    header_path: str
    """The path of the seed in the module's header; empty if it has none."""
    seed_path: Path | None
    """The file of the seed that the header names; None if there is no such file."""
    seed: FormulaSeed | None
    """The seed in that file; None unless the module was compiled from it as it is now."""
    fault: str
    """Why the module differs from what its seed compiles to, as the rest of a sentence; empty if it does not."""
    new_name: str = ""
    """The seed's present task name; empty if the module has the same one, or if the seed is not available."""

    def evaluator(self, *, strict: bool = False) -> Evaluator:
        """Return the module's evaluator; evaluation errors name their place in the seed if that is available.

        If `strict` is true, the evaluator rejects keys of `extraction` and `meta` that the seed does not know.
        """
        if self.seed is None:
            return Evaluator(self.module, strict=strict, is_edited=bool(self.fault))
        program = None if self.fault else self.seed.program
        place = partial(locate, self.seed)
        return Evaluator(self.module, place, strict=strict, is_edited=bool(self.fault), program=program)


def load_module(path: Path) -> ModuleFile:
    """Read, verify and import a module, and compare it with its seed if that exists.

    An edited module is returned with its `fault`; a seed that has changed since is left out. Raises `SeedError` as
    `import_verified` does, `UnreadableError` if the file cannot be read.
    """
    from formulaseed.backends.python.identity import read_header_path

    source = read_module(path)
    module = import_verified(source, path)
    named_path = read_header_path(module.__doc__ or "") or ""
    seed_path = find_seed(named_path, path)
    seed = _load_current(seed_path) if seed_path is not None else None
    new_name = seed.task_name if seed is not None and seed.task_name != module.TASK_NAME else ""
    if seed is not None and seed.sha256 != module.SEED_SHA256:  # it has changed since
        seed = None
    return ModuleFile(path, module, named_path, seed_path, seed, _find_edit(source, seed), new_name)


def _load_current(path: Path) -> FormulaSeed | None:
    """Return the seed in the file at `path`; None if it cannot be read or has errors."""
    folder = Path.cwd()
    try:
        return load_seed(path.relative_to(folder) if path.is_relative_to(folder) else path)
    except FormulaSeedError:
        return None


def _find_edit(source: str, seed: FormulaSeed | None) -> str:
    """Return why a module is not as compiled, as the rest of a sentence; empty if nothing shows an edit.

    The module's own hash is checked, then its code against what `seed` compiles to. Without a seed, or if the seed
    cannot be compiled, only the hash counts.
    """
    from formulaseed.backends.python.identity import choose_style, hash_body, read_stated_hash
    from formulaseed.backends.python.verify import has_same_code

    if read_stated_hash(source) != hash_body(source):
        return "was edited after it was compiled"
    if seed is None:
        return ""
    try:
        compiled = pipeline.compile(seed, formatted=False, style=choose_style(source))
    except SeedError:  # another version's limits; the module's own hash has to do
        return ""
    if has_same_code(source, compiled):
        return ""
    return f"is not what {seed.document.source.name} compiles to"
