"""The formula language: grammar driver, syntax tree, types, intervals, operators and functions, typed expressions."""
