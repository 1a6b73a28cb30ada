"""The data formats: JSON Lines, contexts, reviews, rows, results."""
