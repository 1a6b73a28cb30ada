"""Define the command `init`: it writes a project to start from."""

from __future__ import annotations

from pathlib import Path

import click

from formulaseed.cli.examples import EXAMPLES
from formulaseed.cli.output import say
from formulaseed.data.files import replace_file
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.documents import compile_seed, load_seed
from formulaseed.errors import UnreadableError
from formulaseed.resources import resource_folder

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
