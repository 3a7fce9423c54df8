"""A small writer of SVG: cells, arrows and words that read well on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

CELL = 34
HUES = ("#8ec1ea", "#ffbe7a", "#93d3a2", "#d3b3e6", "#f4a3a8")
PLAIN = "#d8dde3"
STYLE = """
text { font: 14px system-ui, "DejaVu Sans", sans-serif; fill: #24292f; text-anchor: middle; dominant-baseline: central }
.cell text { fill: #16191d }
.cell rect { stroke: #5b6570; stroke-width: 1 }
.small { font-size: 12px }
.left { text-anchor: start }
.right { text-anchor: end }
.head { font-weight: 600 }
.line { stroke: #57606a; stroke-width: 1.5; fill: none }
.thin { stroke: #8c959f; stroke-width: 1; fill: none; stroke-dasharray: 3 3 }
.tip { fill: #57606a }
.box { fill: none; stroke: #8c959f; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ed }
  .line { stroke: #b6bec8 }
  .thin, .box { stroke: #79828d }
  .tip { fill: #b6bec8 }
}
""".strip()
TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>'
)


class Drawing:
    """An SVG image. Lengths are in pixels, from the top left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = (width, height)
        self._title = title
        self._parts: list[str] = []

    def text(self, x: float, y: float, words: object, kind: str = "") -> None:
        self._parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(str(words))}</text>')

    def cell(
        self, x: float, y: float, words: object, fill: str = PLAIN, width: float = CELL, height: float = CELL
    ) -> None:
        """A rectangle at (x, y) with words in its middle."""
        self._parts.append(
            f'<g class="cell"><rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"/>'
            f'<text x="{x + width / 2:g}" y="{y + height / 2:g}">{escape(str(words))}</text></g>'
        )

    def row(self, x: float, y: float, words: list[object], fills: list[str] | None = None) -> None:
        """Cells beside each other."""
        for i, word in enumerate(words):
            self.cell(x + i * CELL, y, word, fills[i] if fills else PLAIN)

    def box(self, x: float, y: float, width: float, height: float) -> None:
        self._parts.append(f'<rect class="box" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>')

    def line(self, points: Sequence[tuple[float, float]], kind: str = "line", tip: bool = False) -> None:
        where = " ".join(f"{x:g},{y:g}" for x, y in points)
        end = ' marker-end="url(#tip)"' if tip else ""
        self._parts.append(f'<polyline class="{kind}" points="{where}"{end}/>')

    def arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A bent arrow that leaves and arrives upright."""
        (x, y), (u, v) = start, end
        middle = (y + v) / 2
        curve = f"M{x:g} {y:g} C{x:g} {middle:g} {u:g} {middle:g} {u:g} {v:g}"
        self._parts.append(f'<path class="line" d="{curve}" marker-end="url(#tip)"/>')

    def band(self, points: Sequence[tuple[float, float]], fill: str) -> None:
        """A filled shape, half transparent."""
        where = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(f'<polygon points="{where}" fill="{fill}" fill-opacity="0.45"/>')

    def thick(self, points: Sequence[tuple[float, float]], color: str) -> None:
        where = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(
            f'<polyline points="{where}" fill="none" stroke="{color}" stroke-width="6" stroke-linejoin="round"/>'
        )

    def write(self, path: Path) -> None:
        width, height = self._size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            f' role="img"><title>{escape(self._title)}</title><style>{STYLE}</style>{TIP}'
        )
        path.write_text("\n".join([head, *self._parts, "</svg>", ""]), encoding="utf-8")
