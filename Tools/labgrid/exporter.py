#!/usr/bin/env python3
"""labgrid's exporter, with the resource BluebenchDongle: takes the options of `labgrid-exporter`."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import bluebench_labgrid  # noqa: E402,F401  registers the export

from labgrid.remote.exporter import main  # noqa: E402

if __name__ == "__main__":
    main()
