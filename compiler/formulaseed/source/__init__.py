"""Text as it was read, with a place for everything in it. Knows nothing of seeds."""
