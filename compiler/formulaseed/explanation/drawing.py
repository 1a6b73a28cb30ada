"""Draws a graph as SVG: columns from what is read to the verdict, edges that pass between the boxes.

The package `grandalf` finds the order of the boxes and their places, by Sugiyama's method; its layers run downwards, and here
they are columns. The SVG needs nothing else, takes its colour from the page, and each step's box has its name in `data-step`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from formulaseed.diagnostics.model import printable
from formulaseed.diagnostics.render import columns
from formulaseed.errors import require_extra
from formulaseed.explanation.graph import Graph, Node
from formulaseed.explanation.values import shown
from formulaseed.language.types import Value
from formulaseed.source.text import one_line

_NAME, _TEXT = 8.0, 6.8
"""The widths of a character, in pixels: of a name, which is bold, and of the other lines."""
_LINE, _PADDING = 16, 10
_LETTERS = 40
_APART, _COLUMNS_APART, _PARTS_APART = 14, 48, 30
_ROUNDS = 20
"""So often is the order of the boxes in all columns improved."""
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
_ALONE = "<style>svg{color:#222}@media(prefers-color-scheme:dark){svg{color:#eee;background:#111}}</style>"


@dataclass(frozen=True, slots=True)
class Box:
    """Where a node is: its middle and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Stop:
    """Where an edge passes a column: its height, and where the column begins and ends."""

    y: float
    left: float
    right: float


_Path = tuple[tuple[int, int], list[Stop]]
"""An edge: the positions of its two nodes, and what it passes."""


class Drawing:
    """A graph with its layout, which is the same whatever the values; the same graph has the same layout.

    `with_values` leaves room for a line with each step's value. Raises `UnreadableError` where `grandalf` is not
    installed.
    """

    def __init__(self, graph: Graph, *, with_values: bool = False) -> None:
        self.graph = graph
        self.with_values = with_values
        self.boxes, self.paths = _laid_out(graph, [_size(node, with_values) for node in graph.nodes])

    def svg(self, values: Mapping[str, Value] | None = None, *, alone: bool = False) -> str:
        """Return the drawing. `values` are those of steps by name; `alone` makes it a file that a browser shows."""
        width = max((box.right for box in self.boxes), default=0) + _PADDING
        height = max((box.y + box.height / 2 for box in self.boxes), default=0) + _PADDING
        title = f"The computation of {printable(self.graph.title)}"
        said = "What is read is on the left; each step is to the right of what it uses; outputs have a thick border."
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_number(width)} {_number(height)}" '
            f'width="{_number(width)}" height="{_number(height)}" role="img" font-family="{_FONT}" font-size="11" '
            'text-anchor="middle" fill="none" stroke="currentColor">',
            f"<title>{escape(title)}</title>",
            f"<desc>{said}</desc>",
            *([_ALONE] if alone else []),
            '<g class="edges" stroke-opacity="0.5">',
            *(self._edge(ends, stops) for ends, stops in self.paths),
            "</g>",
        ]
        for node, box in zip(self.graph.nodes, self.boxes, strict=True):
            lines += _drawn(node, box, self._value(node, values or {}))
        return "\n".join([*lines, "</svg>"]) + "\n"

    def _value(self, node: Node, values: Mapping[str, Value]) -> str | None:
        """The line with the value of a step; None where there is no room for one."""
        if not self.with_values or node.step is None:
            return None
        return _cut(f"= {shown(values[node.step])}") if node.step in values else ""

    def _edge(self, ends: tuple[int, int], stops: Sequence[Stop]) -> str:
        """A line through each column at its height, with a curve between two columns, and an arrow at the end."""
        source, target = (self.boxes[end] for end in ends)
        path = f"M{_number(source.right)} {_number(source.y)}H{_number(stops[0].right)}"
        for before, after in pairwise(stops):
            middle = _number((before.right + after.left) / 2)
            path += (
                f"C{middle} {_number(before.y)} {middle} {_number(after.y)} {_number(after.left)} {_number(after.y)}"
            )
            path += f"H{_number(target.left if after is stops[-1] else after.right)}"
        tip = f"M{_number(target.left)} {_number(target.y)}l-6 -3v6z"
        return f'<path d="{path}"/><path d="{tip}" fill="currentColor" stroke="none" opacity="0.5"/>'


def _laid_out(graph: Graph, sizes: Sequence[tuple[float, float]]) -> tuple[list[Box], list[_Path]]:
    """Lay a graph out, its connected parts below one another, the largest first."""
    with require_extra("graph", "drawing a graph"):
        from grandalf.graphs import Edge, Vertex
        from grandalf.graphs import Graph as Parts
    vertices = [Vertex(number) for number in range(len(sizes))]
    for vertex, (width, height) in zip(vertices, sizes, strict=True):
        vertex.view = _View(width, height)
    edges = [Edge(vertices[source], vertices[target]) for source, target in graph.edges]
    boxes: dict[int, Box] = {}
    paths: list[_Path] = []
    down = float(_PADDING)
    with _deep(len(vertices)):
        parts = [_part(part) for part in Parts(vertices, edges).C]
    for found, passing in sorted(parts, key=lambda part: (-len(part[0]), min(part[0]))):
        left = min(box.left for box in found.values())
        heights = [stop.y for _, stops in passing for stop in stops]
        top = min([box.y - box.height / 2 for box in found.values()] + heights)
        bottom = max([box.y + box.height / 2 for box in found.values()] + heights)
        x, y = _PADDING - left, down - top
        boxes |= {number: Box(b.x + x, b.y + y, b.width, b.height) for number, b in found.items()}
        paths += [(ends, [Stop(s.y + y, s.left + x, s.right + x) for s in stops]) for ends, stops in passing]
        down += bottom - top + _PARTS_APART
    return [boxes[number] for number in range(len(sizes))], sorted(paths, key=lambda path: path[0])


@contextmanager
def _deep(number: int) -> Iterator[None]:
    """Let `grandalf` follow a chain of so many boxes: it recurses from each to the next."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 4 * number)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class _View:
    """The size and the place of a box, as `grandalf` has them: in rows, so that all is turned."""

    def __init__(self, width: float, height: float) -> None:
        self.w, self.h = height, width
        self.xy = (0.0, 0.0)


def _part(part: Any) -> tuple[dict[int, Box], list[_Path]]:
    """Lay out one connected part: the boxes by their positions in the graph, and the edges."""
    from grandalf.layouts import SugiyamaLayout

    layout = SugiyamaLayout(part)
    layout.xspace, layout.yspace = _APART, _COLUMNS_APART
    layout.dw, layout.dh = 4, 10  # where a long edge passes a column
    layout.init_all()
    layout.draw(_ROUNDS)
    boxes = {each.data: Box(each.view.xy[1], each.view.xy[0], each.view.h, each.view.w) for each in part.V()}
    columns = [[boxes[each.data] for each in layer if not layout.grx[each].dummy] for layer in layout.layers]
    spans = [(min(box.left for box in column), max(box.right for box in column)) for column in columns]
    paths: list[_Path] = []
    for edge in part.E():
        source, target = edge.v
        stops = {**layout.ctrls.get(edge, {}), layout.grx[source].rank: source, layout.grx[target].rank: target}
        passed = [Stop(stops[rank].view.xy[0], *spans[rank]) for rank in sorted(stops)]
        paths.append(((source.data, target.data), passed))
    return boxes, paths


# --- boxes


def _size(node: Node, with_values: bool) -> tuple[float, float]:
    """The width and height of a node's box."""
    room = len("= 0.1234567890") * _TEXT if with_values and node.step is not None else 0.0
    width = max(columns(_cut(node.name)) * _NAME, columns(_cut(node.text)) * _TEXT, room) + 2 * _PADDING
    return width, (3 if room else 2) * _LINE + _PADDING


def _drawn(node: Node, box: Box, value: str | None) -> Iterator[str]:
    """The box of a node with its lines, and all that it says as a tooltip."""
    own = f'data-step="{escape(node.step)}"' if node.step is not None else f'data-input="{escape(node.name)}"'
    output = ' data-output="true"' if node.is_output else ""
    yield f'<g class="node {node.kind}" {own}{output}>'
    yield f"<title>{escape(f'{node.name}: {node.text}')}</title>"
    yield f'<path d="{_outline(node, box)}" stroke-width="{2.5 if node.is_output else 1}"/>'
    top = box.y - box.height / 2 + _PADDING / 2 + 12
    lines = [("name", node.name, ' font-size="13" font-weight="bold"'), ("what", node.text, ' opacity="0.75"')]
    for number, (name, text, style) in enumerate(lines if value is None else [*lines, ("value", value, "")]):
        place = f'x="{_number(box.x)}" y="{_number(top + number * _LINE)}"'
        yield f'<text class="{name}" {place}{style} fill="currentColor" stroke="none">{escape(_cut(text))}</text>'
    yield "</g>"


def _outline(node: Node, box: Box) -> str:
    """A rectangle: of what is read with round ends, of a filter with pointed ones, of an aggregate with double sides."""
    left, right, half = box.left, box.right, box.height / 2
    top, bottom = box.y - half, box.y + half
    if node.step is None:
        arc = f"a{_number(half)} {_number(half)} 0 0 1 0 "
        inner, height = _number(right - half), _number(box.height)
        return f"M{_number(left + half)} {_number(top)}H{inner}{arc}{height}H{_number(left + half)}{arc}-{height}z"
    if node.kind == "filter":
        points = [
            (left + 8, top),
            (right - 8, top),
            (right, box.y),
            (right - 8, bottom),
            (left + 8, bottom),
            (left, box.y),
        ]
        return f"M{'L'.join(f'{_number(x)} {_number(y)}' for x, y in points)}z"
    whole = f"M{_number(left)} {_number(top)}H{_number(right)}V{_number(bottom)}H{_number(left)}z"
    sides = "".join(f"M{_number(x)} {_number(top)}V{_number(bottom)}" for x in (left + 4, right - 4))
    return whole + sides if node.kind == "aggregate" else whole


def _cut(text: str) -> str:
    text = printable(one_line(text))
    return text if columns(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _number(value: float) -> str:
    """A number of pixels, with one digit behind the point at most."""
    return f"{value:.1f}".removesuffix(".0")
