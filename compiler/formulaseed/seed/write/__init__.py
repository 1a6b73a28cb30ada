"""Seeds as text: formatted, sorted, migrated, fixed."""
