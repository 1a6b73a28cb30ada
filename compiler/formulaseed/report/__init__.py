"""Why a result is what it is, and what would change it."""
