"""Names the tests of a module and their failure; needs neither pytest nor Hypothesis."""

from __future__ import annotations

from formulaseed.ir import nodes

PROPERTIES = ("agreement", "bounds", "order")
"""The tests of every module; each property that the seed declares is one more."""


class Failed(Exception):
    """Raised if a test of a seed fails; shown without a traceback."""


def claim_name(claim: nodes.Property) -> str:
    """Return the name of the test of a declared property."""
    return f"{claim.step}-{claim.direction}-in-{claim.variable}"
