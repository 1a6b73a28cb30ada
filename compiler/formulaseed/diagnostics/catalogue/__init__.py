"""Every diagnostic of the compiler: a typed constructor for each mistake, one module for each phase.

A phase passes what it knows (spans, names, what was expected and found); all English is here and nowhere else.
"""
