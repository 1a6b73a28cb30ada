"""A surface program to a checked program: names, types, nulls, intervals."""
