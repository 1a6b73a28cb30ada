"""List the examples that are shipped with the package: the files of each, and commands that show what they are for.

The command `init` writes a project to start from, with an example if the user asks for one.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from formulaseed.cli.output import say
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.documents import compile_seed, load_seed
from formulaseed.errors import UnreadableError
from formulaseed.resources import resource_folder

_LISTING = '\'{"ram_gb": 32, "condition": "refurb", "primary_storage_gb": 1024, "cpu": {"cpu_mark_multi": 28000, "tdp_w": 105}}\''


class Example(NamedTuple):
    """The files of an example, below the folders `examples` and `tasks`, and commands to run where its files are."""

    files: tuple[str, ...]
    commands: tuple[str, ...]
    note: str = ""
    """A sentence to show before the commands run."""

    def copy(self, folder: Path) -> None:
        """Write the example's files below `folder`; existing files are replaced."""
        for path, source in self.sources(folder).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, source.read_bytes())

    def sources(self, folder: Path) -> dict[Path, Path]:
        """Return the file of the package for each path that the example has below `folder`."""
        sources = {}
        for pattern in self.files:
            kind, _, name = pattern.partition("/")
            for source in sorted(resource_folder(kind).glob(name)):
                sources[folder / kind / source.relative_to(resource_folder(kind))] = source
        return sources


EXAMPLES = {
    "g1a_v2": Example(
        ("tasks/g1a_v2/*", "examples/contexts.jsonl", "examples/*-g1a_v2.jsonl"),
        (
            "formulaseed evaluate tasks/g1a_v2/seed.json --rows examples/rows-g1a_v2.jsonl --format table",
            "formulaseed explain tasks/g1a_v2/seed.json --rows examples/rows-g1a_v2.jsonl --id hanks-blue-plate",
        ),
    ),
    "requests": Example(
        ("examples/requests.jsonl", "examples/contexts.jsonl", "examples/social.json", "examples/judgements.jsonl"),
        ("formulaseed validate examples", "formulaseed validate examples --explain R31"),
    ),
    "draft": Example(
        ("tasks/g1a_v2/*", "examples/draft-g1a_v2/*", "examples/contexts.jsonl", "examples/extractions-g1a_v2.jsonl"),
        (
            "formulaseed draft tasks/g1a_v2/task.md --replay examples/draft-g1a_v2 --out seed.json",
            "formulaseed run seed.json --contexts examples/contexts.jsonl"
            " --extractor recorded --extractions examples/extractions-g1a_v2.jsonl --format table",
        ),
        "No model is asked: the answers were written by hand, their tokens and prices are estimates.",
    ),
    "v1": Example(
        ("tasks/g1a_v1/*", "examples/contexts.jsonl", "examples/extractions-g1a_v2.jsonl"),
        (
            "formulaseed run tasks/g1a_v1/seed.json --contexts examples/contexts.jsonl --rows-out rows.jsonl"
            " --extractor recorded --extractions examples/extractions-g1a_v2.jsonl --format table",
            "formulaseed explain tasks/g1a_v1/seed.json --rows rows.jsonl --id hanks-blue-plate",
        ),
    ),
    "formulas": Example(
        ("examples/rules.json", "examples/formula_reference.json", "examples/listing*"),
        (
            'formulaseed formula "cpu.cpu_mark_mult / 1000 * 8.0" --reference examples/formula_reference.json',
            'formulaseed formula "(cpu.cpu_mark_multi or 0) / 1000 * 8.0" --reference examples/formula_reference.json'
            """ --vars '{"cpu": {"cpu_mark_multi": 28000}}'""",
            f"formulaseed formula --file examples/rules.json --vars {_LISTING}",
        ),
    ),
}


# --- the command


_FILES = [
    *("README.md", "pyproject.toml", ".pre-commit-config.yaml", ".github/workflows/policies.yml"),
    *("data/contexts.jsonl", "data/extractions.jsonl"),
    *("tasks/my_policy/task.md", "tasks/my_policy/seed.json", "tests/test_policies.py"),
]
# hidden files of a new project have other names among the templates
_TEMPLATES = {
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
    ".github/workflows/policies.yml": "workflow.yml",
}


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
@click.option(
    "--example", metavar="NAME", help="Also copy an example to read and to try: g1a_v2, requests, draft, v1, formulas."
)
def init(folder: str, example: str | None) -> None:
    """Write a project to start from: a small policy with its seed, module, data, tests and checks for CI.

    Nothing that exists is overwritten: exit status 2 then, with nothing written.
    """
    root = Path(folder)
    templates = resource_folder("templates") / "init"
    files = {root / file: templates / _TEMPLATES.get(file, file) for file in _FILES}
    commands: tuple[str, ...] = (
        "formulaseed run generated/my_policy.py --contexts data/contexts.jsonl --extractor lexical",
    )
    if example is not None:
        if example not in EXAMPLES:
            help = did_you_mean(example, EXAMPLES, noun="examples")
            raise click.UsageError(f"there is no example `{example}`; {help}")
        files |= EXAMPLES[example].sources(root)
        commands = EXAMPLES[example].commands
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise UnreadableError(f"cannot write {', '.join(existing[:3])}: it exists already; nothing is written")
    for path, source in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, source.read_bytes())
        say(str(path))
    for seed in sorted(path for path in files if path.name == "seed.json"):
        module = root / "generated" / f"{seed.parent.name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        replace_file(module, compile_seed(load_seed(seed)))
        say(str(module))
    change_folder = "" if folder == "." else f"cd {folder} && "
    for command in commands:
        say(f"try: {change_folder}{command}", err=True)
