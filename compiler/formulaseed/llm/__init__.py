"""Calls models of the Anthropic API, for both phases: calls and answers as data, prompts, prices, limits, one client."""
