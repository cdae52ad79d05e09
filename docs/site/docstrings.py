"""The docstrings of the Python package, which are plain text, as reStructuredText.

`code` in words            becomes ``code``
lines that are indented    become a block of code
`NAME   what it is` lines  become a line each
"""

import re

COLUMNS = re.compile(r"^(\S+) {2,}(\S.*)$")


def escaped(text):
    """Text in which no character is markup, but `code` is code."""
    parts = re.split(r"`([^`]*)`", text)
    return "".join(
        f"``{part}``" if i % 2 and part else re.sub(r"([\\*_|])", r"\\\1", part) for i, part in enumerate(parts)
    )


def indentation(line):
    return len(line) - len(line.lstrip())


def block_of_code(lines):
    return [
        "",
        ".. code-block:: python",
        "   :force:",
        "",
        *("   " + line if line.strip() else "" for line in lines),
        "",
    ]


def converted(lines):
    """The same lines as reStructuredText."""
    result, code = [], []
    for line in lines:
        if indentation(line) >= 2 or (code and not line.strip()):  # an empty line may be inside
            code.append(line[2:])
            continue
        if code:
            result += block_of_code(code)
            code = []
        columns = COLUMNS.match(line)
        beside = bool(result) and result[-1].startswith("| ")
        if bool(columns) != beside:
            result.append("")
        result.append(f"| ``{columns[1]}`` {escaped(columns[2])}" if columns else escaped(line))
    return result + (block_of_code(code) if code else [])


def process(app, what, name, documented, options, lines):
    """Of the event autodoc-process-docstring: changes `lines` in place."""
    lines[:] = converted(lines)
