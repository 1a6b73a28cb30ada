"""`python -m formulaseed`."""

from formulaseed.cli.main import main

main()
