"""The typed, resolved program."""
