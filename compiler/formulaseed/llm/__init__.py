"""What both phases need to call a model: calls and answers as data, prompts, prices, one client."""
