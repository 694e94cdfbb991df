"""The charts of a comparison, as PNG and as SVG; the same figures give the same files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHARTS = {
    "solved": "Solved by each contender, with 95 % intervals",
    "tokens": "Tokens a question against solved",
    "seconds": "Where the seconds of a question go",
}
OURS, OTHERS = "#1b6ca8", "#b3672b"
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
            figure, axes = pyplot.subplots(figsize=(8, 0.5 * len(contenders) + 1.8), layout="constrained")
            draw_one(axes, contenders)
            axes.set_title(CHARTS[name])
            axes.spines[["top", "right"]].set_visible(False)
            for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
                drawn.append(folder / f"{name}.{kind}")
                figure.savefig(drawn[-1], metadata=metadata, dpi=150)
            pyplot.close(figure)
    return drawn


def _colour(name: str) -> str:
    return OURS if name.startswith("ours") else OTHERS


def _solved(axes: Any, contenders: Figures) -> None:
    for place, (name, own) in enumerate(contenders.items()):
        share = 100 * own["solved"] / own["tasks"]
        low, high = (100 * end for end in own["solved_interval"])
        axes.barh(place, share, color=_colour(name), height=0.6)
        axes.errorbar(share, place, xerr=[[share - low], [high - share]], color="black", capsize=4)
        axes.text(1, place, f"{own['solved']}/{own['tasks']}", va="center", color="white", weight="bold")
    _name_rows(axes, contenders)
    axes.set_xlim(0, 100)
    axes.set_xlabel("solved, %")


def _tokens(axes: Any, contenders: Figures) -> None:
    for name, own in contenders.items():
        place = (own["mean_tokens"], 100 * own["solved"] / own["tasks"])
        axes.scatter(*place, color=_colour(name), s=60)
        axes.annotate(name, place, xytext=(7, 5), textcoords="offset points")
    axes.set_ylim(0, 105)
    axes.set_xlim(left=0)
    axes.margins(x=0.25)
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
    _name_rows(axes, contenders)
    axes.legend(loc="lower right")
    axes.set_xlabel("seconds a question, on average")


def _name_rows(axes: Any, contenders: Figures) -> None:
    axes.set_yticks(range(len(contenders)), list(contenders))
    axes.invert_yaxis()
