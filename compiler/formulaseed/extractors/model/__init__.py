"""Extraction by a model: what is asked, the store of answers, live calls and batches."""
