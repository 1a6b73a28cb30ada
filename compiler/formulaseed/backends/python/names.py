"""Seed names to Python names that cannot clash with one another, with Python, or with the module's own."""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from formulaseed.backends.python.code import Code

_RECORD_NAMES = frozenset(name for name in dir(tuple) if not name.startswith("_"))
"""A NamedTuple field of this name would hide a method of tuples."""

_TYPE_NAMES = frozenset({"int", "float", "str", "bool"})
"""A field of this name would be taken for the type in the lines below it."""

_INTERACTIVE = frozenset({"copyright", "credits", "exit", "help", "license", "quit"})
"""Names that only Python's prompt has."""

TAKEN_MODULES = Path(__file__).with_name("taken_modules.txt")
"""The import names of the standard library and of widely used distributions, the same whatever Python runs."""

_MODULES = frozenset({"sitecustomize", "usercustomize", "formulaseed"})
"""Modules that Python imports when it starts, and ours."""

_PICKED_UP = frozenset({"conftest", "setup"})
"""Modules of these names are run by pytest and by packaging tools, as are `test_…` and `…_test`."""

_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
"""Windows has no files of these names."""

_MODULE_CHARACTERS = 128
"""A longer name is cut: with what Python adds to the names of compiled files, it is to fit every file system."""

PYTHON_NAMES = frozenset(dir(builtins)) - _INTERACTIVE - {"_"}
"""What a name means where nothing else is called so."""

RESERVED = PYTHON_NAMES | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)

FRAME_NAMES = frozenset(
    {
        "gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin", "ag_frame", "ag_code",
        "ag_await", "tb_frame", "tb_next", "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "f_trace",
    }
)  # fmt: skip
"""Attributes such as `gi_frame`, by which code reaches the code that runs it; no field is called so."""


_SUFFIX = "_module"


@cache
def taken_modules() -> frozenset[str]:
    """Return the names that would hide an installed module if a folder of generated modules is on Python's path."""
    lines = TAKEN_MODULES.read_text(encoding="utf-8").splitlines()
    return _MODULES.union(*(line.split() for line in lines if not line.startswith("#")))


def module_name(task_name: str) -> str:
    """Return the name of a task's module: `G1a-v2` becomes `g1a_v2`, `Café` becomes `cafe`, `requests` `requests_module`.

    If other letters or symbols would be lost, or the name is too long, a hash of the task's name makes it unique. A name
    that is taken gets the suffix `_module`.
    """
    decomposed = unicodedata.normalize("NFKD", task_name)
    plain = decomposed.encode("ascii", "ignore").decode("ascii")
    name = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    is_lossy = any(not c.isascii() and unicodedata.category(c)[0] in "LNS" for c in decomposed)
    if is_lossy or not name or len(name) > _MODULE_CHARACTERS:
        composed = unicodedata.normalize("NFC", task_name).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(composed).hexdigest()[:8]
        name = f"{name[: _MODULE_CHARACTERS - 9].strip('_') or 'task'}_{digest}"
    if name[0].isdigit() or name.split("_")[0] == "test":
        name = f"task_{name}"
    is_tool_name = name in _PICKED_UP | _DEVICES or name.endswith("_test")
    is_taken = keyword.iskeyword(name) or name in taken_modules() or is_tool_name
    return f"{name}{_SUFFIX}" if is_taken else name


def former_module_names(task_name: str) -> tuple[str, ...]:
    """Return the names that earlier releases gave to the module of a task whose name is taken now."""
    name = module_name(task_name)
    plain = name.removesuffix(_SUFFIX)
    return (plain, f"{plain}_") if name != plain else ()


class Names:
    """One scope. Hands out each Python name once; the same questions in the same order give the same names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def add_local(self, name: str) -> Code:
        """A variable: lower case."""
        return self._free(_identifier(name.lower() if name.lower() != "l" else "l_value", "value"))

    def add_constant(self, name: str) -> Code:
        return self._free(_identifier(name.upper(), "VALUE"))

    def add_type_alias(self, name: str) -> Code:
        words = [word for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
        return self._free(_identifier("".join(word[0].upper() + word[1:].lower() for word in words), "Value"))

    def add_field(self, name: str) -> Code:
        """A NamedTuple's field: the seed's own name wherever Python allows it."""
        if name.startswith("_") or name in _RECORD_NAMES | _TYPE_NAMES or keyword.iskeyword(name):
            return self._free(_identifier(name, "field"))
        return self._free(f"{name}_" if name in FRAME_NAMES else name)

    def _free(self, name: str) -> Code:
        candidate, number = name, 1
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._taken.add(candidate)
        return Code(candidate)


def _identifier(name: str, instead: str) -> str:
    name = name.strip("_") or instead
    if name[0].isdigit():
        name = f"{instead}_{name}"
    return f"{name}_" if name in RESERVED or name in _RECORD_NAMES else name
