"""The Python target: a typed module that needs the standard library only."""
