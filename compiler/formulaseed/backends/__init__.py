"""Targets. Each turns a checked program into the text of a file."""
