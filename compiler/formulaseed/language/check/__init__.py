"""Expressions as written to typed expressions: the type rules of the language."""
