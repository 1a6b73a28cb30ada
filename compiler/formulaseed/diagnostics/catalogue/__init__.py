"""Every diagnostic of the compiler: a typed constructor for each mistake, one module a phase.

A phase passes what it knows (spans, names, what was expected and found); the words are here and nowhere else.
"""
