"""The charts of a comparison, as PNG and as SVG; the same figures give the same files."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHARTS = {
    "solved": "Solved by each contender, with 95 % intervals",
    "tokens": "Tokens a question against solved",
    "seconds": "Where the seconds of a question go",
}
COLOURS = {"ours": "#1b6ca8", "executor": "#b3672b"}
OTHERS = "#777777"
MARKERS = "oDs^vPX*<>"
PARTS = {"model_s": "#4a78a8", "tool_s": "#5f9e6e", "loop_s": "#cc8963"}
Figures = Mapping[str, Mapping[str, Any]]


def draw(contenders: Figures, folder: Path) -> list[Path]:
    """Draw the charts of one section's figures into a folder; returns the files. Raises OSError."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    drawn = []
    with mpl.rc_context({"svg.hashsalt": "comparison", "font.size": 10, "axes.axisbelow": True}):
        for name, draw_one in (("solved", _solved), ("tokens", _tokens), ("seconds", _seconds)):
            figure, axes = pyplot.subplots(figsize=(8, 0.45 * len(contenders) + 2.2), layout="constrained")
            draw_one(axes, contenders)
            axes.set_title(CHARTS[name])
            axes.spines[["top", "right"]].set_visible(False)
            for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
                drawn.append(folder / f"{name}.{kind}")
                figure.savefig(drawn[-1], metadata=metadata, dpi=150)
            pyplot.close(figure)
    return drawn


def _colour(name: str) -> str:
    return COLOURS.get(name.split("-", maxsplit=1)[0], OTHERS)


def _solved(axes: Any, contenders: Figures) -> None:
    for place, (name, own) in enumerate(contenders.items()):
        share = 100 * own["solved"] / own["tasks"]
        low, high = (100 * end for end in own["solved_interval"])
        axes.barh(place, share, color=_colour(name), height=0.6)
        axes.errorbar(share, place, xerr=[[share - low], [high - share]], color="black", capsize=4)
    labels = [f"{name}  {own['solved']}/{own['tasks']}" for name, own in contenders.items()]
    _name_rows(axes, labels)
    axes.set_xlim(0, 100)
    axes.set_xlabel("solved, %")


def _tokens(axes: Any, contenders: Figures) -> None:
    for (name, own), marker in zip(contenders.items(), itertools.cycle(MARKERS), strict=False):
        place = (own["mean_tokens"], 100 * own["solved"] / own["tasks"])
        axes.scatter(*place, color=_colour(name), marker=marker, s=70, alpha=0.75, label=name)
    axes.set_ylim(-3, 105)
    axes.set_xlim(left=0)
    axes.figure.legend(loc="outside lower center", ncols=3)
    axes.grid(alpha=0.3)
    axes.set_xlabel("tokens a question, prompt and completion")
    axes.set_ylabel("solved, %")


def _seconds(axes: Any, contenders: Figures) -> None:
    left = [0.0] * len(contenders)
    for part, colour in PARTS.items():
        widths = [own[part] / own["tasks"] for own in contenders.values()]
        axes.barh(
            range(len(left)), widths, left=left, color=colour, height=0.6, label=part.removesuffix("_s")
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    _name_rows(axes, list(contenders))
    axes.figure.legend(loc="outside lower center", ncols=3)
    axes.set_xlabel("seconds a question, on average")


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
