"""`python -m memlessons`, the same as the command `memlessons`."""

import sys

from memlessons.cli import main

if __name__ == "__main__":
    sys.exit(main())
