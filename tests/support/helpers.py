"""What several tests share: the command as a real process, small seeds, files of JSON Lines."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import forking
import pytest
from formulaseed.cli.main import main
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.documents import FormulaSeed, SeedAnalysis
from formulaseed.requests.patterns import parse_pattern
from formulaseed.seed.kind import KIND as SEED
from formulaseed.source.json_reader import JsonString, read_json
from formulaseed.source.text import Source

ROOT = Path(__file__).resolve().parents[2]
TASKS = ROOT / "tasks"
EXAMPLES = ROOT / "examples"
PAGES = ROOT / "compiler" / "formulaseed" / "diagnostics" / "pages"
SEEDS = sorted(TASKS.glob("*/seed.json"))
SEEDS_V2 = [path for path in SEEDS if path.parent.name != "g1a_v1"]
IS_DEEP = os.environ.get("FORMULASEED_HYPOTHESIS") == "deep"
"""Whether more is tried than in a normal run, which may take long."""


@dataclass(frozen=True)
class Outcome:
    """How a process ended and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def results(self) -> list[dict[str, Any]]:
        """Standard output as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def expect(self, status: int, *errors: str, out: str | None = None) -> Outcome:
        """Assert the status, that standard error contains each of these texts, and what standard output is; return self."""
        assert self.status == status, (self.status, self.err)
        for error in errors:
            assert error in self.err, (error, self.err)
        assert out is None or self.out == out, self.out
        return self

    def by_id(self) -> dict[str, dict[str, Any]]:
        return {result["business_id"]: result for result in self.results}


def formulaseed(
    *arguments: object,
    stdin: bytes = b"",
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    redirect: str = "",
    memory: int | None = None,
) -> Outcome:
    """Run the command as its own process, `redirect` as in a shell, in so many bytes. No run may ever show a traceback."""
    given = [*map(str, arguments)]
    environment = {**os.environ, **(env or {})}
    if redirect:
        shell = ["sh", "-c", f'exec "$0" -m formulaseed "$@" {redirect}', sys.executable, *given]
        done = subprocess.run(
            shell, input=stdin, capture_output=True, cwd=cwd, env=environment, timeout=120, check=False,
            preexec_fn=None if memory is None else partial(forking.limit, memory),
        )  # fmt: skip
    else:
        done = forking.run(given, stdin=stdin, folder=cwd, environment=environment, seconds=120, memory=memory)
    outcome = Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in outcome.err, outcome.err
    return outcome


def command(*arguments: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> Outcome:
    """A command in this process, as `formulaseed` runs it in one of its own, only faster."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    status: Any = 0
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, env or {}),
        mock.patch.object(sys, "argv", ["formulaseed", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code
        written = []
        for stream in (out, err):
            stream.flush()
            written.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    assert "Traceback" not in written[1] or (env or {}).get("FORMULASEED_DEBUG"), written[1]
    return Outcome(int(status or 0), *written)


def on_terminal(
    *arguments: object, columns: int = 80, cwd: Path = ROOT, err: bool = True, **environment: str
) -> tuple[str, str]:
    """What a command shows on a terminal so wide, and its standard error unless that is shown there, too."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = forking.start(
        [*map(str, arguments)], folder=cwd, environment={**variables, "TERM": "xterm", **environment}, merged=err, stdout=its
    )  # fmt: skip
    os.close(its)
    shown = b""
    with contextlib.suppress(OSError):  # which says on Linux that there is no writer any more
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    _, rest = process.communicate(timeout=60)
    return shown.decode().replace("\r\n", "\n"), (rest or b"").decode()


def needs(package: str, extra: str) -> None:
    """Skip the test or the module if a package is not installed that takes seconds to import."""
    if find_spec(package) is None:
        pytest.skip(f"the extra `{extra}` is not installed", allow_module_level=True)


def parsed(pattern: str) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """What becomes of a pattern that stands in a JSON file."""
    problems = Problems()
    text, faults = read_json(Source("pattern.json", json.dumps(pattern, ensure_ascii=False)))
    assert isinstance(text, JsonString)
    assert not faults
    return parse_pattern(text, problems), problems.sorted()


def accepted(pattern: str) -> str:
    """What `re` runs for a pattern in which nothing is wrong."""
    source, diagnostics = parsed(pattern)
    assert source is not None, diagnostics[0].message
    return source


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, *records: object) -> Path:
    """JSON Lines; a record that is bytes stands in the file as it is."""
    lines = [r if isinstance(r, bytes) else json.dumps(r, ensure_ascii=False).encode() for r in records]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and its key or index there."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def without_errors(found: SeedAnalysis) -> FormulaSeed:
    """The seed of an analysis that has no errors."""
    assert not found.has_errors, [(d.code, d.pointer, d.message) for d in found.diagnostics]
    assert found.program is not None
    return FormulaSeed(SEED, found.document, found.program, found.diagnostics)


@contextlib.contextmanager
def msgspec_installed(is_installed: bool, cached: Any) -> Iterator[None]:
    """With msgspec, or as where it is not installed; `cached` is the function that remembers which."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_installed:
            patch.setitem(sys.modules, "msgspec.json", None)
        cached.cache_clear()
        yield
    cached.cache_clear()


def tiny_seed(**changes: object) -> dict[str, Any]:
    """A small seed with a bit of everything; `SHARE` has no value where there are no rows."""
    verdicts = [
        {"when": "N < param.LEAST", "then": "few"},
        {"when": "SHARE > 0.5 and context.is_open == 1", "then": "good"},
        {"else": "bad"},
    ]
    seed: dict[str, Any] = {
        "task_name": "Tiny-1",
        "parameters": {"LEAST": {"type": "integer", "default": 2, "minimum": 1, "maximum": 10}},
        "filter": {"keywords": ["soup"]},
        "extract": {
            "fields": [
                {"name": "mood", "type": "enum", "values": {"good": "Liked the soup", "bad": "Hated the soup"}},
                {"name": "score", "type": "integer", "description": "Points given", "default": 0},
            ]
        },
        "compute": [
            {"name": "N", "op": "count"},
            {"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}},
            {
                "name": "TOTAL",
                "op": "sum",
                "expr": "extraction.score * meta.stars",
                "where": {"extraction.mood": "good"},
            },
            {"name": "SHARE", "op": "expr", "expr": "N_GOOD / N"},
            {"name": "VERDICT", "op": "case", "rules": verdicts},
        ],
        "output": ["N_GOOD", "TOTAL", "SHARE", "VERDICT"],
    }
    return {**seed, **changes}


def tiny_row(review_id: str, mood: str = "good", score: int = 1, stars: float = 5) -> dict[str, Any]:
    return {"review_id": review_id, "extraction": {"mood": mood, "score": score}, "meta": {"stars": stars}}


def tiny_rows(business_id: str, *rows: object) -> dict[str, Any]:
    """A line of rows for the small seed."""
    return {"business_id": business_id, "context": {"name": f"The {business_id}", "is_open": 1}, "rows": list(rows)}


def assert_black_unchanged(source: str) -> None:
    """Assert that black would change nothing in `source`, at the project's line length."""
    import black

    mode = black.Mode(line_length=120, target_versions={black.TargetVersion.PY311})
    assert source == black.format_str(source, mode=mode)
