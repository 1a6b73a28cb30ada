"""Surface program to checked program: names, types, nulls, ranges. Tells of every problem in one go."""
