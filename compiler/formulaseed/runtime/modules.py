"""Generated modules as they are given to be run: read, imported, and compared with what they were compiled as.

In: the path of a module. Out: a `ModuleFile`, which knows whether it is as compiled; whether it may be run all the same
is for the caller to say. What the compiler never writes is refused here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from formulaseed.errors import FormulaSeedError, SeedError
from formulaseed.loading import FormulaSeed, compile_seed, load_seed, locate
from formulaseed.runtime.contract import GeneratedModule
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import read_module, seed_path_of, verified_module


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A generated module from a file.

    `seed_path` is the seed that its header names, where there is such a file; `seed` is that seed where it is still the
    one that the module was compiled from. `fault` says how the module is not as it was compiled; empty where it is.
    """

    path: Path
    module: GeneratedModule
    seed_path: Path | None
    seed: FormulaSeed | None
    fault: str

    def evaluator(self, *, strict: bool = False) -> Evaluator:
        """The module's evaluator; the places of its errors are in the seed, where that is at hand."""
        place = partial(locate, self.seed) if self.seed is not None else None
        return Evaluator(self.module, place, strict=strict, is_edited=bool(self.fault))


def load_module(path: Path) -> ModuleFile:
    """Read and import a module. Raises `SeedError` where it holds what the compiler never writes, `UnreadableError`."""
    source = read_module(path)
    module = verified_module(source, path)
    seed_path = seed_path_of(module, path)
    seed = _seed_of(module, seed_path) if seed_path is not None else None
    return ModuleFile(path, module, seed_path, seed, _fault(source, seed))


def _seed_of(module: GeneratedModule, path: Path) -> FormulaSeed | None:
    here = Path.cwd()
    try:
        seed = load_seed(path.relative_to(here) if path.is_relative_to(here) else path)
    except FormulaSeedError:  # it has changed since, and for the worse
        return None
    return seed if seed.sha256 == module.SEED_SHA256 else None


def _fault(source: str, seed: FormulaSeed | None) -> str:
    from formulaseed.backends.python.seal import body_sha256, stated_sha256
    from formulaseed.backends.python.verify import has_code_of

    stated = stated_sha256(source)
    if not stated:
        return "was compiled by an older version"
    if stated != body_sha256(source):
        return "was edited after it was compiled"
    if seed is None:
        return ""
    try:
        compiled = compile_seed(seed, formatted=False)
    except SeedError:  # another version's limits; the module's own hash has to do
        return ""
    name = seed.document.source.name
    return "" if has_code_of(source, compiled) else f"is not what {name} compiles to"
