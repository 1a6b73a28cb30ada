"""What a generated module offers, as a protocol. Source: the section on generated modules in docs/modules.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol


class GeneratedModule(Protocol):
    """A compiled seed. `parse_parameters` and `Parameters` are there where the seed has parameters."""

    TASK_NAME: str
    SEED_VERSION: str | None
    SEED_SHA256: str
    KEYWORDS: tuple[str, ...]
    OUTPUT: tuple[str, ...]
    STEPS: tuple[str, ...]
    INPUTS: dict[str, tuple[str, ...]]
    EvaluationError: type[Exception]
    DataError: type[Exception]

    def is_relevant(self, text: str) -> bool: ...
    def parse_row(self, row: Mapping[str, Any]) -> tuple[Any, ...]: ...
    def parse_context(self, context: Mapping[str, Any]) -> tuple[Any, ...]: ...
    def parse_parameters(self, record: Mapping[str, Any]) -> tuple[Any, ...]: ...
    def evaluate(self, rows: Iterable[Any], *arguments: Any) -> tuple[Any, ...]: ...
    def trace(self, rows: Iterable[Any], *arguments: Any) -> tuple[Any, ...]: ...
    def evidence(self, rows: Iterable[Any], *arguments: Any) -> dict[str, list[int]]: ...
