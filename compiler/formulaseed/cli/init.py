"""Define the command `init`: it writes a project to start from."""

from __future__ import annotations

from pathlib import Path

import click

from formulaseed.cli.output import say
from formulaseed.data.files import replace_file
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
@click.option("--example", metavar="NAME", help="Also copy one of the examples, such as g1a_v2, to read and to try.")
def init(folder: str, example: str | None) -> None:
    """Write a project to start from: a small policy with its seed, module, data, tests and checks for CI.

    Nothing that exists is overwritten: exit status 2 then, with nothing written.
    """
    root = Path(folder)
    templates = resource_folder("templates") / "init"
    files = {root / file: templates / _TEMPLATES.get(file, file) for file in _FILES}
    if example is not None:
        files |= _list_example_files(root, example)
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise UnreadableError(f"cannot write {', '.join(existing[:3])}: it exists already; nothing is written")
    for path, source in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, source.read_text(encoding="utf-8"))
        say(str(path))
    for seed in sorted(path for path in files if path.name == "seed.json"):
        module = root / "generated" / f"{seed.parent.name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        replace_file(module, compile_seed(load_seed(seed)))
        say(str(module))
    change_folder = "" if folder == "." else f"cd {folder} && "
    say(f"try: {change_folder}formulaseed run generated/my_policy.py --contexts data/contexts.jsonl", err=True)


def _list_example_files(root: Path, name: str) -> dict[Path, Path]:
    """Return the files of an example and its data by the paths that they get under `root`.

    Raises `UsageError` if there is no example of this name.
    """
    from formulaseed.diagnostics.suggestions import did_you_mean

    tasks = resource_folder("tasks")
    known = sorted(path.parent.name for path in tasks.glob("*/seed.json"))
    if name not in known:
        raise click.UsageError(f"there is no example `{name}`; {did_you_mean(name, known, noun='examples')}")
    files = {root / "tasks" / name / path.name: path for path in sorted((tasks / name).iterdir())}
    data = sorted(resource_folder("examples").glob(f"*-{name}.jsonl"))
    return files | {root / "examples" / path.name: path for path in data}
