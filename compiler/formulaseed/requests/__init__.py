"""Requests: AND/OR structures with evidence, their shorthand, three-valued logic and validation."""
