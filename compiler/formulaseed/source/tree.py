"""How the classes of trees are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, eq_default=False)
def tree_node(cls: type[_Class]) -> type[_Class]:
    """A frozen dataclass without `==` and `repr`: trees are compared by what they are made for and shown by `dump`.

    There are some eighty such classes, and every command makes them when it starts; this takes half the time.
    """
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
