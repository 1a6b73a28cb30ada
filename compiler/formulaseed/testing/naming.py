"""Names the tests of a module, and defines their exception; needs neither pytest nor Hypothesis."""

from __future__ import annotations

import re

from formulaseed.ir import nodes
from formulaseed.language.printer import expression_text

PROPERTIES = ("agreement", "bounds", "order")
"""The names of the tests that every module has; each property that its seed declares is one more test."""


class Failed(Exception):
    """Raised if a test of a seed fails; pytest shows the message without a traceback."""


def claim_name(claim: nodes.Property) -> str:
    """Return the name of a declared property's test."""
    if claim.review is None:
        return f"{claim.step}-{claim.direction}-in-{claim.variable}"
    return (
        f"{claim.step}-{claim.direction}-by-{re.sub(r'[^0-9A-Za-z_.]+', '-', expression_text(claim.review)).strip('-')}"
    )
