"""Score data frames of Spark. Needs the extra `spark` and a Java runtime. Documentation: docs/scale.md."""

from formulaseed.runtime.spark import score

__all__ = ["score"]
