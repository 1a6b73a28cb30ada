"""Warnings of what is valid and probably not intended."""
