"""`python -m metier`."""

import sys

from metier.cli.main import main

sys.exit(main())
