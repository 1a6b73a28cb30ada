"""Render diagnostics as SARIF 2.1.0, the format of code scanning services.

In: the diagnostics of any number of files. Out: one run, as text; the same diagnostics give the same bytes.
Columns count characters and lines end at line feeds, as in all output.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from formulaseed.diagnostics.codes import CODES, read_explanation, read_headline, read_page
from formulaseed.diagnostics.model import Diagnostic, locate
from formulaseed.source.text import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "formulaseed/v1"

_Json = dict[str, Any]


def render_sarif(diagnostics: Sequence[Diagnostic], version: str) -> str:
    """Return the log, as JSON, of one run of this version of the tool.

    The results keep the order of the diagnostics; the rules are those of their codes, sorted.
    """
    codes = sorted({d.code for d in diagnostics})
    seen: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "formulaseed", "version": version, "rules": [_build_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "results": [_build_result(d, codes.index(d.code), seen) for d in diagnostics],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _build_rule(code: str) -> _Json:
    """Return the rule of a code, with the texts of its page."""
    text = read_explanation(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in CODES[code].name.split("-")),
        "shortDescription": {"text": read_headline(code)},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": read_page(code)},
        "defaultConfiguration": {"level": CODES[code].severity},
    }


def _build_result(d: Diagnostic, rule: int, seen: Counter[str]) -> _Json:
    """Return the result for a diagnostic; `rule` is the index of its rule. Counts the problem in `seen`.

    Only a fix that is safe to apply is included.
    """
    location: _Json = {"physicalLocation": _build_location(d.file, d.span)}
    if d.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": d.pointer}]
    result: _Json = {
        "ruleId": d.code,
        "ruleIndex": rule,
        "level": d.severity,
        "message": _build_message(f"{d.message}\n{d.help}"),
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: _hash_problem(d, seen)},
    }
    if d.related:
        result["relatedLocations"] = [{"physicalLocation": _build_location(d.file, span)} for span in d.related]
    if d.is_fixable:
        result["fixes"] = [_build_fix(d)]
    return result


def _build_location(file: str, span: Span) -> _Json:
    """Return the location of a span in a file: the file's URI and the region."""
    return {"artifactLocation": _build_artifact(file), "region": _build_region(span)}


def _build_message(text: str) -> _Json:
    """Return a message of plain text, in which a viewer finds neither a placeholder nor a link.

    Only the braces of a placeholder are doubled: viewers show doubled ones literally, and JSON in a help is to be typed.
    """
    return {"text": re.sub(r"\{(\d+)\}", r"{{\1}}", text).replace("](", "]\\(")}


def _build_artifact(name: str) -> _Json:
    """Return the URI of a file; a relative path stays relative to the folder in which the tool ran."""
    path = Path(name)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(os.fsencode(path.as_posix())), "uriBaseId": "%SRCROOT%"}


def _build_region(span: Span) -> dict[str, int]:
    """Return the first and last line and column of a span, counted from 1, under the names that SARIF gives them."""
    return dict(zip(("startLine", "startColumn", "endLine", "endColumn"), locate(span).values(), strict=True))


def _hash_problem(d: Diagnostic, seen: Counter[str]) -> str:
    """Return a hash of the code, pointer and message, with a number for equal problems of one file.

    It does not depend on the problem's line. Counts the problem in `seen`.
    """
    identity = "\0".join((d.code, d.pointer, d.message)).encode("utf-8", "surrogatepass")
    problem = hashlib.sha256(identity).hexdigest()[:32]
    key = f"{d.file}\0{problem}"
    seen[key] += 1
    return f"{problem}:{seen[key]}"


def _build_fix(d: Diagnostic) -> _Json:
    """Return the fix of a diagnostic: the change to its file. Raises `AssertionError` without a suggestion."""
    assert d.suggestion is not None
    replacement = {"deletedRegion": _build_region(d.span), "insertedContent": {"text": d.suggestion.replacement}}
    change = {"artifactLocation": _build_artifact(d.file), "replacements": [replacement]}
    return {"description": _build_message(d.help), "artifactChanges": [change]}
