"""The command line. One file a command; `app` says what they share."""

# In the order of the help page.
# isort: off
from opengcn.cli import demo as demo
from opengcn.cli import embed as embed
from opengcn.cli import inspect as inspect
from opengcn.cli import fit as fit
from opengcn.cli import threshold as threshold
from opengcn.cli import tenants as tenants
from opengcn.cli import convert as convert
from opengcn.cli import evaluate as evaluate
from opengcn.cli import compare as compare
from opengcn.cli import benchmark as benchmark
from opengcn.cli import serve as serve
from opengcn.cli.app import app as app
from opengcn.cli.app import main as main
