"""Draws the charts of RESULTS.md as SVG."""

import math

STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#333}.small{font-size:11px;fill:#666}.title{font-size:15px;font-weight:600}"
    ".grid{stroke:#ddd;stroke-width:1}.axis{stroke:#999;stroke-width:1}</style>"
)
OURS, FLOOR, PEER = "#0a6ebd", "#8a8a8a", "#d9822b"


def rounded(value):
    """A figure with three significant digits, and thousands apart."""
    if value >= 100:
        digits = len(str(int(value)))
        return f"{round(value, 3 - digits):,.0f}"
    return f"{value:.3g}"


def compact(value):
    """A round figure in few characters: 10k, 1M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def svg(width, height, parts):
    """An SVG document on a white ground."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">{STYLE}'
        f'<rect width="{width}" height="{height}" fill="#fff"/>' + "".join(parts) + "</svg>\n"
    )


def decades(low, high):
    """The powers of ten from one value to the other."""
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def bars(title, rows):
    """Horizontal bars on a logarithmic scale: (label, value, colour)."""
    rows = sorted(rows, key=lambda row: row[1])
    left, right, top, step = 250, 90, 56, 26
    width, height = 900, top + step * len(rows) + 64
    ticks = decades(rows[0][1], rows[-1][1])
    scale = (width - left - right) / (math.log10(ticks[-1]) - math.log10(ticks[0]))

    def x(value):
        return left + (math.log10(value) - math.log10(ticks[0])) * scale

    bottom = top + step * len(rows)
    parts = [f'<text class="title" x="16" y="28">{title}</text>']
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" y1="{top - 6}" x2="{x(tick):.1f}" y2="{bottom}"/>')
        parts.append(f'<text class="small" x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{compact(tick)} ns</text>')
    for index, (label, value, colour) in enumerate(rows):
        y = top + step * index
        parts.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{label}</text>')
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{max(1, x(value) - left):.1f}" height="{step - 8}" fill="{colour}"/>')
        parts.append(f'<text class="small" x="{x(value) + 6:.1f}" y="{y + 15}">{rounded(value)}</text>')
    x_legend = left
    for name, colour in (("this library", OURS), ("loops and arrays by hand", FLOOR), ("others", PEER)):
        parts.append(f'<rect x="{x_legend}" y="{bottom + 32}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text class="small" x="{x_legend + 18}" y="{bottom + 42}">{name}</text>')
        x_legend += 40 + 7 * len(name)
    return svg(width, height, parts)


def panel(left, width, height, title, unit, points):
    """One chart of a line through (count, ns), both axes logarithmic."""
    top, bottom = 56, height - 56
    inner_left, inner_right = left + 52, left + width - 34
    across = [count for count, _ in points]
    up = decades(min(value for _, value in points), max(value for _, value in points))
    if len(up) == 1:
        up.append(up[0] * 10)

    def x(value):
        span = max(1, math.log10(across[-1]) - math.log10(across[0]))
        return inner_left + (math.log10(value) - math.log10(across[0])) / span * (inner_right - inner_left)

    def y(value):
        return bottom - (math.log10(value) - math.log10(up[0])) / (math.log10(up[-1]) - math.log10(up[0])) * (bottom - top)

    parts = [f'<text class="title" x="{left + 16}" y="28">{title}</text>']
    for tick in up:
        parts.append(f'<line class="grid" x1="{inner_left}" y1="{y(tick):.1f}" x2="{inner_right}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text class="small" x="{inner_left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{compact(tick)}</text>')
    for tick in across:
        parts.append(f'<text class="small" x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{compact(tick)}</text>')
    parts.append(f'<line class="axis" x1="{inner_left}" y1="{bottom}" x2="{inner_right}" y2="{bottom}"/>')
    parts.append(f'<text class="small" x="{(inner_left + inner_right) / 2:.1f}" y="{bottom + 38}" text-anchor="middle">{unit}</text>')
    line = " ".join(f"{x(count):.1f},{y(value):.1f}" for count, value in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{OURS}" stroke-width="2"/>')
    for count, value in points:
        parts.append(f'<circle cx="{x(count):.1f}" cy="{y(value):.1f}" r="3.5" fill="{OURS}"/>')
        parts.append(f'<text class="small" x="{x(count):.1f}" y="{y(value) - 10:.1f}" text-anchor="middle">{rounded(value)}</text>')
    return parts


def panels(charts):
    """Charts side by side: (title, unit, points)."""
    width, height = 380, 330
    parts = []
    for index, (title, unit, points) in enumerate(charts):
        parts += panel(index * width, width, height, title, unit, points)
    return svg(width * len(charts), height, parts)
