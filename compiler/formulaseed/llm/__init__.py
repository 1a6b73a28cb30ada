"""What both phases need to talk to a model: calls and answers as data, prices, prompts, one client."""
