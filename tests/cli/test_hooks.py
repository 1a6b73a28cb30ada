"""The hooks for pre-commit: run on the files that they select, they find what is not as its seed compiles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers import ROOT, Outcome, command, tiny_seed, write_json

CONFIGURATIONS = {
    "of the package": ROOT / ".pre-commit-hooks.yaml",
    "of a new project": ROOT / "templates" / "init" / "pre-commit-config.yaml",
}


class Hook(NamedTuple):
    entry: str
    files: str

    def run(self, folder: Path, *staged: str) -> Outcome:
        """Do what pre-commit does with these files, or all: run the entry with those whose paths match the pattern."""
        paths = staged or sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        program, *arguments = self.entry.split()
        assert program == "formulaseed"
        return command(*arguments, *(path for path in paths if re.search(self.files, path)), cwd=folder)


def read_hooks(configuration: Path) -> dict[str, Hook]:
    """Return the hooks of a file by their ids; the values are plain scalars, some of them followed by a comment."""
    hooks = {}
    for block in configuration.read_text(encoding="utf-8").split("- id: ")[1:]:
        name, *lines = block.splitlines()
        values = {key: value.partition(" #")[0] for key, _, value in (line.strip().partition(": ") for line in lines)}
        hooks[name] = Hook(values["entry"], values["files"])
    return hooks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project: a seed in canonical form, its module and its tests, and code of its own."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "tasks" / "tiny").mkdir(parents=True)
    write_json(tmp_path / "tasks" / "tiny" / "seed.json", tiny_seed())
    (tmp_path / "own.py").write_text("print('mine')\n")
    assert command("fmt", "tasks/tiny/seed.json", cwd=tmp_path).status == 0
    assert command("compile", "tasks/tiny/seed.json", "--tests", "generated/tests", cwd=tmp_path).status == 0
    return tmp_path


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
@pytest.mark.thorough
def test_hooks_pass_what_is_current(configuration: Path, folder: Path) -> None:
    """Each has a pattern that selects the seed, and nothing that it does not understand."""
    hooks = read_hooks(configuration)
    assert set(hooks) == {"formulaseed-check", "formulaseed-fmt", "formulaseed-compile"}
    for hook in hooks.values():
        assert re.search(hook.files, "tasks/tiny/seed.json")
        done = hook.run(folder)
        assert done.status == 0, done.out + done.err


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
@pytest.mark.parametrize("edited", ["generated/tiny_1.py", "generated/tests/test_tiny_1.py", "elsewhere/module.py"])
@pytest.mark.thorough
def test_an_edited_module_alone_is_refused(configuration: Path, edited: str, folder: Path) -> None:
    """If the seed is not staged: the module in whatever folder, and its tests; the line says how to write the file again."""
    path = folder / edited
    path.parent.mkdir(exist_ok=True)
    text = (path if path.exists() else folder / "generated" / "tiny_1.py").read_text(encoding="utf-8")
    path.write_text(text.replace("0.5", "0.25").replace("import seed_tests", "import  seed_tests"))
    (folder / "tasks").rename(folder / "not-staged")
    hook = read_hooks(configuration)["formulaseed-compile"]
    assert hook.run(folder, edited).status == 1  # the seed is gone altogether
    (folder / "not-staged").rename(folder / "tasks")
    done = hook.run(folder, edited, "own.py")
    advice = done.out.partition("`formulaseed ")[2].rstrip("`\n")
    line = f"{edited}: not what tasks/tiny/seed.json compiles to; run `formulaseed {advice}`\n"
    assert (done.status, done.out) == (1, line)
    if edited.startswith("generated/"):
        assert command(*advice.split(), cwd=folder).status == 0
        assert hook.run(folder).status == 0
