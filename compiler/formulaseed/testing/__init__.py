"""Property tests for seeds: Hypothesis strategies, and the reference evaluator to compare with.

    from hypothesis import given
    from formulaseed.testing import contexts, reference_evaluate, rows

    @given(rows("seed.json"), contexts("seed.json"))
    def test_score_is_bounded(rows, context):
        assert 0 <= reference_evaluate("seed.json", rows, context)["SCORE"] <= 20

Needs the package `hypothesis`, which no other part of formulaseed imports.
"""

from formulaseed.testing.inputs import contexts, parameters, rows
from formulaseed.testing.random_seeds import seeds
from formulaseed.testing.reference import reference_evaluate

__all__ = ["contexts", "parameters", "reference_evaluate", "rows", "seeds"]
