"""Measures the speed of this project; `make bench` runs it. It prints numbers and never fails."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import time
import traceback

BENCHMARKS = {
    "evaluation": "the generated module against what people do today",
    "compiling": "compiling in one process",
    "startup": "commands from the shell",
    "pipeline": "reviews a second",
    "rows": "lines of rows to results, with each way of decoding them",
    "lexical": "the lexical extractor where it speaks, against the commonest value, and without each kind of cue",
    "explaining": "explain one restaurant, 1,000 to 100,000 reviews",
    "matrix": "requests evaluated for restaurants",
    "scoring": "whole tables, Parquet to Parquet, on DuckDB and on Spark",
    "calls": "extraction by a model: calls a second against a server on loopback, and memory",
}


def main() -> None:
    """Print the tables of the chosen benchmarks."""
    names = _arguments().only or list(BENCHMARKS)
    print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores{_load()}")
    print("CPU time unless noted otherwise, the shortest of many rounds; less is better, except for throughput.\n")
    started = time.monotonic()
    for name in names:
        try:
            print(importlib.import_module(name).report(), flush=True)
        except Exception:
            print(f"{name} could not be measured:\n{traceback.format_exc()}", flush=True)
    print(f"{time.monotonic() - started:.0f} s in all{_load()}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="\n".join(f"{name:12}{about}" for name, about in BENCHMARKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", choices=BENCHMARKS, metavar="NAME", help="only this one; repeatable")
    return parser.parse_args()


def _load() -> str:
    return f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""


if __name__ == "__main__":
    main()
