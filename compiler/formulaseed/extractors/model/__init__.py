"""Extracts by asking a model: builds the prompts, stores the answers, and makes live calls or batches."""
