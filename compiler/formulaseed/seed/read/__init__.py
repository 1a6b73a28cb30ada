"""The JSON of a seed, version 1 or 2, to a surface program."""
