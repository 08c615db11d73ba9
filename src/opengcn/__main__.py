"""`python -m opengcn` is the command line."""

from opengcn.cli import main

main()
