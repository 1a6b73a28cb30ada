"""Serve editors with the language features of seeds: diagnostics, hover texts, completions, definitions."""
