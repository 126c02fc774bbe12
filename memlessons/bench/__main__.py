"""`python -m memlessons.bench NAME`: run one race."""

import sys

from memlessons.bench.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
