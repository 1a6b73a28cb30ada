"""Diagnostics as data: codes, constructors, suggestions and renderers."""
