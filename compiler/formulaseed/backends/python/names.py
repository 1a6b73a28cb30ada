"""Seed names to Python names that cannot clash with one another, with Python, or with the module's own."""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
import sys
import unicodedata
from collections.abc import Iterable

from formulaseed.backends.python.code import Code

_RECORD_NAMES = frozenset(name for name in dir(tuple) if not name.startswith("_"))
"""A NamedTuple field of this name would hide a method of tuples."""

_TYPE_NAMES = frozenset({"int", "float", "str", "bool"})
"""A field of this name would be taken for the type in the lines below it."""

_INTERACTIVE = frozenset({"copyright", "credits", "exit", "help", "license", "quit"})
"""Names that only Python's prompt has."""

_MODULES = sys.stdlib_module_names | {"sitecustomize", "usercustomize", "formulaseed"}
"""Where generated modules lie on Python's path, one of this name would hide Python's own, or ours."""

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


def module_name(task_name: str) -> str:
    """The module's name for a task: `G1a-v2` becomes `g1a_v2`, `Café` becomes `cafe`.

    Where other letters or symbols would be lost, or the name is too long, a hash of the task's name makes it unique.
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
    is_taken = keyword.iskeyword(name) or name in _MODULES | _PICKED_UP | _DEVICES or name.endswith("_test")
    return f"{name}_" if is_taken else name


class Names:
    """One scope. Hands out each Python name once; the same questions in the same order give the same names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def local(self, name: str) -> Code:
        """A variable: lower case."""
        return self._free(_identifier(name.lower() if name.lower() != "l" else "l_value", "value"))

    def constant(self, name: str) -> Code:
        return self._free(_identifier(name.upper(), "VALUE"))

    def type_alias(self, name: str) -> Code:
        words = [word for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
        return self._free(_identifier("".join(word[0].upper() + word[1:].lower() for word in words), "Value"))

    def field(self, name: str) -> Code:
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
