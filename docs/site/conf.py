"""How Sphinx makes the site from the pages that pages.py wrote; build.sh says where what is found."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docstrings
from docutils import nodes

project = "murmurate"
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
breathe_default_project = "murmurate"
breathe_domain_by_file_pattern = {name: "c" for name in ("murmurate.h", "murmurate_hook.h", "murmurate_parameters.h")}
autodoc_mock_imports = ["gymnasium", "pettingzoo"]
autodoc_member_order = "bysource"
myst_heading_anchors = 6
# A page may begin its sections at any depth; the namespace murmurate is declared in each header.
suppress_warnings = ["myst.header", "duplicate_declaration.cpp"]
exclude_patterns = ["**/files/*.md"]
smartquotes = False

html_theme = "furo"
html_title = "murmurate"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
# A browser does not let a page of file:// read other pages, from which summaries would be made.
html_show_search_summary = False


def setup(app):
    app.add_object_type(
        "key", "key", objname="config key", indextemplate="single: %s (config key)", ref_nodeclass=nodes.literal
    )
    app.connect("autodoc-process-docstring", docstrings.process)
