"""The computation of a policy as a graph: what is read, the steps and what each of them uses; as Mermaid and as DOT.

In: a checked program. Out: a `Graph`, in the seed's order. Names and formulas of a seed are text in every format, never syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from formulaseed.ir import nodes
from formulaseed.ir.dependencies import find_symbols, step_symbol
from formulaseed.ir.text import step_text
from formulaseed.language.typed import INPUT_KINDS, Symbol, SymbolKind
from formulaseed.source.printing import printable

Kind = Literal["field", "context", "parameter", "filter", "aggregate", "step"]
_KIND_OF_INPUT: dict[SymbolKind, Kind] = {
    SymbolKind.EXTRACTION: "field",
    SymbolKind.META: "field",
    SymbolKind.CONTEXT: "context",
    SymbolKind.PARAMETER: "parameter",
}
_MAX_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Node:
    """An input, or a step. `text` is the computation of a step, and the type of an input."""

    kind: Kind
    symbol: Symbol
    text: str
    is_output: bool = False

    @property
    def name(self) -> str:
        """The name in formulas."""
        return str(self.symbol)

    @property
    def step(self) -> str | None:
        """The step's name; None for an input."""
        return None if self.symbol.kind in INPUT_KINDS else self.symbol.name

    @property
    def short(self) -> str:
        """The text, cut where it is too long for a box."""
        return self.text if len(self.text) <= _MAX_LENGTH else f"{self.text[: _MAX_LENGTH - 1]}…"


@dataclass(frozen=True, slots=True)
class Graph:
    """`edges` lead from what is used to what uses it, by the positions of the nodes."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]


def graph_of(program: nodes.Program) -> Graph:
    """Return the graph of a program: the fields and parameters in use, then the steps."""
    uses = find_symbols(program)
    used = {symbol for mentioned in uses.values() for symbol in mentioned}
    all_nodes = (*_inputs(program, used), *_steps(program))
    position = {node.symbol: number for number, node in enumerate(all_nodes)}
    pairs = ((symbol, node.symbol) for node in all_nodes if node.step is not None for symbol in uses[node.step])
    return Graph(program.task_name, all_nodes, tuple((position[a], position[b]) for a, b in pairs))


def _inputs(program: nodes.Program, used: set[Symbol]) -> Iterator[Node]:
    declared: tuple[tuple[SymbolKind, Iterable[nodes.ExtractionField | nodes.InputField | nodes.Parameter]], ...] = (
        (SymbolKind.EXTRACTION, program.fields),
        (SymbolKind.META, program.meta),
        (SymbolKind.CONTEXT, program.context),
        (SymbolKind.PARAMETER, program.parameters),
    )
    for kind, fields in declared:
        for field in fields:
            symbol = Symbol(kind, field.name)
            if symbol in used:
                yield Node(_KIND_OF_INPUT[kind], symbol, str(field.ty))


def _steps(program: nodes.Program) -> Iterator[Node]:
    for step in program.steps:
        kind: Kind = "aggregate" if step.aggregate is not None else "step"
        if isinstance(step.operation, nodes.Filter):
            kind = "filter"
        yield Node(kind, step_symbol(step), printable(step_text(step)), step.name in program.output)


# --- as text


_SHAPES: dict[Kind, tuple[str, str]] = {
    "field": ("([", "])"),
    "context": ("([", "])"),
    "parameter": ("([", "])"),
    "filter": ("{{", "}}"),
    "aggregate": ("[[", "]]"),
    "step": ("[", "]"),
}


def mermaid(graph: Graph) -> str:
    """Return the graph as a Mermaid flowchart."""
    lines = ["flowchart TB", f"  accTitle: {_plain(graph.title)}"]
    for number, node in enumerate(graph.nodes):
        before, behind = _SHAPES[node.kind]
        lines.append(f'  n{number}{before}"{_entities(node.name)}<br>{_entities(node.short)}"{behind}')
    lines += [f"  n{source} --> n{target}" for source, target in graph.edges]
    outputs = ",".join(f"n{number}" for number, node in enumerate(graph.nodes) if node.is_output)
    if outputs:
        lines += ["  classDef output stroke-width:3px", f"  class {outputs} output"]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return the text without characters that end a line, or a statement, of Mermaid."""
    return "".join(character if character.isalnum() or character in " -_." else " " for character in printable(text))


def _entities(text: str) -> str:
    """Return the text with all but letters, digits and harmless signs as Mermaid's character codes."""
    return "".join(c if c.isalnum() or c in " ._-+*/=,:()'" else f"#{ord(c)};" for c in printable(text))


def dot(graph: Graph) -> str:
    """Return the graph in Graphviz' language."""
    shapes = {
        "field": "ellipse",
        "context": "ellipse",
        "parameter": "ellipse",
        "filter": "hexagon",
        "aggregate": "box3d",
    }
    lines = [f"digraph {_quoted(graph.title)} {{", '  node [shape=box, fontname="monospace"];']
    for number, node in enumerate(graph.nodes):
        shape = f", shape={shapes[node.kind]}" if node.kind in shapes else ""
        width = ", penwidth=3" if node.is_output else ""
        label = f"{_escaped(node.name)}\\n{_escaped(node.short)}"
        lines.append(f'  n{number} [label="{label}"{shape}{width}];')
    lines += [f"  n{source} -> n{target};" for source, target in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
