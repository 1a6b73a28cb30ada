"""Likely mistakes in what a correct seed means. Each can be allowed in the seed, by code and with a reason."""
