"""Prove what holds for all restaurants, and find restaurants for which it does not."""
