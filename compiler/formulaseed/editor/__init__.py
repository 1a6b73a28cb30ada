"""Serve seeds to editors while they are written."""
