"""Draws the computation of a policy as a graph of its inputs and steps, in the languages Mermaid and DOT.

In: a checked program. Out: a `Graph`, in the seed's order. Names and formulas of a seed are escaped in both languages.
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
_MAX_LABEL_LENGTH = 60


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An input or a step of a program. `text` is the computation of a step, or the type of an input."""

    kind: Kind
    symbol: Symbol
    text: str
    is_output: bool = False

    @property
    def name(self) -> str:
        """The name as formulas write it, such as `$RECENT` of a filter or `meta.stars` of an input."""
        return str(self.symbol)

    @property
    def step(self) -> str | None:
        """The step's name; None for an input."""
        return None if self.symbol.kind in INPUT_KINDS else self.symbol.name

    @property
    def short(self) -> str:
        """The text, cut to 60 characters with an ellipsis at the end if it is longer."""
        if len(self.text) <= _MAX_LABEL_LENGTH:
            return self.text
        return f"{self.text[: _MAX_LABEL_LENGTH - 1]}…"


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes of a program and its edges. An edge is a pair of positions in `nodes`: the used node, then its user."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int], ...]


def build_graph(program: nodes.Program) -> Graph:
    """Return the graph of a program.

    Its nodes are the inputs that some step uses, then all steps, in the seed's order.
    """
    symbols_by_step = find_symbols(program)
    used_symbols = {symbol for symbols in symbols_by_step.values() for symbol in symbols}
    graph_nodes = (*_list_input_nodes(program, used_symbols), *_list_step_nodes(program))
    position = {node.symbol: number for number, node in enumerate(graph_nodes)}
    pairs = (
        (used, node.symbol) for node in graph_nodes if node.step is not None for used in symbols_by_step[node.step]
    )
    return Graph(program.task_name, graph_nodes, tuple((position[used], position[user]) for used, user in pairs))


def _list_input_nodes(program: nodes.Program, used_symbols: set[Symbol]) -> Iterator[GraphNode]:
    """Yield a node for each field and parameter in `used_symbols`, in the order of the declarations."""
    declared: tuple[tuple[SymbolKind, Iterable[nodes.ExtractionField | nodes.InputField | nodes.Parameter]], ...] = (
        (SymbolKind.EXTRACTION, program.fields),
        (SymbolKind.META, program.meta),
        (SymbolKind.CONTEXT, program.context),
        (SymbolKind.PARAMETER, program.parameters),
    )
    for kind, fields in declared:
        for field in fields:
            symbol = Symbol(kind, field.name)
            if symbol in used_symbols:
                yield GraphNode(_KIND_OF_INPUT[kind], symbol, str(field.ty))


def _list_step_nodes(program: nodes.Program) -> Iterator[GraphNode]:
    """Yield a node for each step, in the seed's order, of the kind `filter`, `aggregate` or `step`."""
    for step in program.steps:
        kind: Kind = "aggregate" if step.aggregate is not None else "step"
        if isinstance(step.operation, nodes.Filter):
            kind = "filter"
        yield GraphNode(kind, step_symbol(step), printable(step_text(step)), step.name in program.output)


_SHAPES: dict[Kind, tuple[str, str, str]] = {
    "field": ("([", "])", ", shape=ellipse"),
    "context": ("([", "])", ", shape=ellipse"),
    "parameter": ("([", "])", ", shape=ellipse"),
    "filter": ("{{", "}}", ", shape=hexagon"),
    "aggregate": ("[[", "]]", ", shape=box3d"),
    "step": ("[", "]", ""),
}
"""The brackets around a node of Mermaid, and the attribute of a node of DOT."""


def as_mermaid(graph: Graph) -> str:
    """Return the graph as a Mermaid flowchart, from top to bottom; outputs have a thick border."""
    lines = ["flowchart TB", f"  accTitle: {_strip_mermaid_syntax(graph.title)}"]
    for number, node in enumerate(graph.nodes):
        opening, closing, _ = _SHAPES[node.kind]
        label = f"{_escape_mermaid(node.name)}<br>{_escape_mermaid(node.short)}"
        lines.append(f'  n{number}{opening}"{label}"{closing}')
    lines += [f"  n{source} --> n{target}" for source, target in graph.edges]
    outputs = ",".join(f"n{number}" for number, node in enumerate(graph.nodes) if node.is_output)
    if outputs:
        lines += ["  classDef output stroke-width:3px", f"  class {outputs} output"]
    return "\n".join(lines) + "\n"


def _strip_mermaid_syntax(text: str) -> str:
    """Return the text with spaces in place of characters that could end a line or a statement of Mermaid."""
    return "".join(character if character.isalnum() or character in " -_." else " " for character in printable(text))


def _escape_mermaid(text: str) -> str:
    """Return the text with Mermaid's character codes in place of all but letters, digits and harmless signs."""
    return "".join(c if c.isalnum() or c in " ._-+*/=,:()'" else f"#{ord(c)};" for c in printable(text))


def as_dot(graph: Graph) -> str:
    """Return the graph in DOT, the language of Graphviz; outputs have a thick border."""
    lines = [f'digraph "{_escape_dot(graph.title)}" {{', '  node [shape=box, fontname="monospace"];']
    for number, node in enumerate(graph.nodes):
        width = ", penwidth=3" if node.is_output else ""
        label = f"{_escape_dot(node.name)}\\n{_escape_dot(node.short)}"
        lines.append(f'  n{number} [label="{label}"{_SHAPES[node.kind][2]}{width}];')
    lines += [f"  n{source} -> n{target};" for source, target in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _escape_dot(text: str) -> str:
    """Return the text as it is between the quotes of a DOT string."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
