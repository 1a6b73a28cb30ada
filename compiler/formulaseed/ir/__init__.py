"""The typed program."""
