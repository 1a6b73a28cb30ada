"""Call a model, for both phases: calls and answers as data, prompts, prices, one client."""
