"""The version of a reference that has changed: what kind of change it is, and the number that follows.

A change that can break a formula (something is gone, has another type, or may now be null) is major; something new is
minor; anything else, such as a description, is a patch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from formulaseed.language.functions import FUNCTIONS
from formulaseed.reference.document import operators_by_kind
from formulaseed.reference.model import Reference

Kind = Literal["none", "patch", "minor", "major"]
Facts = dict[tuple[str, str], str]
_UNVERSIONED = ("version", "generated_at")
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Change:
    """What has changed from one reference to another, in words, the gravest first."""

    kind: Kind
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.reasons[:_SHOWN])
        more = f" and {len(self.reasons) - _SHOWN} more" if len(self.reasons) > _SHOWN else ""
        return f"{self.kind}: {shown}{more}" if shown else self.kind


def change(before: Reference, written: dict[str, Any], after: Reference, document: dict[str, Any]) -> Change:
    """The change from a reference as it was `written` in a file to another with its `document`."""
    operators = operators_by_kind()
    old = _facts(before, written.get("functions", FUNCTIONS), written.get("operators", operators))
    new = _facts(after, FUNCTIONS, operators)
    major = [f"{name} removed" for _, name in old.keys() - new.keys()]
    changed = {
        key: f"{key[1]} is {new[key]}, was {old[key]}" for key in old.keys() & new.keys() if old[key] != new[key]
    }
    major += [said for key, said in changed.items() if new[key] != old[key].removesuffix(" or null")]
    hidden = [name for name in after.hidden if name in before.types and name not in before.hidden]
    major += [f"{name} needs its prefix" for name in hidden]
    if major:
        return Change("major", tuple(sorted(major)))
    minor = [f"{name} added" for _, name in new.keys() - old.keys()]
    minor += changed.values()
    if minor:
        return Change("minor", tuple(sorted(minor)))
    sections = [key for key in document.keys() | written.keys() if key not in _UNVERSIONED]
    differing = sorted(key for key in sections if document.get(key) != written.get(key))
    return Change("patch", tuple(f"{key} reworded" for key in differing)) if differing else Change("none")


def bumped(version: str, kind: Kind) -> str:
    """The version that follows a change of this kind."""
    major, minor, patch = map(int, version.split("."))
    if kind == "major":
        return f"{major + 1}.0.0"
    if kind == "minor":
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if kind == "patch" else version


def _facts(reference: Reference, functions: Iterable[str], operators: Mapping[str, Iterable[str]]) -> Facts:
    """What formulas rely on: functions, operators, names with their types, values of enums, the root."""
    facts: Facts = {("entity", entity.name): "" for entity in reference.entities}
    facts |= {("function", name): "" for name in functions}
    facts |= {("operator", symbol): "" for group in operators.values() for symbol in group}
    if reference.root:
        facts["root", f"direct access to {reference.root}"] = ""
    for name, ty in reference.types.items():
        base = "unreadable" if ty is None else f"enum {ty.base.value}" if ty.values is not None else ty.base.value
        facts["field", name] = f"{base} or null" if ty is not None and ty.nullable else base
        for value in (ty.values if ty is not None else None) or ():
            facts["value", f"{name} value {value!r}"] = ""
    return facts
