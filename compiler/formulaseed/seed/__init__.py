"""The Formula Seed: read, checked, linted and written, in both versions."""
