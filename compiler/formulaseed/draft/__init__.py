"""Phase 1: from a task text to a checked seed; every answer of the model is recorded and validated."""
