"""`python -m stowplan` is `stowplan`."""

import sys

from stowplan.cli.main import main

sys.exit(main())
