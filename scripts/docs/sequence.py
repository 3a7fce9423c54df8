#!/usr/bin/env python3
"""Draws the two sequence diagrams of docs/architecture.md as SVG files.

Usage: sequence.py [FOLDER]      (docs/images by default)
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

COLUMN = 172
MARGIN = 16
HEAD = 44
ROW = 40
LINE = 15
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1b1f24; }
.head { font-weight: 600; text-anchor: middle; }
.folder { font-size: 11px; fill: #57606a; text-anchor: middle; }
.label { text-anchor: middle; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
.inside { stroke: none; }
.life { stroke: #afb8c1; stroke-dasharray: 4 4; }
.arrow { stroke: #1b1f24; stroke-width: 1.4; fill: none; }
.back { stroke-dasharray: 6 4; }
.box { fill: #e6f4f1; stroke: #2a7f74; }
.note { fill: #fff8e1; stroke: #c9a227; }
"""


class Actor(NamedTuple):
    """A column: its name and the folder that holds its code."""

    name: str
    folder: str


class Message(NamedTuple):
    """An arrow from one column to another; `back` draws an answer."""

    source: int
    target: int
    text: str
    back: bool = False


class Note(NamedTuple):
    """What happens inside of the columns `first` to `last`."""

    first: int
    last: int
    lines: tuple[str, ...]


Step = Message | Note


class Diagram(NamedTuple):
    """One picture."""

    title: str
    actors: tuple[Actor, ...]
    steps: tuple[Step, ...]


UNARY = Diagram(
    "The way of a unary call that runs on a lane",
    (
        Actor("Client", ""),
        Actor("Call", "rpc"),
        Actor("Parser, planner", "plan"),
        Actor("Scheduler", "schedule"),
        Actor("Lane", "run"),
        Actor("Engine stream", "kernels/engine"),
    ),
    (
        Message(0, 1, "headers, message"),
        Note(1, 1, ("Authenticate at the", "headers. Arrays go", "to pinned memory.")),
        Message(1, 2, "message, places"),
        Message(2, 1, "plan, or error", back=True),
        Message(1, 3, "Submit(task)"),
        Note(3, 3, ("Fair share, deadline,", "memory budgets.")),
        Message(4, 3, "NextBatch(device)"),
        Message(3, 4, "batch of tasks", back=True),
        Message(4, 5, "Begin, Sort, Download"),
        Message(4, 5, "Finish"),
        Message(5, 4, "phase times, report", back=True),
        Message(4, 1, "Done(status, outcome)"),
        Note(1, 1, ("Encode the head;", "results stay in", "pinned memory.")),
        Message(1, 0, "response, or status", back=True),
    ),
)

STREAM = Diagram(
    "The way of a streamed sort (Execute)",
    (
        Actor("Client", ""),
        Actor("ExecuteCall", "rpc"),
        Actor("ExecuteJob", "rpc"),
        Actor("ChunkPipe", "run"),
        Actor("Long lane", "run"),
        Actor("Engine streams", "kernels/engine"),
    ),
    (
        Message(0, 1, "plan"),
        Message(1, 2, "Join(plan)"),
        Note(2, 2, ("Plan, reserve the", "least window, then", "queue the job.")),
        Message(0, 1, "chunk"),
        Message(1, 3, "copy into the window"),
        Note(1, 3, ("The call stops reading while the window is full:", "HTTP/2 flow control then stops the client.")),
        Message(4, 3, "take chunks"),
        Message(4, 5, "upload, sort pieces"),
        Message(0, 1, "last chunk, half-close"),
        Message(4, 5, "SplitRuns, merge tiles"),
        Message(5, 4, "merged tile (pinned)", back=True),
        Message(4, 3, "answer chunk"),
        Note(1, 3, ("The lane waits for room while the client does not read.",)),
        Message(3, 1, "answer chunk", back=True),
        Message(1, 0, "chunk", back=True),
        Message(4, 2, "Done(status, outcome)"),
        Message(1, 0, "results, status", back=True),
    ),
)


def center(column: int) -> float:
    """The x of a column's life line."""
    return MARGIN + COLUMN * (column + 0.5)


def height(step: Step) -> int:
    """The space that a step takes."""
    return ROW if isinstance(step, Message) else LINE * len(step.lines) + 24


def draw_step(step: Step, y: int) -> list[str]:
    """The elements of a step whose space begins at y."""
    if isinstance(step, Message):
        x1, x2 = center(step.source), center(step.target)
        end = x2 - 2 if x2 > x1 else x2 + 2
        line = y + 28
        style = "arrow back" if step.back else "arrow"
        return [
            f'<text class="label" x="{(x1 + x2) / 2}" y="{line - 7}">{escape(step.text)}</text>',
            f'<line class="{style}" x1="{x1}" y1="{line}" x2="{end}" y2="{line}" marker-end="url(#head)"/>',
        ]
    x = MARGIN + COLUMN * step.first + 2
    width = COLUMN * (step.last - step.first + 1) - 4
    middle = x + width / 2
    box = f'<rect class="note" x="{x}" y="{y + 6}" width="{width}" height="{height(step) - 10}" rx="4"/>'
    lines = [
        f'<text class="label inside" x="{middle}" y="{y + 23 + LINE * i}">{escape(line)}</text>'
        for i, line in enumerate(step.lines)
    ]
    return [box, *lines]


def draw(diagram: Diagram) -> str:
    """The diagram as an SVG document."""
    width = 2 * MARGIN + COLUMN * len(diagram.actors)
    total = 2 * MARGIN + HEAD + 8 + sum(height(step) for step in diagram.steps)
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" width="{width}" role="img">',
        f"<title>{escape(diagram.title)}</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#1b1f24"/></marker></defs>',
        f'<rect width="{width}" height="{total}" rx="6" fill="#ffffff"/>',
    ]
    for i, actor in enumerate(diagram.actors):
        x = center(i)
        svg += [
            f'<line class="life" x1="{x}" y1="{MARGIN + HEAD}" x2="{x}" y2="{total - MARGIN}"/>',
            f'<rect class="box" x="{x - COLUMN / 2 + 5}" y="{MARGIN}" width="{COLUMN - 10}" height="{HEAD}" rx="4"/>',
            f'<text class="head" x="{x}" y="{MARGIN + (20 if actor.folder else 27)}">{escape(actor.name)}</text>',
        ]
        if actor.folder:
            svg.append(f'<text class="folder" x="{x}" y="{MARGIN + 36}">{escape(actor.folder)}</text>')
    y = MARGIN + HEAD + 8
    for step in diagram.steps:
        svg += draw_step(step, y)
        y += height(step)
    return "\n".join([*svg, "</svg>", ""])


def main() -> int:
    """Writes both files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, diagram in {"unary-call": UNARY, "streamed-sort": STREAM}.items():
        (folder / f"{name}.svg").write_text(draw(diagram), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
