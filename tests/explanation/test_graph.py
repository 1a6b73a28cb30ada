"""The graph of a computation has every step and what it uses, in every format, whatever the seed's names and texts are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import formulaseed as library
import pytest
from formulaseed.ir import nodes
from formulaseed.pages.graph import Graph, as_dot, as_mermaid, build_graph
from formulaseed.testing import seeds
from helpers import TASKS, command, tiny_seed, write_json
from hypothesis import given, settings

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
@pytest.mark.thorough
def test_it_has_every_step_and_what_it_uses(seed: dict[str, Any]) -> None:
    """Each step is a node, each input in use one more, and edges lead forwards from all that a step mentions."""
    program = library.load_seed(seed).program
    graph = build_graph(program)
    steps = program.steps
    assert [node.step for node in graph.nodes if node.step is not None] == [step.name for step in steps]
    assert len({node.symbol for node in graph.nodes}) == len(graph.nodes)
    assert {node.symbol for node in graph.nodes} >= program.used()
    assert all(source < target for source, target in graph.edges)
    assert {node.step for node in graph.nodes if node.is_output} == set(program.output)
    names = edges_by_name(graph)
    for step in steps:
        own = f"${step.name}" if isinstance(step.operation, nodes.Filter) else step.name
        sources = {source for source, target in names if target == own}
        assert sources >= {str(symbol) for symbol in step.symbols()}


def test_the_example() -> None:
    graph = build_graph(G1A)
    assert len(graph.nodes) == len(G1A.steps) + 7
    assert {source for source, target in edges_by_name(graph) if target == "N_RECENT"} == {"$IS_INCIDENT", "meta.year"}
    kinds = {"context.categories": "context", "$IS_INCIDENT": "filter", "TOTAL_WEIGHT": "aggregate", "VERDICT": "step"}
    assert {node.name: node.kind for node in graph.nodes if node.name in kinds} == kinds


def test_hoisted_parts_are_in_their_step() -> None:
    """The input that a formula of a seed v1 counts is an edge to the step that its author wrote."""
    formula = "len([e for e in extractions if e['year'] >= 2023]) / (len(extractions) + 1)"
    seed = {
        "task_name": "T", "extraction_fields": [{"name": "k", "values": ["a", "b"]}],
        "compute_dag": [{"name": "share", "formula": formula}], "output_fields": ["share"],
    }  # fmt: skip
    graph = build_graph(library.load_seed(seed).program)
    assert edges_by_name(graph) == {("meta.year", "share")}


# --- as text


@pytest.mark.parametrize("program", [G1A, hostile()], ids=["example", "hostile"])
def test_mermaid_and_dot_hold_no_syntax_of_the_seed(program: nodes.Program) -> None:
    """Each line is a node, an edge or our own; a node's text is in quotes that end where they should."""
    graph = build_graph(program)
    text = r"(?:[\w .+*/=,:()'-]|#\d+;)*"
    node = rf'  n\d+(?:\(\[|\{{\{{|\[\[?)"{text}<br>{text}"(?:\]\)|\}}\}}|\]\]?)'
    head, title, *lines = as_mermaid(graph).splitlines()
    assert (head, title) == ("flowchart TB", f"  accTitle: {graph.title}")
    count = len(graph.nodes)
    for line in lines[:count]:
        assert re.fullmatch(node, line), line
    assert all(re.fullmatch(r"  n\d+ --> n\d+", line) for line in lines[count : count + len(graph.edges)])
    assert all(line.startswith("  class") for line in lines[count + len(graph.edges) :])
    head, _, *lines, last = as_dot(graph).splitlines()
    assert (head, last) == (f'digraph "{graph.title}" {{', "}")
    string = r'"(?:[^"\\]|\\["\\n])*"'
    for line in lines:
        assert re.fullmatch(rf"  n\d+ -> n\d+;|  n\d+ \[label={string}(, shape=\w+)?(, penwidth=3)?\];", line), line


def test_texts_are_shown_whole_or_cut() -> None:
    """A long formula is cut, a character that a terminal acts on is an escape."""
    graph = build_graph(hostile())
    text = next(node for node in graph.nodes if node.step == "TEXT")
    assert (text.text.isprintable(), "\\u202e" in text.text, text.short[-1]) == (True, True, "…")


# --- the command


def test_the_command(tmp_path: Path) -> None:
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    graph = build_graph(library.load_seed(tiny_seed()).program)
    assert command("graph", seed).out == as_mermaid(graph)
    out = tmp_path / "g.dot"
    done = command("graph", seed, "--format", "dot", "--out", out)
    assert (done.status, done.out, out.read_text(encoding="utf-8")) == (0, f"{out}\n", as_dot(graph))
    bad = write_json(tmp_path / "bad.json", tiny_seed(output=["NONE"]))
    assert [command("graph", path, *options).status for path, *options in ((seed, "--format", "svg"), (bad,))] == [2, 1]
