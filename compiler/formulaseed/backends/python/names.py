"""Turn names of a seed into names of Python that clash neither with one another, nor with Python's, nor with the module's."""

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
"""The methods of tuples, which a field of a NamedTuple with the same name would hide."""

_TYPE_NAMES = frozenset({"int", "float", "str", "bool"})
"""The types in annotations, which a field with the same name would hide in the lines below it."""

_PROMPT_NAMES = frozenset({"copyright", "credits", "exit", "help", "license", "quit"})
"""The builtins that only Python's prompt has."""

TAKEN_MODULES = Path(__file__).with_name("taken_modules.txt")
"""The import names of the standard library and of widely used distributions, the same whatever Python runs."""

_STARTUP_MODULES = frozenset({"sitecustomize", "usercustomize", "formulaseed"})
"""The modules that Python imports when it starts, and our package."""

_TOOL_MODULES = frozenset({"conftest", "setup"})
"""The modules that pytest and packaging tools run, as they do `test_…` and `…_test`."""

_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
"""The names that no file has in Windows."""

_MAX_MODULE_NAME = 128
"""The characters after which a name is cut off: Python's names of compiled files are longer, and must fit file systems."""

PYTHON_NAMES = frozenset(dir(builtins)) - _PROMPT_NAMES - {"_"}
"""The builtins of every program."""

RESERVED = PYTHON_NAMES | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)
"""The builtins and the keywords."""

FRAME_NAMES = frozenset(
    {
        "gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin", "ag_frame", "ag_code",
        "ag_await", "tb_frame", "tb_next", "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "f_trace",
    }
)  # fmt: skip
"""The attributes by which code reaches the frame that runs it; no field has such a name."""

_TAKEN_SUFFIX = "_module"
"""The end of a module's name if the name without it is taken."""


@cache
def taken_modules() -> frozenset[str]:
    """Return the names of modules that a generated module would hide if its folder is on Python's path."""
    lines = TAKEN_MODULES.read_text(encoding="utf-8").splitlines()
    return _STARTUP_MODULES.union(*(line.split() for line in lines if not line.startswith("#")))


def module_name(task_name: str) -> str:
    """Return the name of a task's module, such as `g1a_v2` for `G1a-v2`, and `cafe` for `Café`.

    A hash of the task's name makes the name unique if letters, digits or symbols other than accents are lost, or if the
    name is empty or too long. `task_` precedes a digit or the word `test`. The suffix `_module` marks a name that is a
    keyword, or that an installed module or a tool has, such as `requests_module`.
    """
    decomposed = unicodedata.normalize("NFKD", task_name)
    plain = decomposed.encode("ascii", "ignore").decode("ascii")
    name = make_word(plain, "")
    is_lossy = any(not c.isascii() and unicodedata.category(c)[0] in "LNS" for c in decomposed)
    if is_lossy or not name or len(name) > _MAX_MODULE_NAME:
        composed = unicodedata.normalize("NFC", task_name).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(composed).hexdigest()[:8]
        name = f"{name[: _MAX_MODULE_NAME - 9].strip('_') or 'task'}_{digest}"
    if name[0].isdigit() or name.split("_")[0] == "test":
        name = f"task_{name}"
    is_tool_name = name in _TOOL_MODULES | _DEVICES or name.endswith("_test")
    is_taken = keyword.iskeyword(name) or name in taken_modules() or is_tool_name
    return f"{name}{_TAKEN_SUFFIX}" if is_taken else name


def make_word(text: str, fallback: str) -> str:
    """Return a text as one word of lower-case letters, digits and single underscores; `fallback` if it has no such letters."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or fallback


def former_module_names(task_name: str) -> tuple[str, ...]:
    """Return the names that earlier releases gave to a task's module; none if its name has no suffix."""
    name = module_name(task_name)
    plain = name.removesuffix(_TAKEN_SUFFIX)
    return (plain, f"{plain}_") if name != plain else ()


class Names:
    """The names of one scope. Each method adds a free name; the same calls in the same order give the same names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def add_local(self, name: str) -> Code:
        """Add and return a name for a variable, in lower case."""
        lower = name.lower()
        # Linters reject `l`, which looks like 1.
        return self._add(_make_identifier("l_value" if lower == "l" else lower, "value"))

    def add_constant(self, name: str) -> Code:
        """Add and return a name for a constant, in upper case."""
        return self._add(_make_identifier(name.upper(), "VALUE"))

    def add_type_alias(self, name: str) -> Code:
        """Add and return a name for a type, whose words begin with a capital and are joined."""
        words = [word for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
        return self._add(_make_identifier("".join(word[0].upper() + word[1:].lower() for word in words), "Value"))

    def add_field(self, name: str) -> Code:
        """Add and return a name for a field of a NamedTuple: `name` itself if Python allows it and it is free."""
        if name.startswith("_") or name in _RECORD_NAMES | _TYPE_NAMES or keyword.iskeyword(name):
            return self._add(_make_identifier(name, "field"))
        return self._add(f"{name}_" if name in FRAME_NAMES else name)

    def _add(self, name: str) -> Code:
        """Add and return `name`; if it is taken, with the first free number behind it, from `_2`."""
        candidate = name
        number = 1
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._taken.add(candidate)
        return Code(candidate)


def _make_identifier(name: str, fallback: str) -> str:
    """Return `name` as an identifier that hides nothing of Python, without underscores at its ends.

    `fallback` replaces an empty name, and precedes a digit. A name of Python's own gets an underscore behind it.
    """
    name = name.strip("_") or fallback
    if name[0].isdigit():
        name = f"{fallback}_{name}"
    return f"{name}_" if name in RESERVED or name in _RECORD_NAMES else name
