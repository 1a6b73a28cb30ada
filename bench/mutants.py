"""How many mutants of the checker, the printer and the interpreter the tests notice; `make mutants` runs it.

mutmut makes the mutants, as `[tool.mutmut]` in pyproject.toml says, into mutants/. It names them after their path,
`compiler.formulaseed…`, by which its own runner does not find them in modules called `formulaseed…`; so they are run here, in
one session of pytest: a process each, the tests that call the mutated function, short ones first, until one fails. What comes of
it is kept where mutmut looks for it: `mutmut show NAME` shows a mutant, `mutmut browse` all of them.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MUTATED = ROOT / "mutants" / "compiler"
TESTS = {
    "cases/test_cases.py": r"test_case\[",
    "diagnostics/test_rules.py": "example|instead",
    "agreement/test_reference.py": "",
    "ir/test_program.py": "",
    "language/test_checker_limits.py": "",
    "diagnostics/test_fix.py": "misspelt|certain|quotes|operands",
    "agreement/test_every_expression.py": r"wide-[12]\]",
    "agreement/test_three_ways.py": r"random_formulas\[|is_a_part",
    "agreement/test_properties.py": "module_agrees",
    "reference/test_rule_files.py": "agree_with_the_interpreter",
}
"""The files of tests, each with a pattern of the tests that are run."""
PYTEST = [
    "-x",
    "-q",
    "-s",
    "-p",
    "no:cacheprovider",
    "-o",
    "pythonpath=tests/support",
    "-o",
    "tmp_path_retention_policy=none",
]
NOT_CALLED = 33
UNCHANGED = "unchanged"
"""Stands for no mutant, run at the end of each batch: whatever makes tests fail by itself shows."""
BATCH = 50
STATUSES = {0: "survived", 1: "killed", NOT_CALLED: "not called"}
"""What the end of a process means; any other is one that took too long."""
TIMES_LONGER, LEAST_SECONDS, MOST_BYTES = 3, 10, 4 << 30


def main() -> None:
    """Make mutants, test each, and print how many the tests notice."""
    given = _arguments()
    os.chdir(ROOT)
    if not (given.keep or given.again):
        _make()
    import pytest

    os.environ["PYTHONPATH"] = str(MUTATED)
    os.environ.setdefault("FORMULASEED_HYPOTHESIS", "brief")
    sys.path.insert(0, str(MUTATED))
    session = _Session(given)
    with tempfile.TemporaryDirectory() as folder:
        own = f"--basetemp={folder}/tests"  # the usual place is cleared by other runs of pytest
        status = pytest.main([*PYTEST, own, *(f"tests/{name}" for name in TESTS)], plugins=[session])
    if status == 0:
        _report(session.everything, session.found)
    raise SystemExit(status)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=900, help="about so many mutants, 0 for all (default: 900)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: 1)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="mutants whose names match, a regular expression")
    parser.add_argument("--keep", action="store_true", help="go on with the mutants that are in mutants/")
    parser.add_argument("--again", action="store_true", help="the same, and run those that went unnoticed again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    return parser.parse_args()


def _make() -> None:
    from mutmut.__main__ import create_mutants
    from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir

    shutil.rmtree("mutants", ignore_errors=True)
    os.mkdir("mutants")
    copy_src_dir()
    copy_also_copy_files()
    create_mutants(os.cpu_count() or 1)


class _Session:
    """A pytest plugin: instead of running the tests once, it runs them with each mutant of the sample."""

    def __init__(self, given: argparse.Namespace) -> None:
        from mutmut.__main__ import collect_source_file_mutation_data

        _, files = collect_source_file_mutation_data(mutant_names=())
        self.given = given
        self.files = {path: data for path, data in sorted(files.items()) if data.exit_code_by_key}
        self.everything = {path: list(data.exit_code_by_key) for path, data in self.files.items()}
        self.found: dict[str, int] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [
            item for item in items if re.search(TESTS[item.path.relative_to(ROOT / "tests").as_posix()], item.nodeid)
        ]

    def pytest_runtestloop(self, session: Any) -> bool:
        import formulaseed

        assert Path(formulaseed.__file__).is_relative_to(MUTATED)
        tests = _tests_by_function(session.items)
        names = [name for path in self.files for name in self._sample(path)]
        known = {name: status for data in self.files.values() for name, status in data.exit_code_by_key.items()}
        unnoticed = (None, 0, NOT_CALLED) if self.given.again else (None,)
        self.found = {name: known[name] for name in names if known[name] not in unnoticed}
        rest = [name for name in names if name not in self.found]
        print(f"{len(names)} mutants, {len(rest)} to run; {len(session.items)} tests", flush=True)
        gc.freeze()
        for start in range(0, len(rest), BATCH):
            found = dict(_run([*rest[start : start + BATCH], UNCHANGED], tests, self.given.jobs))
            if found.pop(UNCHANGED) != 0:
                raise SystemExit("tests fail without any mutant by now: the last mutants are not counted")
            self.found |= found
            for data in self.files.values():
                data.exit_code_by_key |= {name: found[name] for name in data.exit_code_by_key if name in found}
                data.save()
            print(f"{len(self.found)}: {_score(self.found.values())}", flush=True)
        return True

    def _sample(self, path: str) -> list[str]:
        """The file's share. A mutant's place in the order is up to its name and the seed alone."""
        names, total = self.everything[path], sum(map(len, self.everything.values()))
        share = round(len(names) * self.given.sample / total) if self.given.sample else len(names)
        ordered = sorted(names, key=lambda name: hashlib.sha256(f"{self.given.seed} {name}".encode()).digest())
        return [name for name in ordered[:share] if re.search(self.given.only, name)]


def _tests_by_function(items: list[Any]) -> dict[str, list[tuple[float, Any]]]:
    """The tests that call each mutated function with their seconds, short ones first. All pass without a mutant."""
    from mutmut.state import state

    found: dict[str, list[tuple[float, Any]]] = defaultdict(list)
    _choose("stats")
    for item in items:
        started = time.process_time()
        if not _passes(item):
            raise SystemExit(f"{item.nodeid} fails without any mutant")
        for function in state()._stats:
            found[function].append((time.process_time() - started, item))
        state()._stats.clear()
    found[UNCHANGED] = [test for tests in found.values() for test in tests][:50]
    return {function: sorted(tests, key=lambda test: test[0]) for function, tests in found.items()}


def _passes(item: Any) -> bool:
    from _pytest.runner import runtestprotocol

    return not any(report.failed for report in runtestprotocol(item, log=False))


def _run(names: list[str], tests: dict[str, list[tuple[float, Any]]], jobs: int) -> Iterator[tuple[str, int]]:
    """Each mutant with how its process ended."""
    running: dict[int, str] = {}
    for name in names:
        callers = tests.get(_inside(name).partition("__mutmut_")[0])
        if callers is None:
            yield name, NOT_CALLED
            continue
        if len(running) == jobs:
            yield _ended(running)
        pid = os.fork()
        if pid == 0:
            _child(_inside(name), callers)
        running[pid] = name
    while running:
        yield _ended(running)


def _ended(running: dict[int, str]) -> tuple[str, int]:
    pid, status = os.wait()
    return running.pop(pid), os.waitstatus_to_exitcode(status)


def _child(mutant: str, tests: list[tuple[float, Any]]) -> None:
    most = round(sum(seconds for seconds, _ in tests) * TIMES_LONGER) + LEAST_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    _choose(mutant)
    status = 1
    try:
        status = 0 if all(_passes(item) for _, item in tests) else 1
    finally:
        os._exit(status)


def _choose(mutant: str) -> None:
    """What the mutated modules do in this process from now on; processes that a test starts run what is not mutated."""
    from mutmut.mutation.trampoline import set_mutant_under_test

    set_mutant_under_test(mutant)
    del os.environ["MUTANT_UNDER_TEST"]


def _inside(name: str) -> str:
    """The mutant's name in the modules themselves."""
    return name.removeprefix("compiler.")


def _score(statuses: Iterable[int]) -> str:
    counted = Counter(STATUSES.get(status, "timed out") for status in statuses)
    noticed = counted["killed"] + counted["timed out"]
    parts = [f"{counted[what]} {what}" for what in ("killed", "timed out", "survived", "not called")]
    return f"{100 * noticed / (sum(counted.values()) or 1):.1f} %: {', '.join(parts)}"


def _report(everything: dict[str, list[str]], found: dict[str, int]) -> None:
    print("\nnot noticed (`mutmut show NAME` shows what was changed):")
    for name, status in found.items():
        if status in (0, NOT_CALLED):
            print(f"  {name}")
    print()
    for path, names in everything.items():
        mine = [found[name] for name in names if name in found]
        print(f"{path}: {len(mine)} of {len(names)}, {_score(mine)}")
    print(f"all: {len(found)} of {sum(map(len, everything.values()))}, {_score(found.values())}")


if __name__ == "__main__":
    main()
