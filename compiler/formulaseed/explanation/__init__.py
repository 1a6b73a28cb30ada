"""Explains why a restaurant got its verdict, and what would change it: of one restaurant, or of all in a report."""
