"""Source text with spans, and JSON with a span for every value. Does not know about seeds."""
