"""Drafts a checked seed from a task text (phase 1); every answer of the model is recorded and validated."""
