"""Programs as written: names are still text."""
