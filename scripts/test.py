"""Everything that CI checks: lint, format, types, and every test, in an environment made for it.

    python scripts/test.py                          all of it
    python scripts/test.py tests/tools -k calc      pytest alone, with these arguments

The end-to-end tests need the small embedded model (0.5 GB), which is fetched once; those of the report
need Chromium, which is installed where apt-get and root are there. Where either cannot be had, its tests
are skipped, and said to be; with CI=true that is a failure.
"""

import os
import sys
from pathlib import Path

if not __package__:  # as `python scripts/test.py`: first on the path is scripts, and should be the root
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from scripts import bootstrap


def main(arguments: "list[str]") -> int:
    """Run the checks in the environment; 0 all passed, 1 not, 2 they cannot be run, 130 Ctrl-C."""
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    try:
        bootstrap.enter(bootstrap.DEVELOPMENT)
        os.chdir(str(bootstrap.ROOT))
        from scripts.checks import run_checks  # now in .venv, whose Python may be newer than the one before

        return run_checks(arguments)
    except bootstrap.Trouble as trouble:
        bootstrap.say(str(trouble))
        return 2
    except KeyboardInterrupt:
        bootstrap.say("Interrupted.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
