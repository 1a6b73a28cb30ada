"""Documents for people: blocks, rendered as text, Markdown and HTML; charts and graphs."""
