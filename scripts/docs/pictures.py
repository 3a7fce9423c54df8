#!/usr/bin/env python3
"""Draws the pictures of docs/concepts: one for each operator, and one of the places of arrays.

    scripts/docs/pictures.py [FOLDER]

What a picture shows is computed here from its small input, as the operator would.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

from drawing import CELL, HUES, PLAIN, Drawing

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "pictures"
LEFT = 130  # where rows of cells begin; their names stand before


def middle(index: float) -> float:
    return LEFT + (index + 0.5) * CELL


def named_row(drawing: Drawing, y: float, name: str, words: list[object], fills: list[str] | None = None) -> None:
    drawing.text(LEFT - 12, y + CELL / 2, name, "right")
    drawing.row(LEFT, y, words, fills)


def positions(drawing: Drawing, y: float, count: int) -> None:
    for i in range(count):
        drawing.text(middle(i), y, i, "small")


def sort() -> Drawing:
    keys, values = [5, 3, 8, 3, 1, 6], list("abcdef")
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    hue = {1: HUES[0], 3: HUES[1], 5: HUES[2], 6: HUES[3], 8: HUES[4]}
    drawing = Drawing(LEFT + 6 * CELL + 130, 270, "Sort: keys and values before and after, and the permutation")
    named_row(drawing, 10, "keys", list(keys), [hue[key] for key in keys])
    named_row(drawing, 10 + CELL, "values", list(values), [hue[key] for key in keys])
    for to, start in enumerate(order):
        drawing.arrow((middle(start), 12 + 2 * CELL), (middle(to), 146))
    named_row(drawing, 148, "sorted keys", [keys[i] for i in order], [hue[keys[i]] for i in order])
    named_row(drawing, 148 + CELL, "their values", [values[i] for i in order], [hue[keys[i]] for i in order])
    named_row(drawing, 228, "argsort", list(order))
    drawing.text(LEFT + 6 * CELL + 12, 148 + CELL, "equal keys keep", "left small")
    drawing.text(LEFT + 6 * CELL + 12, 164 + CELL, "their order: b, d", "left small")
    return drawing


def merge() -> Drawing:
    a, b = [1, 3, 4, 7, 8, 9], [2, 3, 5, 6, 10, 11]
    piece = 4
    path = [(0, 0)]
    taken: list[tuple[int, int]] = []  # the key, and the piece that it is in
    while len(taken) < len(a) + len(b):
        i, j = path[-1]
        from_a = j == len(b) or (i < len(a) and a[i] <= b[j])
        taken.append((a[i] if from_a else b[j], len(taken) // piece))
        path.append((i + 1, j) if from_a else (i, j + 1))
    x, y = LEFT + CELL + 8, 42 + CELL
    drawing = Drawing(LEFT + 14 * CELL, 390, "Merge path: diagonals cut the path into pieces of equal work")
    drawing.text(x + 3 * CELL, 14, "a, sorted", "small")
    drawing.row(x, 30, list(a), [HUES[0]] * 6)
    drawing.text(x - CELL - 16, y + 3 * CELL, "b, sorted", "small right")
    for j, key in enumerate(b):
        drawing.cell(x - CELL - 8, y + 8 + j * CELL, key, HUES[1])
    y += 8
    for k in range(7):
        drawing.line([(x + k * CELL, y), (x + k * CELL, y + 6 * CELL)], "thin")
        drawing.line([(x, y + k * CELL), (x + 6 * CELL, y + k * CELL)], "thin")
    hues = (HUES[2], HUES[3], HUES[4])
    for at in range(3):
        points = [(x + i * CELL, y + j * CELL) for i, j in path[at * piece : at * piece + piece + 1]]
        drawing.thick(points, hues[at])
    for at in (1, 2):
        i, j = path[at * piece]
        reach = 1.1 * CELL
        cut = (x + i * CELL, y + j * CELL)
        drawing.line([(cut[0] + reach, cut[1] - reach), (cut[0] - reach, cut[1] + reach)])
    words = x + 6 * CELL + 24
    lines = [
        "Each step right takes from a,",
        "each step down takes from b.",
        "A binary search on a diagonal",
        "finds where the path crosses it:",
        "every thread block merges an",
        "equal piece, on its own.",
    ]
    for k, text in enumerate(lines):
        drawing.text(words, y + 40 + k * 20, text, "small left")
    for i, (key, part) in enumerate(taken):
        drawing.cell(x - CELL - 8 + i * CELL, y + 6 * CELL + 30, key, hues[part])
    drawing.text(x - CELL - 16, y + 6 * CELL + 30 + CELL / 2, "merged", "right")
    return drawing


def intervals(title: str, source: list[int], targets: list[int], counts: list[int], sizes: tuple[int, int]) -> Drawing:
    """Intervals of a source, copied to a destination."""
    drawing = Drawing(LEFT + max(sizes) * CELL + 20, 240, title)
    fills, kept = [PLAIN] * sizes[0], [PLAIN] * sizes[1]
    words: list[object] = [""] * sizes[0]
    moved: list[object] = [0] * sizes[1]
    for i, (start, to, count) in enumerate(zip(source, targets, counts, strict=True)):
        for k in range(count):
            fills[start + k] = kept[to + k] = HUES[i]
            words[start + k] = moved[to + k] = f"{'abcde'[i]}{k}"
    top, bottom = 32 + CELL, 150
    for i, (start, to, count) in enumerate(zip(source, targets, counts, strict=True)):
        left, right = LEFT + start * CELL, LEFT + (start + count) * CELL
        shape = [(left, top), (right, top), (LEFT + (to + count) * CELL, bottom), (LEFT + to * CELL, bottom)]
        drawing.band(shape, HUES[i])
    positions(drawing, 16, sizes[0])
    named_row(drawing, 32, "source", words, fills)
    named_row(drawing, bottom, "result", moved, kept)
    positions(drawing, bottom + CELL + 16, sizes[1])
    return drawing


def move() -> Drawing:
    return intervals("MoveIntervals: three intervals and their new places", [1, 5, 9], [8, 0, 4], [3, 4, 2], (12, 12))


def gather() -> Drawing:
    return intervals(
        "GatherIntervals: three intervals become one dense array", [1, 5, 10], [0, 2, 5], [2, 3, 2], (12, 7)
    )


def scatter() -> Drawing:
    return intervals("ScatterIntervals: a dense array goes to three places", [0, 2, 5], [9, 0, 4], [2, 3, 2], (7, 12))


def expand() -> Drawing:
    values, counts = [10, 20, 30, 40], [3, 1, 0, 2]
    starts = [0, *accumulate(counts)]
    drawing = Drawing(LEFT + 6 * CELL + 20, 200, "ExpandIntervals: value i is repeated count i times")
    hues = list(HUES[:4])
    named_row(drawing, 10, "values", list(values), hues)
    named_row(drawing, 10 + CELL, "counts", list(counts))
    for i, count in enumerate(counts):
        left, right = LEFT + i * CELL, LEFT + (i + 1) * CELL
        if count:
            shape = [(left, 10 + 2 * CELL), (right, 10 + 2 * CELL), (LEFT + starts[i + 1] * CELL, 150)]
            drawing.band([*shape, (LEFT + starts[i] * CELL, 150)], hues[i])
    objects = [i for i, count in enumerate(counts) for _ in range(count)]
    named_row(drawing, 150, "result", [values[i] for i in objects], [hues[i] for i in objects])
    return drawing


def load_balance() -> Drawing:
    counts = [3, 0, 2, 1, 3]
    starts = [0, *accumulate(counts)]
    objects = [i for i, count in enumerate(counts) for _ in range(count)]
    ranks = [k for count in counts for k in range(count)]
    drawing = Drawing(LEFT + 9 * CELL + 20, 278, "LoadBalance: each work item gets its object and its rank")
    positions(drawing, 16, len(counts))
    drawing.text(LEFT - 12, 16, "object", "right small")
    named_row(drawing, 32, "counts", list(counts), list(HUES))
    for i, count in enumerate(counts):
        if count:
            left, right = LEFT + i * CELL, LEFT + (i + 1) * CELL
            shape = [(left, 32 + CELL), (right, 32 + CELL), (LEFT + starts[i + 1] * CELL, 150)]
            drawing.band([*shape, (LEFT + starts[i] * CELL, 150)], HUES[i])
    fills = [HUES[i] for i in objects]
    named_row(drawing, 150, "work items", ["•"] * len(objects), fills)
    named_row(drawing, 150 + CELL, "objects", list(objects), fills)
    named_row(drawing, 150 + 2 * CELL, "ranks", list(ranks), fills)
    return drawing


def search() -> Drawing:
    haystack, needles = [1, 3, 3, 3, 7, 9], [3, 8]
    drawing = Drawing(LEFT + 6 * CELL + 150, 250, "Search: the left and the right position of each needle")
    positions(drawing, 110, 7)
    drawing.text(LEFT - 12, 110, "position", "right small")
    named_row(drawing, 126, "haystack", list(haystack), [HUES[1] if key == 3 else PLAIN for key in haystack])
    for needle, y, hue in zip(needles, (20, 200), (HUES[1], HUES[2]), strict=True):
        left, right = bisect_left(haystack, needle), bisect_right(haystack, needle)
        x = LEFT + (left + right) / 2 * CELL - CELL / 2
        drawing.cell(x, y, needle, hue)
        drawing.text(x - 10, y + CELL / 2, "needle", "right small")
        above = y < 126
        start, end = (y + CELL, 96) if above else (y, 126 + CELL + 4)
        for at in sorted({left, right}):
            target = LEFT + at * CELL + (CELL / 2 if above else 0)
            drawing.arrow((x + CELL / 2, start), (target, end))
        words = f'"left" {left}, "right" {right}'
        drawing.text(x + CELL + 10, y + CELL / 2, words, "left small")
    return drawing


def group() -> Drawing:
    keys, values = [5, 3, 8, 3, 5, 3], [10, 4, 7, 2, 30, 1]
    distinct = sorted(set(keys))
    members = {key: [i for i, other in enumerate(keys) if other == key] for key in distinct}
    hue = dict(zip(distinct, HUES, strict=False))
    drawing = Drawing(LEFT + 6 * CELL + 130, 330, "Group: one element of each result for each distinct key")
    positions(drawing, 16, len(keys))
    named_row(drawing, 32, "keys", list(keys), [hue[key] for key in keys])
    named_row(drawing, 32 + CELL, "values", list(values), [hue[key] for key in keys])
    for to, key in enumerate(distinct):
        for i in members[key]:
            drawing.arrow((middle(i), 34 + 2 * CELL), (middle(to), 146))
    of_values = {key: [values[i] for i in at] for key, at in members.items()}
    rows: list[tuple[str, list[object]]] = [
        ("keys", list(distinct)),
        ("counts", [len(members[key]) for key in distinct]),
        ("firsts", [members[key][0] for key in distinct]),
        ("sums", [sum(of_values[key]) for key in distinct]),
        ("maxima", [max(of_values[key]) for key in distinct]),
    ]
    for k, (name, words) in enumerate(rows):
        named_row(drawing, 148 + k * CELL, name, words, [hue[key] for key in distinct])
    return drawing


def combine_sets() -> Drawing:
    left, right = [1, 3, 3, 5, 7], [3, 4, 5, 5]
    blue, orange, green, *_ = HUES
    # Of each key: how many of them have a partner.
    partners = {key: min(left.count(key), right.count(key)) for key in (*left, *right)}

    def has_partner(side: list[int], at: int) -> bool:
        return at - side.index(side[at]) < partners[side[at]]

    ours = [(key, green if has_partner(left, at) else blue) for at, key in enumerate(left)]
    theirs = [(key, green if has_partner(right, at) else orange) for at, key in enumerate(right)]
    rows = [
        ("left", ours, "with a partner: green"),
        ("right", theirs, "with a partner: green"),
        ("union", sorted([*ours, *(each for each in theirs if each[1] == orange)], key=lambda each: each[0]), ""),
        ("intersection", [each for each in ours if each[1] == green], ""),
        ("difference", [each for each in ours if each[1] == blue], ""),
        (
            "symmetric difference",
            sorted([each for each in (*ours, *theirs) if each[1] != green], key=lambda each: each[0]),
            "",
        ),
    ]
    drawing = Drawing(LEFT + 7 * CELL + 130, 300, "Set operations on two sorted arrays")
    for k, (name, cells, note) in enumerate(rows):
        y = 10 + k * (CELL + 10) + (20 if k >= 2 else 0)
        words = name.split()
        for line, word in enumerate(words):
            drawing.text(LEFT - 12, y + CELL / 2 + 15 * (line - (len(words) - 1) / 2), word, "right")
        drawing.row(LEFT, y, [key for key, _ in cells], [hue for _, hue in cells])
        drawing.text(LEFT + len(cells) * CELL + 12, y + CELL / 2, note, "left small")
    return drawing


def join() -> Drawing:
    left, right = [5, 3, 8, 3], [3, 9, 5, 3]
    hue = {3: HUES[0], 5: HUES[1]}
    inner = [(a, b) for a, key in enumerate(left) for b, other in enumerate(right) if key == other]
    alone = [a for a, key in enumerate(left) if key not in right]
    unmatched = [(-1, b) for b, key in enumerate(right) if key not in left]
    every = sorted([*inner, *((a, -1) for a in alone)])
    kinds: list[tuple[str, list[tuple[int, int]]]] = [
        ("inner", inner),
        ("left", every),
        ("right", [*inner, *unmatched]),
        ("full", [*every, *unmatched]),
        ("semi", [(a, -1) for a, key in enumerate(left) if key in right]),
        ("anti", [(a, -1) for a in alone]),
    ]
    drawing = Drawing(LEFT + 8 * CELL + 20, 40 + 2 * CELL + 10 + 4 * (2 * CELL + 12) + 2 * (CELL + 12), "Kinds of join")
    positions(drawing, 12, len(left))
    for k, (name, keys) in enumerate((("left keys", left), ("right keys", right))):
        named_row(drawing, 24 + k * (CELL + 6), name, list(keys), [hue.get(key, PLAIN) for key in keys])
    y = 24.0 + 2 * CELL + 26
    for name, rows in kinds:
        fills = [hue.get(left[a] if a >= 0 else right[b], PLAIN) for a, b in rows]
        if name in ("semi", "anti"):
            named_row(drawing, y, name, [a for a, _ in rows], fills)
            y += CELL + 12
            continue
        named_row(drawing, y, f"{name}: left", [a for a, _ in rows], fills)
        named_row(drawing, y + CELL, "right", [b for _, b in rows], fills)
        y += 2 * CELL + 12
    return drawing


def select() -> Drawing:
    elements, flags = list("abcdef"), [0, 1, 1, 0, 0, 1]
    selected = [each for each, flag in zip(elements, flags, strict=True) if flag]
    others = [each for each, flag in zip(elements, flags, strict=True) if not flag]
    drawing = Drawing(LEFT + 6 * CELL + 20, 24 + 4 * (CELL + 10), "Select: flags, the selected elements, a partition")
    positions(drawing, 12, len(elements))
    hues = [HUES[0] if flag else PLAIN for flag in flags]
    named_row(drawing, 24, "elements", list(elements), hues)
    named_row(drawing, 24 + CELL + 6, "flags", list(flags), hues)
    named_row(drawing, 24 + 2 * (CELL + 10), "selected", list(selected), [HUES[0]] * len(selected))
    hues = [HUES[0]] * len(selected) + [PLAIN] * len(others)
    named_row(drawing, 24 + 3 * (CELL + 10), "partition", [*selected, *others], hues)
    return drawing


def rank() -> Drawing:
    keys = [7, 3, 7, 9, 3, 7]
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    ordinal = [order.index(i) + 1 for i in range(len(keys))]
    shared = {key: [r for r, other in zip(ordinal, keys, strict=True) if other == key] for key in keys}
    distinct = sorted(set(keys))
    rows: dict[str, list[object]] = {
        "keys": list(keys),
        "ordinal": list(ordinal),
        "min": [min(shared[key]) for key in keys],
        "max": [max(shared[key]) for key in keys],
        "average": [f"{sum(shared[key]) / len(shared[key]):g}" for key in keys],
        "dense": [distinct.index(key) + 1 for key in keys],
    }
    drawing = Drawing(LEFT + 6 * CELL + 20, 20 + len(rows) * (CELL + 8), "Keys and their ranks by each method")
    for k, (name, words) in enumerate(rows.items()):
        named_row(drawing, 10 + k * (CELL + 8), name, words, [HUES[distinct.index(key)] for key in keys])
    return drawing


def places() -> Drawing:
    stages = [(160, 120, "your array"), (312, 120, "on the way"), (464, 120, "server memory"), (616, 120, "GPU memory")]
    blue, orange, green, purple, red = HUES
    # First and last stage of each box, its words and its colour.
    end = (3, 3, "array", blue)
    message, chunks = (1, 1, "message", orange), (1, 1, "chunks", orange)
    rows: list[tuple[str, str, list[tuple[int, int, str, str]]]] = [
        ("inline", "one message", [(0, 0, "array", blue), message, (2, 2, "array", blue), end]),
        ("stream", "any size", [(0, 0, "array", blue), chunks, (2, 2, "window", blue), (3, 3, "runs", blue)]),
        ("shared memory", "same host", [(0, 2, "one region, mapped by both processes", green), end]),
        ("CUDA IPC", "same GPU", [(3, 3, "your array", purple)]),
        ("kept", "named on the server", [(3, 3, "“history”", red)]),
    ]
    drawing = Drawing(756, 60 + 62 * len(rows), "Places: what is copied on the way to the GPU")
    for x, width, words in stages:
        drawing.text(x + width / 2, 20, words, "head")
    for r, (name, note, boxes) in enumerate(rows):
        y = 44 + 62 * r
        drawing.text(12, y + 12, name, "left head")
        drawing.text(12, y + 30, note, "left small")
        before: float | None = None
        for first, last, words, hue in boxes:
            x, right = stages[first][0], stages[last][0] + stages[last][1]
            if before is not None:
                drawing.line([(before + 2, y + 20), (x - 3, y + 20)], tip=True)
            if words == "chunks":
                for k in range(4):
                    drawing.cell(x + k * 31, y, "", hue, 27, 40)
            else:
                drawing.cell(x, y, words, hue, right - x, 40)
            before = right
    return drawing


PICTURES: dict[str, Callable[[], Drawing]] = {
    "sort": sort,
    "merge-path": merge,
    "move": move,
    "gather": gather,
    "scatter": scatter,
    "expand": expand,
    "load-balance": load_balance,
    "search": search,
    "group": group,
    "combine-sets": combine_sets,
    "join": join,
    "select": select,
    "rank": rank,
    "places": places,
}


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        draw().write(folder / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
