"""What is wrong, as data; its wording and drawing come last."""
