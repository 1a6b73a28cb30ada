"""Loads generated modules: verified, imported, and compared with what their seed compiles to.

What the compiler never writes is refused here; whether an edited module may be run is for the caller to decide.
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
from formulaseed.data.documents import named_files
from formulaseed.data.files import read_whole
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.documents import FormulaSeed, load_seed, locate
from formulaseed.errors import FormulaSeedError, SeedError, UnreadableError
from formulaseed.limits import MODULE_BYTES
from formulaseed.runtime.evaluator import Evaluator, GeneratedModule
from formulaseed.source.text import Source

_OFFERS: dict[str, type] = {
    **dict.fromkeys(("TASK_NAME", "SEED_SHA256"), str),
    **dict.fromkeys(("KEYWORDS", "OUTPUT", "STEPS"), tuple),
    "INPUTS": dict,
    **dict.fromkeys(("is_relevant", "parse_row", "parse_context", "evaluate", "trace", "evidence"), FunctionType),
    **dict.fromkeys(("EvaluationError", "DataError"), type),
}


class _SourceLoader(importlib.abc.InspectLoader):
    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source


def module_from_source(source: str, name: str) -> GeneratedModule:
    """Import source that the compiler has just generated and verified."""
    loader = _SourceLoader(source)
    spec = importlib.util.spec_from_loader(f"formulaseed_generated.{name}", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return cast(GeneratedModule, module)


def evaluator_of(seed: FormulaSeed, *, strict: bool = False) -> Evaluator:
    """Return the evaluator of a seed, compiled in memory; its errors have places in the seed."""
    module = module_from_source(seed.module_source, seed.task_name)
    return Evaluator(module, partial(locate, seed), strict=strict, program=seed.program)


def module_from_file(path: Path) -> GeneratedModule:
    """Import a generated module from its file. Raises `SeedError` where it holds what the compiler never writes."""
    return verified_module(read_module(path), path)


def read_module(path: Path) -> str:
    """Return the text of a module's file, line ends as `\\n`. Raises `UnreadableError` for anything but a regular file."""
    try:
        source = read_whole(path, MODULE_BYTES, regular=True).decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f"cannot read {path}: byte {error.start} of the file is not UTF-8") from None
    return source.replace("\r\n", "\n").replace("\r", "\n")


def verified_module(source: str, path: Path) -> GeneratedModule:
    """Import the text of a module's file. Raises `SeedError` where it holds what the compiler never writes."""
    from formulaseed.backends.python.identity import find_earlier_style
    from formulaseed.backends.python.verify import verify_source

    style = find_earlier_style(source)
    if style is not None:
        raise SeedError([catalogue.earlier_style(Source(str(path), ""), style, _compile_command(source, path))])
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
            fault = "it lacks names that a generated module has"
    raise SeedError([catalogue.foreign_module(Source(str(path), ""), fault)])


def _compile_command(source: str, path: Path) -> str:
    """Return the command that compiles the seed of the module at `path` again, into the folder of the module."""
    from formulaseed.backends.python.identity import read_identity

    identity = read_identity(source)
    named = identity.path if identity is not None else ""
    seed = find_seed(named, path)
    shown = named or "SEED"
    if seed is not None and seed.is_relative_to(Path.cwd()):
        shown = seed.relative_to(Path.cwd()).as_posix()
    folder = path.parent.as_posix()
    return f"formulaseed compile {shown}" + ("" if folder == "generated" else f" --out {folder}")


def _names_agree(module: GeneratedModule) -> bool:
    records = ((module.OUTPUT, getattr(module, "Result", ())), (module.STEPS, getattr(module, "Steps", ())))
    fields = [(names, getattr(record, "_fields", ())) for names, record in records]
    return all(len(names) == len(found) and all(isinstance(n, str) for n in names) for names, found in fields)


def find_seed(named: str, path: Path) -> Path | None:
    """Return the seed that the header of the module at `path` names; None if it names none, or there is no such file."""
    if not named:
        return None
    try:
        return next((file for file in named_files(named, path.resolve().parent) if file.is_file()), None)
    except OSError:  # no file has such a name
        return None


def why_no_seed(named: str, path: Path) -> str:
    """Return why `find_seed` finds no seed of the module at `path`, as the rest of a sentence that begins with the module."""
    if not named:
        return "does not name the file that it was compiled from"
    where = "" if named.startswith("../") else " or a folder above it"
    return f"was compiled from {named}, and there is no such file in {path.parent.as_posix()}{where}"


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A generated module from a file.

    `named` is the path of the seed in its header, or empty; `seed_path` is that seed, if it exists; `seed` is it if the
    module was compiled from it as it is now. `fault` is why the module is not as compiled, or empty. `new_name` is what the
    seed is called now, empty if that is what the module is called or is not known.
    """

    path: Path
    module: GeneratedModule
    named: str
    seed_path: Path | None
    seed: FormulaSeed | None
    fault: str
    new_name: str = ""

    def evaluator(self, *, strict: bool = False) -> Evaluator:
        """Return the module's evaluator; its errors have places in the seed where that is available."""
        place = partial(locate, self.seed) if self.seed is not None else None
        program = self.seed.program if self.seed is not None and not self.fault else None
        return Evaluator(self.module, place, strict=strict, is_edited=bool(self.fault), program=program)


def load_module(path: Path) -> ModuleFile:
    """Read and import a module. Raises `SeedError` where it holds what the compiler never writes, `UnreadableError`."""
    from formulaseed.backends.python.identity import read_header_path

    source = read_module(path)
    module = verified_module(source, path)
    named = read_header_path(module.__doc__ or "") or ""
    seed_path = find_seed(named, path)
    current = _seed_at(seed_path) if seed_path is not None else None
    seed = current if current is not None and current.sha256 == module.SEED_SHA256 else None
    new_name = current.task_name if current is not None and current.task_name != module.TASK_NAME else ""
    return ModuleFile(path, module, named, seed_path, seed, _fault(source, seed), new_name)


def _seed_at(path: Path) -> FormulaSeed | None:
    here = Path.cwd()
    try:
        return load_seed(path.relative_to(here) if path.is_relative_to(here) else path)
    except FormulaSeedError:  # it has changed since, and has errors
        return None


def _fault(source: str, seed: FormulaSeed | None) -> str:
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
    name = seed.document.source.name
    return "" if has_same_code(source, compiled) else f"is not what {name} compiles to"
