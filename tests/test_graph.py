"""The graph of a computation has every step and what it uses, in every format, whatever the seed's names and texts are."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import formulaseed as library
import pytest
from formulaseed.errors import UnreadableError
from formulaseed.explanation.graph import Graph, Node, dot, graph_of, mermaid, svg
from formulaseed.ir import nodes
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.testing import seeds
from helpers import SEEDS, TASKS, formulaseed, tiny_seed, write_json
from hypothesis import given, settings
from hypothesis import strategies as st

G1A = library.load_seed(TASKS / "g1a_v2" / "seed.json").program
HOSTILE = "\"']; n1 --> x\\ `%%{init}` </text><script>alert(1)</script> #35; | & end \u202e\n@y --> 日本"


def hostile() -> nodes.Program:
    seed = tiny_seed()
    seed["compute"].insert(0, {"name": "TEXT", "op": "const", "value": HOSTILE})
    seed["compute"][-1]["rules"][0]["then"] = HOSTILE
    return library.load_seed({**seed, "output": [*seed["output"], "TEXT"]}).program


def edges_by_name(graph: Graph) -> set[tuple[str, str]]:
    return {(graph.nodes[source].name, graph.nodes[target].name) for source, target in graph.edges}


# --- the graph


@settings(max_examples=15)
@given(seeds())
def test_it_has_every_step_and_what_it_uses(seed: dict[str, Any]) -> None:
    """Each step is a node, each input in use one more, and edges lead forwards from all that a step mentions."""
    program = library.load_seed(seed).program
    graph = graph_of(program)
    steps = program.steps
    assert [node.step for node in graph.nodes if node.step is not None] == [step.name for step in steps]
    assert len({node.symbol for node in graph.nodes}) == len(graph.nodes)
    assert {node.symbol for node in graph.nodes} >= program.used()
    assert all(source < target for source, target in graph.edges)
    assert {node.step for node in graph.nodes if node.is_output} == set(program.output)
    names = edges_by_name(graph)
    for step in steps:
        own = f"${step.name}" if isinstance(step.operation, nodes.Filter) else step.name
        found = {source for source, target in names if target == own}
        assert found >= {str(symbol) for symbol in step.symbols()}


def test_the_example() -> None:
    graph = graph_of(G1A)
    assert len(graph.nodes) == len(G1A.steps) + 7
    assert {source for source, target in edges_by_name(graph) if target == "N_RECENT"} == {"$IS_INCIDENT", "meta.year"}
    kinds = {node.name: node.kind for node in graph.nodes}
    assert kinds["context.categories"] == "context"
    assert kinds["$IS_INCIDENT"] == "filter"
    assert kinds["TOTAL_WEIGHT"] == "aggregate"
    assert kinds["VERDICT"] == "step"


def test_hoisted_parts_are_in_their_step() -> None:
    """What a formula of a seed v1 counts is an edge to the step that its author wrote."""
    formula = "len([e for e in extractions if e['year'] >= 2023]) / (len(extractions) + 1)"
    seed = {
        "task_name": "T", "extraction_fields": [{"name": "k", "values": ["a", "b"]}],
        "compute_dag": [{"name": "share", "formula": formula}], "output_fields": ["share"],
    }  # fmt: skip
    graph = graph_of(library.load_seed(seed).program)
    assert edges_by_name(graph) == {("meta.year", "share")}


# --- as text


@pytest.mark.parametrize("program", [G1A, hostile()], ids=["example", "hostile"])
def test_mermaid_and_dot_hold_no_syntax_of_the_seed(program: nodes.Program) -> None:
    """Each line is a node, an edge or our own; a node's text is in quotes that end where they should."""
    graph = graph_of(program)
    text = r"(?:[\w .+*/=,:()'-]|#\d+;)*"
    node = rf'  n\d+(?:\(\[|\{{\{{|\[\[?)"{text}<br>{text}"(?:\]\)|\}}\}}|\]\]?)'
    head, title, *lines = mermaid(graph).splitlines()
    assert (head, title) == ("flowchart TB", f"  accTitle: {graph.title}")
    count = len(graph.nodes)
    for line in lines[:count]:
        assert re.fullmatch(node, line), line
    assert all(re.fullmatch(r"  n\d+ --> n\d+", line) for line in lines[count : count + len(graph.edges)])
    assert all(line.startswith("  class") for line in lines[count + len(graph.edges) :])
    head, _, *lines, last = dot(graph).splitlines()
    assert (head, last) == (f'digraph "{graph.title}" {{', "}")
    string = r'"(?:[^"\\]|\\["\\n])*"'
    for line in lines:
        assert re.fullmatch(rf"  n\d+ -> n\d+;|  n\d+ \[label={string}(, shape=\w+)?(, penwidth=3)?\];", line), line


def test_texts_are_shown_whole_or_cut() -> None:
    """A long formula is cut, a character that a terminal acts on is an escape."""
    graph = graph_of(hostile())
    text = next(node for node in graph.nodes if node.step == "TEXT")
    assert text.text.isprintable()
    assert text.short.endswith("…")
    assert "\\u202e" in text.text


# --- drawn


@pytest.fixture
def _library() -> None:
    pytest.importorskip("grandalf", reason="the extra `graph` is not installed")


SVG = "{http://www.w3.org/2000/svg}"


def drawn(program: nodes.Program, values: dict[str, Any] | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(svg(program, values))


@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_an_svg_has_a_box_for_each_node(path: Path) -> None:
    """With the step's name as data, inside the view; it has a title and a description, and takes its colour from the page."""
    program = library.load_seed(path).program
    root, graph = drawn(program), graph_of(program)
    groups = [group for group in root.iter(f"{SVG}g") if "node" in group.get("class", "").split()]
    assert [group.get("data-step") for group in groups] == [node.step for node in graph.nodes]
    assert len([*root.iter(f"{SVG}path")]) == len(graph.nodes) + 2 * len(graph.edges)
    assert root.find(f"{SVG}title") is not None
    assert root.find(f"{SVG}desc") is not None
    assert root.get("role") == "img"
    width, height = map(float, root.get("viewBox", "").split()[2:])
    for place in root.iter(f"{SVG}text"):
        assert 0 < float(place.get("x", 0)) < width
        assert 0 < float(place.get("y", 0)) < height
    colours = {each.get(name) for each in root.iter() for name in ("fill", "stroke")}
    assert colours == {None, "none", "currentColor"}


@pytest.mark.usefixtures("_library")
def test_values_are_in_the_boxes() -> None:
    """Each step's value as formulas have it; what has none has an empty line; inputs have no line."""
    root = drawn(G1A, {"VERDICT": "Low Risk", "TRUST_SCORE": 0.25, "N_MILD": 3})
    shown = {
        group.get("data-step"): text.text
        for group in root.iter(f"{SVG}g")
        for text in group.findall(f"{SVG}text")
        if text.get("class") == "value"
    }
    assert len(shown) == len(G1A.steps)
    assert {name: text for name, text in shown.items() if text} == {
        "VERDICT": "= 'Low Risk'", "TRUST_SCORE": "= 0.25", "N_MILD": "= 3",
    }  # fmt: skip


@pytest.mark.usefixtures("_library")
def test_a_hostile_text_is_text() -> None:
    """No element of a seed's own; the whole text is in the tooltip."""
    root = drawn(hostile(), {"TEXT": HOSTILE})
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {"svg", "title", "desc", "g", "path", "text"}
    tooltips = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert any("<script>alert(1)</script>" in text for text in tooltips)


@pytest.mark.usefixtures("_library")
def test_the_same_graph_is_drawn_alike() -> None:
    assert svg(G1A) == svg(library.load_seed(TASKS / "g1a_v2" / "seed.json").program)


@pytest.mark.usefixtures("_library")
@given(st.data())
@settings(max_examples=25)
def test_boxes_do_not_overlap(data: st.DataObject) -> None:
    """Each box is apart from all others, and each edge leads from the left to the right."""
    from formulaseed.explanation.drawing import Drawing

    number = data.draw(st.integers(0, 20))
    widths = data.draw(st.lists(st.integers(0, 60), min_size=number, max_size=number))
    found = tuple(Node("step", Symbol(SymbolKind.STEP, f"S{n}"), "x" * width) for n, width in enumerate(widths))
    pairs = [(source, target) for target in range(number) for source in range(target)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []
    drawing = Drawing(Graph("T", found, tuple(edges)), with_values=data.draw(st.booleans()))
    for n, one in enumerate(drawing.boxes):
        for other in drawing.boxes[:n]:
            beside = abs(one.x - other.x) >= (one.width + other.width) / 2
            assert beside or abs(one.y - other.y) >= (one.height + other.height) / 2
    assert sorted(edges) == [ends for ends, _ in drawing.paths]
    for (source, target), stops in drawing.paths:
        assert drawing.boxes[source].right < drawing.boxes[target].left
        assert (stops[0].y, stops[-1].y) == (drawing.boxes[source].y, drawing.boxes[target].y)


@pytest.mark.usefixtures("_library")
def test_a_long_chain_is_drawn() -> None:
    """As many steps as a seed may have, each using the one before it."""
    from formulaseed.explanation.drawing import Drawing

    found = tuple(Node("step", Symbol(SymbolKind.STEP, f"S_{number}"), "x") for number in range(1000))
    assert len(Drawing(Graph("T", found, tuple(pairwise(range(1000))))).boxes) == 1000


# --- the command


def test_the_command(tmp_path: Path) -> None:
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    assert formulaseed("graph", seed).out == mermaid(graph_of(library.load_seed(tiny_seed()).program))
    done = formulaseed("graph", seed, "--format", "dot", "--out", tmp_path / "g.dot")
    assert (done.status, done.out) == (0, f"{tmp_path / 'g.dot'}\n")
    assert (tmp_path / "g.dot").read_text(encoding="utf-8").startswith('digraph "Tiny-1" {')
    assert formulaseed("graph", seed, "--format", "png").status == 2
    assert formulaseed("graph", write_json(tmp_path / "bad.json", tiny_seed(output=["NONE"]))).status == 1


@pytest.mark.usefixtures("_library")
def test_the_command_draws(tmp_path: Path) -> None:
    """A file of its own knows dark mode."""
    done = formulaseed("graph", write_json(tmp_path / "seed.json", tiny_seed()), "--format", "svg")
    assert done.status == 0
    style = ElementTree.fromstring(done.out).find(f"{SVG}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in (style.text or "")


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install, with exit status 2; the other formats need nothing."""
    monkeypatch.setitem(sys.modules, "grandalf.graphs", None)
    with pytest.raises(UnreadableError, match=r"pip install 'formulaseed\[graph\]'"):
        svg(G1A)
    (tmp_path / "grandalf.py").write_text("raise ImportError\n", encoding="utf-8")
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    done = formulaseed("graph", seed, "--format", "svg", cwd=tmp_path)
    assert done.status == 2
    assert "formulaseed[graph]" in done.err
    assert formulaseed("graph", seed, cwd=tmp_path).status == 0
