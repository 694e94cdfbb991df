"""Playing what is left: one turn after the other, each on disk at once, with a bar on stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from scripts.comparing import running
from scripts.comparing.journal import TOLD, Journal, uninterrupted
from scripts.comparing.mistakes import blame
from scripts.comparing.outages import failed
from scripts.comparing.running import Turn
from scripts.comparing.sources import Source
from scripts.evaluate import progress_options
from scripts.figures import Row, row_line

COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def run_all(left: Sequence[Turn], source: Source, weather: Mapping[str, float], kept: Journal) -> list[Row]:
    """Play these turns into the journal; returns those that the service failed.

    It ends early where the service fails everybody; and where one that was not there to say what it is
    begins to answer, because our loop asks llama.cpp otherwise, and keeps to what it took it for. Raises
    KeyboardInterrupt; ValueError where the journal cannot be written.
    """
    is_known = source.identity.get(TOLD, False) is not None
    lost: list[Row] = []
    in_a_row: list[str] = []
    with Progress(*COLUMNS, **progress_options()) as bar:
        shown = bar.add_task("", total=len(left))
        for name in running.warm_up(source.greeter, left, weather):
            bar.update(shown, description=name)
        for turn in left:
            bar.update(shown, description=f"{turn.task.id} {turn.arm.name}")
            row = running.play_turn(turn, source.model_of, weather)
            if not (is_known or failed(row)):
                break
            _keep(row, kept)
            bar.advance(shown)
            lost += [row] if failed(row) else []
            in_a_row = [*in_a_row, row.agent] if failed(row) else []
            if running.is_dead(in_a_row, left):
                break
    return lost


def _keep(row: Row, kept: Journal) -> None:
    folder = kept.path.parent
    with blame("--out", folder, "free some space there, or name another folder"), uninterrupted():
        kept.add(row)
    print(line(row), flush=True)


def line(row: Row) -> str:
    """A run on one line; one that the service failed is neither solved nor unsolved."""
    return f"{row.task.id:<5} --  {row.agent:<20} {row.reason}" if failed(row) else row_line(row)
