"""`python -m memlessons.kernels report`."""

import sys

from memlessons.kernels.report import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
