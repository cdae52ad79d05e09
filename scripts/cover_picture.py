"""The heat map of scripts/cover.py, as an SVG that is readable on light and on dark pages."""

from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, GAP = 70, 22, 118, 118, 40
# ColorBrewer's RdYlBu, without its yellow: 0, 0.2, ... 1 of the runs solved.
COLORS = "#d73027", "#f46d43", "#fdae61", "#abd9e9", "#74add1", "#4575b4"
INK = "#fff", "#1b1b1b", "#1b1b1b", "#1b1b1b", "#1b1b1b", "#fff"
STYLE = """
  text { font-family: sans-serif; font-size: 11px; fill: #222 }
  .head { font-weight: bold }
  .in { font-size: 8px }
  .none { fill: none; stroke: #999; stroke-dasharray: 2 3 }
  @media (prefers-color-scheme: dark) { text { fill: #ddd } }
"""


def level(share):
    return round(share * (len(COLORS) - 1))


def text(x, y, words, **attributes):
    said = "".join(f' {name.strip("_").replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{said}>{escape(words)}</text>'


def square(cells, x, y, labelled):
    """One game under one row: its cells side by side, each in its color."""
    if not cells:
        return [f'<rect x="{x + 1:g}" y="{y + 1:g}" width="{WIDTH - 2}" height="{HEIGHT - 2}" class="none"/>']
    lines, width = [], (WIDTH - 1) / len(cells)
    for place, (cell, share) in enumerate(sorted(cells.items(), key=lambda item: item[0][3:])):
        left, color = x + place * width, level(share)
        lines.append(f'<rect x="{left:g}" y="{y:g}" width="{width:g}" height="{HEIGHT - 1}" fill="{COLORS[color]}">'
                     f"<title>{escape(cell.name)}: {100 * share:.0f} %</title></rect>")
        if labelled and len(cells) == 1:
            lines.append(text(left + width / 2, y + HEIGHT / 2 + 3, f"{cell.agents} {cell.rule}", class_="in",
                              style=f"fill:{INK[color]}", text_anchor="middle"))
    return lines


def panel(title, rows, cells, games, y, labelled):
    lines = [text(4, y - 8, title, class_="head")]
    for row, (name, belongs) in enumerate(rows):
        top = y + row * HEIGHT
        lines.append(text(LEFT - 6, top + HEIGHT / 2 + 4, name, text_anchor="end"))
        for column, game in enumerate(games):
            here = {cell: share for cell, share in cells.items() if cell.game == game and belongs(cell)}
            lines += square(here, LEFT + column * WIDTH, top, labelled)
    return lines


def legend(y):
    lines = [text(4, y + 12, "seeds solved")]
    for place, color in enumerate(COLORS):
        lines.append(f'<rect x="{LEFT + 40 * place}" y="{y}" width="38" height="16" fill="{color}"/>')
        lines.append(text(LEFT + 40 * place + 19, y + 12, f"{20 * place} %", text_anchor="middle",
                          style=f"fill:{INK[place]}"))
    lines.append(text(LEFT + 40 * len(COLORS) + 10, y + 12, "dashed: not among the cells"))
    return lines


def picture(cells, games, panels):
    """`cells`: the share of solved seeds by cell (algorithm, trunk, game, agents, rule). `panels`: a
    title and rows, each a name and whether a cell belongs to it; games are the columns of all."""
    lines, y = [], TOP
    for column, game in enumerate(games):
        x = LEFT + column * WIDTH + WIDTH / 2
        lines.append(text(x, TOP - 26, game, transform=f"rotate(-35 {x:g} {TOP - 26})"))
    for place, (title, rows) in enumerate(panels):
        lines += panel(title, rows, cells, games, y, labelled=place == 0)
        y += len(rows) * HEIGHT + GAP
    lines += legend(y - 18)
    width, height = LEFT + len(games) * WIDTH + 90, y + 8
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}">\n<style>{STYLE}</style>\n' + "\n".join(lines) + "\n</svg>\n")
