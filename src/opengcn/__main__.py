"""`python -m opengcn` is the command line."""

from opengcn.cli import app

app(prog_name="opengcn")
