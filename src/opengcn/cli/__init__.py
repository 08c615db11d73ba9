"""The command line. One file a command; `app` says what they share."""

from opengcn.cli import demo as demo
from opengcn.cli.app import app as app
from opengcn.cli.app import main as main
