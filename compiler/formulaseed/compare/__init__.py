"""Compares policies over the same restaurants: two seeds, moved numbers, and which parts are reached."""
