"""Writes the pages from which Sphinx makes the site: the guides of the tree with links that hold there, and a reference
that is made from declarations.

  pages.py SOURCE DECLARATIONS FOLDER

SOURCE is the tree, DECLARATIONS the output of murmurate_declarations, FOLDER gets the pages. A file whose text has not
changed is not written, so Sphinx reads again only what has changed.
"""

import json
import sys
from pathlib import Path

import examples
import guides
import reference
from tree import Tree

SECTIONS = (
    ("Begin", ("docs/questions", "docs/choosing", "docs/troubleshooting", "docs/packages", "docs/python", "docs/data")),
    ("Guides", ()),  # every other page of docs/
    ("Examples", ()),
    (
        "Reference",
        (
            "reference/commands",
            "reference/configuration",
            "reference/headers/index",
            "reference/python",
            "python/README",
            "schemas/README",
        ),
    ),
    ("Results", ("docs/results", "docs/performance")),
    ("Inside", ("ARCHITECTURE", "docs/decisions/index", "docs/guards", "CONTRIBUTING", "CHANGELOG")),
)


def contents(tree, example_pages):
    """The lists of pages at the side, each a hidden toctree; every page of docs/ is in one of them."""
    listed = {page for _, pages in SECTIONS for page in pages}
    others = [page for page in tree.guides_of("docs") if page not in listed]
    text = ""
    for caption, pages in SECTIONS:
        pages = list(pages) + {"Guides": others, "Examples": example_pages}.get(caption, [])
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
    return text


def main(source, declarations_path, folder):
    declarations = json.loads(Path(declarations_path).read_text())
    tree = Tree(Path(source), Path(folder))
    keys = reference.key_names(declarations)
    example_pages = examples.write(tree, declarations["examples"], keys)
    reference.write(tree, declarations)
    guides.write(tree, keys, contents(tree, example_pages))
    tree.remove_others()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
