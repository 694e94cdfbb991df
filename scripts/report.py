"""Show what runs did, and why they failed: their traces as one HTML page.

    python -m scripts.report run.jsonl              writes report.html
    python -m scripts.report traces/ -o all.html    a folder: every *.jsonl in it
    python -m scripts.report run.jsonl -o - > x     to stdout

`python -m agent --trace FILE` and AGENT_TRACE_DIR write traces. What explains each run is said on stderr too.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
if not __package__:
    sys.path.insert(0, str(ROOT))  # run as a plain file, only the scripts' own folder is there

# Below the path that they are found on, hence E402.
from agent.__main__ import INTERRUPTED, leave  # noqa: E402
from agent.console import use_replacements  # noqa: E402
from prompts import LANGUAGES  # noqa: E402

if TYPE_CHECKING:
    from scripts.reporting.reading import Reading
    from scripts.reporting.texts import Texts
    from scripts.reporting.views import RunView

USAGE = 2
MOST_SAID = 10  # runs that are explained on stderr; the page has them all


def main(argv: Sequence[str] | None = None) -> int:
    """Write the report; returns 0, or 2 where a trace could not be read or the page not be written."""
    use_replacements(sys.stdout, sys.stderr, errors="backslashreplace")
    args = parser().parse_args(argv)
    if not args.output:
        return fail("-o needs the name of a file, or - for stdout")
    try:
        return report(args)
    except KeyboardInterrupt:
        return INTERRUPTED


def report(args: argparse.Namespace) -> int:
    from scripts.reporting.page import page_of  # after the options, because LangChain takes seconds to import
    from scripts.reporting.reading import read_all
    from scripts.reporting.texts import texts_in

    paths = args.traces or trace_folder()
    if not paths:
        return fail("name a trace or a folder of traces: --trace FILE or AGENT_TRACE_DIR write them")
    reading = read_all(paths)
    for sentence in reading.not_read:
        fail(sentence)
    if not reading.runs:
        return fail("nothing to report on: give a file that --trace or AGENT_TRACE_DIR has written")
    if not is_stdout(args.output) and os.path.realpath(args.output) in reading.looked_at:
        return fail(f"{args.output} is one of the traces: name another file with -o")
    texts = texts_in(reading.runs[0].language if args.language == "auto" else args.language)
    page = page_of(reading.runs, reading.files, reading.not_read, texts)
    try:
        write(args.output, page)
        explain(reading, args.output, texts)
    except BrokenPipeError:
        pass  # whoever read it has seen enough, and wants no summary either
    except OSError as error:
        if is_stdout(args.output):
            return fail(f"stdout cannot be written ({error.strerror or error})")
        return fail(f"{args.output} cannot be written ({error.strerror or error}): name another file with -o")
    return USAGE if reading.not_read else 0


def trace_folder() -> list[Path]:
    """AGENT_TRACE_DIR, of the environment or of .env, where it is set."""
    from agent.errors import SettingsError
    from agent.settings import load_env_file

    with contextlib.suppress(SettingsError):  # a .env that cannot be read is no reason to show no report
        load_env_file()
    folder = os.environ.get("AGENT_TRACE_DIR", "").strip()
    return [Path(folder)] if folder else []


def is_stdout(output: str) -> bool:
    """``/dev/stdout`` counts: where it leads to a file that is added to, that file is not to be replaced."""
    return output in ("-", "/dev/stdout")


def write(output: str, page: str) -> None:
    """To stdout, or into the file at once: whoever reads it never sees half of it. Raises OSError.

    A link is followed, and a pipe or a device is written to: neither is put out of the way for a file.
    """
    data = page.encode("utf-8", errors="replace")  # half of a character pair cannot be written
    if is_stdout(output):
        write_to_stdout(data)
        return
    if os.path.exists(output) and not os.path.isfile(output):
        Path(output).write_bytes(data)
        return
    path = Path(os.path.realpath(output))
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.", delete=False) as part:
        try:
            part.write(data)
            part.close()
            os.replace(part.name, path)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise


def write_to_stdout(data: bytes) -> None:
    """All of it: with ``python -u`` one write may take a part alone, and tell no error. Raises OSError."""
    while data:
        taken = sys.stdout.buffer.write(data)
        if taken is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        data = data[taken:]
    sys.stdout.buffer.flush()


def explain(reading: Reading, output: str, texts: Texts) -> None:
    """Say on stderr where the page is, and what explains the first of the runs that failed."""
    failed = [run for run in reading.runs if run.ending.stop_reason != "final_answer"]
    runs = texts.say("runs", count=len(reading.runs))
    lines = [f"{'stdout' if is_stdout(output) else output}: {runs}"]
    for run in failed[:MOST_SAID]:
        lines += explained(run, texts)
    if len(failed) > MOST_SAID:
        lines.append(texts.say("more_failed", count=len(failed) - MOST_SAID))
    for line in lines:
        tell(line)


def explained(run: RunView, texts: Texts) -> list[str]:
    """What stderr says of a run that failed: which one it is, how it ended, and what explains that."""
    from scripts.reporting.findings import brief
    from scripts.reporting.wording import sentence_with_steps, why_of

    where = texts.say("in_file", file=run.file, run=run.name)
    said = [why_of(run, texts)] if run.cap else []
    said += [brief(run.ending.error)] if run.ending.error else []
    said += [sentence_with_steps(each, texts) for each in run.findings if each.severity != "note"]
    reason = texts.reason(run.ending.stop_reason)
    return [f"{run.number}. {brief(run.question)}: {reason} ({where})", *(f"   {each}" for each in said)]


def fail(sentence: str) -> int:
    tell(f"report: {sentence}")
    return USAGE


def tell(line: str) -> None:
    """Say it on stderr, without secrets; one that is closed or that nobody reads ends nothing."""
    from agent.console import plain_line
    from agent.redaction import redact_output

    plain_line(redact_output(line))


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(
        prog="report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    own.add_argument(
        "traces",
        nargs="*",
        type=Path,
        metavar="TRACE",
        help="a trace, or a folder of them (default: AGENT_TRACE_DIR)",
    )
    own.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="default: report.html; - is stdout"
    )
    own.add_argument(
        "--language", choices=["auto", *LANGUAGES], default="auto", help="of the page (auto: the first run's)"
    )
    return own


if __name__ == "__main__":
    leave(main())
