"""``python -m trainshed``."""

import sys

from .cli import main

sys.exit(main())
