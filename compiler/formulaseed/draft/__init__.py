"""Phase 1: from a task text to a checked seed, by a model whose every answer is kept and held against the compiler."""
