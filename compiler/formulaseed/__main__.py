"""Run the command line for `python -m formulaseed`."""

from formulaseed.cli.main import main

main()
