"""Answer a question, from a fresh checkout: makes .venv, fetches the embedded model if need be, answers.

    python scripts/run.py "What is 23*47?"
    python scripts/run.py --small "What is 23*47?"     the smaller embedded model (0.5 GB instead of 1.1 GB)

With OPENAI_API_KEY or OPENAI_BASE_URL (in the environment or in .env) that service answers, and no
model is fetched. The first run takes a minute or more, later ones start at once. Everything but
--small goes to `python -m agent` as it is: same options, same output, same exit code.
"""

import sys
from pathlib import Path

if not __package__:  # as `python scripts/run.py`: first on the path is scripts, and should be the root
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from scripts import bootstrap


def main(arguments: "list[str]") -> int:
    """Run the agent in the environment; returns its exit code, 2 if it cannot be started, 130 on Ctrl-C."""
    if {"-h", "--help"} & set(arguments):
        if not bootstrap.is_ready(bootstrap.RUNTIME):
            print(
                __doc__, "\nOnce .venv is made, the options of `python -m agent` are listed here too.", sep=""
            )
            return 0
        if bootstrap.is_inside():
            print(__doc__, flush=True)
    try:
        bootstrap.enter(bootstrap.RUNTIME)
        from scripts.answer import answer  # now in .venv, whose Python may be newer than the one before

        return answer(arguments)
    except bootstrap.Trouble as trouble:
        bootstrap.say(str(trouble))
        return 2
    except KeyboardInterrupt:
        bootstrap.say("Interrupted; the same command goes on from there.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
