"""Each optional extra in an environment that has this extra alone: what it is for works.

Environments are made with pip, so these tests run where FORMULASEED_EXTRAS is set, as continuous integration does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import EXAMPLES, ROOT, TASKS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("FORMULASEED_EXTRAS"), reason="FORMULASEED_EXTRAS is not set"),
    pytest.mark.xdist_group("extras"),
]
SEED = TASKS / "g1a_v2" / "seed.json"
RUN = ("run", SEED, "--contexts", EXAMPLES / "contexts.jsonl")
RECORDED = ("--extractions", EXAMPLES / "extractions-g1a_v2.jsonl")
FOR_DEVELOPMENT = {"dev", "mutation"}
"""What is for this repository; `make` installs `mutation` beside `dev`."""
_SITE = f"""
from pathlib import Path
from mkdocs.commands.build import build
from mkdocs.config import load_config
site = Path("site").absolute()
build(load_config({str(ROOT / "mkdocs.yml")!r}, site_dir=str(site), strict=True))
print(sum((site / "codes" / code / "index.html").is_file() for code in ("FS305", "FS818")))
"""
_TABLES = """
import formulaseed, pyarrow
seed = {"task_name": "T", "extract": {"fields": [{"name": "n", "type": "integer"}]},
        "compute": [{"name": "N", "op": "count"}], "output": ["N"]}
rows = pyarrow.table({"business_id": ["a", "a"], "review_id": ["r1", "r2"], "n": [1, 2]})
print(formulaseed.score(seed, rows, pyarrow.table({"business_id": ["a"]})).to_pylist()[0]["N"])
"""
_FRAMES = """
import pandas
from pyspark.sql import SparkSession
from formulaseed import spark
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
seed = {"task_name": "T", "extract": {"fields": [{"name": "n", "type": "integer"}]},
        "compute": [{"name": "N", "op": "count"}], "output": ["N"]}
rows = session.createDataFrame(pandas.DataFrame({"business_id": ["a", "a"], "review_id": ["r1", "r2"], "n": [1, 2]}))
contexts = session.createDataFrame(pandas.DataFrame({"business_id": ["a"]}))
print(spark.score(seed, rows, contexts).collect()[0]["N"])
"""
_STRATEGIES = """
from hypothesis import given
from formulaseed.testing import rows
seed = {"task_name": "T", "extract": {"fields": []}, "compute": [{"name": "N", "op": "count"}], "output": ["N"]}
@given(rows(seed))
def drawn(given_rows):
    assert isinstance(given_rows, list), given_rows
drawn()
print("2")
"""
USES: dict[str, tuple[object, ...]] = {
    "database": ("reference", "--database", f"sqlite:///{EXAMPLES / 'listing.db'}"),
    "docs": ("-c", _SITE),
    "duckdb": ("-c", _TABLES),
    "fast": ("evaluate", SEED, "--rows", "rows.jsonl"),
    "llm": (*RUN, "--extractor", "anthropic", "--retries", "0", "--limit", "1"),
    "lsp": ("lsp",),
    "parquet": (*RUN, "--extractor", "recorded", *RECORDED, "--out", "results.parquet"),
    "spark": ("-c", _FRAMES),
    "testing": ("-c", _STRATEGIES),
    "train": (*RUN, "--extractor", "trained", *RECORDED),
}
"""What each extra is for: a command of formulaseed, or a program."""


def call(*command: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def new_environment(folder: Path, requirement: str, beside: Path | None = None) -> Path:
    """Return the Python of a new environment with a requirement, which also sees the packages of another one."""
    assert call(sys.executable, "-m", "venv", "--without-pip", folder, cwd=ROOT).returncode == 0
    python = folder / "bin" / "python"
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).stdout.strip())
    if beside is not None:
        (site / "beside.pth").write_text(str(beside))
    options = ("-q", "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt")
    done = call(sys.executable, "-m", "pip", "--python", python, "install", *options, requirement, cwd=folder)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip(f"{requirement} cannot be installed here: no registry is reached")
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of an environment without any extra."""
    python = new_environment(tmp_path_factory.mktemp("base") / "environment", str(wheel))
    return Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=ROOT).stdout.strip())


@pytest.fixture
def environment(wheel: Path, base: Path, tmp_path: Path) -> Callable[[str], Path]:
    return lambda extra: new_environment(tmp_path / "environment", f"formulaseed[{extra}] @ file://{wheel}", base)


def test_every_extra_has_a_use() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(USES) == set(extras) - FOR_DEVELOPMENT


@pytest.mark.parametrize("extra", USES)
def test_an_extra_alone_does_what_it_is_for(extra: str, environment: Callable[[str], Path], tmp_path: Path) -> None:
    """The command ends as it should; a model that cannot be reached is reported as that, not as a missing package."""
    if extra == "spark" and shutil.which("java") is None:
        pytest.skip("there is no Java")
    rows = tmp_path / "rows.jsonl"
    python, use = environment(extra), USES[extra]
    if extra == "fast":
        done = call(
            python, "-m", "formulaseed", *RUN, "--extractor", "recorded", *RECORDED, "--rows-out", rows, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    is_program = use[0] == "-c"
    command = use if is_program else ("-m", "formulaseed", *use)
    variables = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    variables["PYSPARK_PYTHON"] = str(python)  # without it, Spark's workers are the python3 of PATH
    done = call(python, *command, cwd=tmp_path, **variables)
    assert "internal error" not in done.stderr
    assert "formulaseed[" not in done.stderr, done.stderr
    if extra == "llm":
        assert done.returncode != 0
        assert "connect" in done.stderr.lower(), done.stderr
    else:
        assert done.returncode == 0, done.stderr
    if is_program:
        assert done.stdout.split()[-1] == "2"


def test_the_demo_needs_no_extra(base: Path, tmp_path: Path) -> None:
    """In an environment of the base packages, it succeeds and speaks of nothing to install."""
    done = call(base.parents[2] / "bin" / "python", "-m", "formulaseed", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pip install" not in done.stdout + done.stderr


def test_a_missing_extra_is_named(base: Path, tmp_path: Path) -> None:
    """Without any extra each use says which one it needs, and how to install it."""
    python = base.parents[2] / "bin" / "python"
    for extra in ("database", "llm", "lsp", "parquet", "train"):
        done = call(python, "-m", "formulaseed", *USES[extra], cwd=tmp_path, ANTHROPIC_API_KEY="none")
        assert done.returncode == 2, (extra, done.stderr)
        assert f"formulaseed[{extra}]" in done.stderr
        assert "internal error" not in done.stderr
