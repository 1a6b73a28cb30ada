"""Analyses of policies on real restaurants: why a result is what it is, differences, sensitivity, coverage, graphs."""
