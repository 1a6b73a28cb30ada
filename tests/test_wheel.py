"""The wheel, installed where there is no checkout: the command works from what it carries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import formulaseed
import pytest
from helpers import ROOT, SEEDS

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment's `bin`, with the wheel in it and this environment's other packages beside it."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", wheel, cwd=folder)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent


def test_the_wheel_holds_the_package_and_its_resources(wheel: Path) -> None:
    """Code, type marker, grammar, templates, examples and pages are in it; tests and generated modules are not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "compiler" / "formulaseed"
    wanted = [path for path in package.rglob("*") if path.suffix in {".py", ".md", ".txt", ".typed"}]
    assert {f"formulaseed/{path.relative_to(package).as_posix()}" for path in wanted} <= names
    for folder in ("grammar", "templates", "examples"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert {f"formulaseed/_resources/{path.relative_to(ROOT).as_posix()}" for path in files} <= names
    assert {name.split("/")[0] for name in names} == {"formulaseed", f"formulaseed-{formulaseed.__version__}.dist-info"}


def test_the_installed_command_compiles_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    """From another folder, it compiles a seed to the bytes that the checkout gives, with its own grammar and templates."""
    (tmp_path / "seed.json").write_bytes(SEEDS[0].read_bytes())
    expected = formulaseed.compile_seed(tmp_path / "seed.json")
    assert run(installed / "formulaseed", "compile", "seed.json", "--stdout", "--out", ".", cwd=tmp_path) == expected
    program = (
        "import formulaseed, json\nfrom formulaseed.resources import resource_folder\n"
        "print(json.dumps([formulaseed.__file__, *(str(resource_folder(n)) for n in ('grammar', 'templates'))]))"
    )
    places = [Path(place) for place in json.loads(run(installed / "python", "-c", program, cwd=tmp_path))]
    for place in places:
        assert place.exists()
        assert place.is_relative_to(installed.parent)
    assert (places[1] / "formula.lark").read_bytes() == (ROOT / "grammar" / "formula.lark").read_bytes()


def test_the_demo_works_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """With the examples that the wheel carries; it writes its two pages, and nothing else."""
    shown = run(installed / "formulaseed", "demo", cwd=tmp_path)
    assert "Run it on the restaurants of examples/contexts.jsonl" in shown
    assert sorted(path.name for path in (tmp_path / "formulaseed-demo").iterdir()) == [
        "explanation.html",
        "report.html",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["formulaseed-demo"]


def test_the_installed_command_explains_and_evaluates(installed: Path, tmp_path: Path) -> None:
    """Pages of codes and the runtime come with the wheel."""
    assert "FS201" in run(installed / "formulaseed", "rule", "FS201", cwd=tmp_path)
    rows = ROOT / "examples" / "rows-g1a_v2.jsonl"
    seed = ROOT / "tasks" / "g1a_v2" / "seed.json"
    assert run(installed / "formulaseed", "evaluate", seed, "--rows", rows, cwd=tmp_path).count("\n") == 14


def test_pytest_finds_the_plugin(installed: Path, tmp_path: Path) -> None:
    """The wheel registers the plugin with pytest: a configured seed is a test, without any `-p`."""
    (tmp_path / "seed.json").write_bytes((ROOT / "tasks" / "g1a_v2" / "seed.json").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nformulaseed_seeds = seed.json\nfilterwarnings = error\n")
    assert "1 passed" in run(installed / "python", "-m", "pytest", "-q", "-k", "check", cwd=tmp_path)
