"""The wheel in new environments: the command works from what it carries, and each optional extra does what it is for.

Extras are installed by pip from a registry, so their tests run only if FORMULASEED_EXTRAS is set, as in continuous integration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import formulaseed
import pytest
from formulaseed.cli.examples import EXAMPLES as EXAMPLES_OF_COMMANDS
from helpers import EXAMPLES, ROOT, SEEDS, TASKS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("environments")]
PURELIB = "import sysconfig; print(sysconfig.get_path('purelib'))"
SEED = TASKS / "g1a_v2" / "seed.json"


def call(*command: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program without the variables of this Python, and return how it ended."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more
    return subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )  # fmt: skip


def run(*command: object, cwd: Path) -> str:
    """Run a program that must succeed, and return its output."""
    done = call(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def new_environment(folder: Path, requirement: object, beside: str, *options: str) -> Path:
    """Return the Python of a new environment with a requirement, which also sees the packages in the folder `beside`."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=ROOT)
    python = folder / "bin" / "python"
    site = Path(run(python, "-c", PURELIB, cwd=folder).strip())
    (site / "beside.pth").write_text(beside)
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-compile",
        "--disable-pip-version-check",
    )
    done = call(*pip, *options, requirement, cwd=folder)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip(f"{requirement} cannot be installed here: no registry is reached")
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment's `bin`, with the wheel in it and this environment's other packages beside it."""
    folder = tmp_path_factory.mktemp("environment")
    return new_environment(folder, wheel, sysconfig.get_path("purelib"), "--no-index", "--no-deps").parent


def test_the_wheel_holds_the_package_and_its_resources(wheel: Path) -> None:
    """Code, type marker, grammar, templates, examples and pages are in it; tests and generated modules are not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "compiler" / "formulaseed"
    sources = [path for path in package.rglob("*") if path.suffix in {".py", ".md", ".txt", ".typed"}]
    assert {f"formulaseed/{path.relative_to(package).as_posix()}" for path in sources} <= names
    for folder in ("grammar", "templates", "examples"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert {f"formulaseed/_resources/{path.relative_to(ROOT).as_posix()}" for path in files} <= names
    assert {name.split("/")[0] for name in names} == {"formulaseed", f"formulaseed-{formulaseed.__version__}.dist-info"}


def test_the_installed_command_works_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    """From another folder, with its own grammar and templates, it compiles to the same bytes, explains and evaluates."""
    (tmp_path / "seed.json").write_bytes(SEEDS[0].read_bytes())
    expected = formulaseed.compile_seed(tmp_path / "seed.json")
    assert run(installed / "formulaseed", "compile", "seed.json", "--stdout", "--out", ".", cwd=tmp_path) == expected
    program = (
        "import formulaseed, json\nfrom formulaseed.resources import resource_folder\n"
        "print(json.dumps([formulaseed.__file__, *(str(resource_folder(n)) for n in ('grammar', 'templates'))]))"
    )
    places = [Path(place) for place in json.loads(run(installed / "python", "-c", program, cwd=tmp_path))]
    assert all(place.exists() and place.is_relative_to(installed.parent) for place in places)
    assert (places[1] / "formula.lark").read_bytes() == (ROOT / "grammar" / "formula.lark").read_bytes()
    assert "FS201" in run(installed / "formulaseed", "rule", "FS201", cwd=tmp_path)
    rows = EXAMPLES / "rows-g1a_v2.jsonl"
    assert run(installed / "formulaseed", "evaluate", SEED, "--rows", rows, cwd=tmp_path).count("\n") == 14


def test_the_demo_works_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """With the examples that the wheel carries; it writes its two pages beside a copy of these examples, and nothing else."""
    output = run(installed / "formulaseed", "demo", cwd=tmp_path)
    assert "Run it on the restaurants of examples/contexts.jsonl" in output
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert {"formulaseed-demo/explanation.html", "formulaseed-demo/report.html"} < {*files}
    assert {name.split("/")[1] for name in files} == {"explanation.html", "report.html", "tasks", "examples"}


@pytest.mark.parametrize("name", [*EXAMPLES_OF_COMMANDS])
def test_each_way_in_works_in_an_empty_folder(installed: Path, tmp_path: Path, name: str) -> None:
    """A project with the example, and the commands that it proposes; its demo shows them and what they print."""
    path = f"{installed}:{os.environ['PATH']}"
    call(installed / "formulaseed", "init", "--example", name, cwd=tmp_path)
    demo = call(installed / "formulaseed", "demo", name, cwd=tmp_path) if name != "g1a_v2" else None
    for command in EXAMPLES_OF_COMMANDS[name].commands:
        done = call("sh", "-c", command, cwd=tmp_path, PATH=path)
        is_misspelt = "cpu_mark_mult /" in command
        assert done.returncode == int(is_misspelt), done.stderr
        assert demo is None or f"$ {command}\n" in demo.stdout
        assert demo is None or (done.stdout or done.stderr).splitlines()[0] in demo.stdout + demo.stderr


def test_links_of_the_description_lead_to_the_site(wheel: Path) -> None:
    """README is the description; its links and picture are those of the address that docs/site.toml states."""
    address = tomllib.loads((ROOT / "docs" / "site.toml").read_text(encoding="utf-8"))["address"]
    assert address == "https://formulaseed.example"  # a placeholder until there is a site
    text = zipfile.ZipFile(wheel).read(f"formulaseed-{formulaseed.__version__}.dist-info/METADATA").decode()
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert f"{address}/images/explanation.png" in links
    assert [link for link in links if not link.startswith(f"{address}/")] == []
    assert f"Project-URL: Changelog, {address}/changelog/" in text


def test_pytest_finds_the_plugin(installed: Path, tmp_path: Path) -> None:
    """The wheel registers the plugin with pytest: a configured seed is a test, without any `-p`."""
    (tmp_path / "seed.json").write_bytes(SEED.read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nformulaseed_seeds = seed.json\nfilterwarnings = error\n")
    assert "1 passed" in run(installed / "python", "-m", "pytest", "-q", "-k", "check", cwd=tmp_path)


# --- extras

RUN = ("run", SEED, "--contexts", EXAMPLES / "contexts.jsonl")
RECORDED = ("--extractions", EXAMPLES / "extractions-g1a_v2.jsonl")
_SITE = f"""
from pathlib import Path
from mkdocs.commands.build import build
from mkdocs.config import load_config
site = Path("site").absolute()
build(load_config({str(ROOT / "mkdocs.yml")!r}, site_dir=str(site), strict=True))
print(sum((site / "codes" / code / "index.html").is_file() for code in ("FS305", "FS818")))
"""
_SEED = """
seed = {"task_name": "T", "extract": {"fields": [{"name": "n", "type": "integer"}]},
        "compute": [{"name": "N", "op": "count"}], "output": ["N"]}
rows = {"business_id": ["a", "a"], "review_id": ["r1", "r2"], "n": [1, 2]}
"""
_TABLES = f"""
import formulaseed, pyarrow
{_SEED}
contexts = pyarrow.table({{"business_id": ["a"]}})
print(formulaseed.score(seed, pyarrow.table(rows), contexts).to_pylist()[0]["N"])
"""
_FRAMES = f"""
import pandas
from pyspark.sql import SparkSession
from formulaseed import spark
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
{_SEED}
contexts = session.createDataFrame(pandas.DataFrame({{"business_id": ["a"]}}))
print(spark.score(seed, session.createDataFrame(pandas.DataFrame(rows)), contexts).collect()[0]["N"])
"""
_STRATEGIES = f"""
from hypothesis import given
from formulaseed.testing import rows as row_lists
{_SEED}
@given(row_lists(seed))
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
    "prove": ("prove", SEED),
    "spark": ("-c", _FRAMES),
    "sql": ("compile", SEED, "--target", "sql", "--stdout"),
    "testing": ("-c", _STRATEGIES),
    "train": (*RUN, "--extractor", "trained", *RECORDED),
}
"""A use of each extra: a command of formulaseed, or a program that prints 2 at its end."""
needs_registry = pytest.mark.skipif(not os.environ.get("FORMULASEED_EXTRAS"), reason="FORMULASEED_EXTRAS is not set")
CONSTRAINTS = ("--constraint", str(ROOT / "constraints.txt"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment without any extra."""
    return new_environment(tmp_path_factory.mktemp("base") / "environment", wheel, "", *CONSTRAINTS)


@needs_registry
@pytest.mark.parametrize("tool", ["pip", "uvx"])
def test_what_the_readme_says_installs_it(tool: str, tmp_path: Path) -> None:
    """`pip install .` and `uvx --from . formulaseed demo`, without an extra; pip's index is also that of uv."""
    assert "pip install .\nuvx --from . formulaseed demo\n" in (ROOT / "README.md").read_text(encoding="utf-8")
    requirement = ROOT if tool == "pip" else "uv"
    python = new_environment(tmp_path / "environment", requirement, "", *CONSTRAINTS)
    command: list[object] = [python.parent / "formulaseed"]
    if tool == "uvx":
        command = [python.parent / "uvx", "--python", sys.executable, "--from", ".", "formulaseed"]
    settings = {"UV_FIND_LINKS": "PIP_FIND_LINKS", "SSL_CERT_FILE": "PIP_CERT", "UV_DEFAULT_INDEX": "PIP_INDEX_URL"}
    given = {name: os.environ[source] for name, source in settings.items() if os.environ.get(source)}
    done = call(*command, "demo", "--out", tmp_path / "demo", cwd=ROOT, UV_CACHE_DIR=str(tmp_path / "cache"), **given)
    if "Failed to fetch" in done.stderr:
        pytest.skip("uv reaches no registry")
    assert done.returncode == 0, done.stderr
    assert "no network, no model" in done.stdout


def test_every_extra_has_a_use() -> None:
    """All but those for this repository; `make` installs `mutation` beside `dev`."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(USES) == set(extras) - {"dev", "mutation"}


@needs_registry
@pytest.mark.parametrize("extra", USES)
def test_an_extra_alone_does_what_it_is_for(extra: str, wheel: Path, base: Path, tmp_path: Path) -> None:
    """The command ends as it should; a model that cannot be reached is reported as that, not as a missing package."""
    if extra == "spark" and shutil.which("java") is None:
        pytest.skip("there is no Java")
    packages = run(base, "-c", PURELIB, cwd=ROOT).strip()
    requirement = f"formulaseed[{extra}] @ file://{wheel}"
    python = new_environment(tmp_path / "environment", requirement, packages, *CONSTRAINTS)
    use = USES[extra]
    if extra == "fast":
        rows_out = ("--rows-out", "rows.jsonl")
        run(python, "-m", "formulaseed", *RUN, "--extractor", "recorded", *RECORDED, *rows_out, cwd=tmp_path)
    is_program = use[0] == "-c"
    variables = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    variables["PYSPARK_PYTHON"] = str(python)  # without it, Spark's workers are the python3 of PATH
    done = call(python, *(use if is_program else ("-m", "formulaseed", *use)), cwd=tmp_path, **variables)
    assert "internal error" not in done.stderr
    assert "formulaseed[" not in done.stderr, done.stderr
    if extra == "llm":
        assert done.returncode != 0
        assert "connect" in done.stderr.lower(), done.stderr
    else:
        assert done.returncode == 0, done.stderr
    if is_program:
        assert done.stdout.split()[-1] == "2"


@needs_registry
def test_without_extras_the_demo_works_and_a_missing_extra_is_named(base: Path, tmp_path: Path) -> None:
    """The demo speaks of nothing to install; each use says which extra it needs, and how to install it."""
    demo = call(base, "-m", "formulaseed", "demo", cwd=tmp_path)
    assert (demo.returncode, "pip install" in demo.stdout + demo.stderr) == (0, False)
    for extra in ("database", "llm", "lsp", "parquet", "prove", "train"):
        done = call(base, "-m", "formulaseed", *USES[extra], cwd=tmp_path, ANTHROPIC_API_KEY="none")
        assert done.returncode == 2, (extra, done.stderr)
        assert f"formulaseed[{extra}]" in done.stderr
        assert "internal error" not in done.stderr
