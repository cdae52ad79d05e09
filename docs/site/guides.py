"""The Markdown of the tree as pages: a link, or a path in code, leads to the page that shows it; what no page shows
stays as words. A key of the config in code leads to its entry."""

import os
import re
from pathlib import Path

SPAN_OR_LINK = re.compile(
    r"(?P<fence>`+)(?P<code>(?:(?!\n\s*\n).)+?)(?P=fence)"  # over lines, not over paragraphs
    r"|(?P<bang>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)",
    re.DOTALL,
)
LANGUAGES = {"csv": "text"}  # what the highlighter does not know


def relative(target, page):
    path, _, anchor = target.partition("#")
    link = os.path.relpath(path, Path(page).parent) if path else ""
    return link + ("#" + anchor if anchor else "")


class Linker:
    """Rewrites the links of one page. `path`: of its source in the tree; `page`: of the page."""

    def __init__(self, tree, keys, path, page):
        self.tree, self.keys, self.path, self.page = tree, keys, path, page

    def in_tree(self, target):
        return os.path.normpath(os.path.join(os.path.dirname(self.path), target))

    def code(self, match):
        text = " ".join(match["code"].split())
        if match["fence"] == "`" and text in self.tree.pages and self.tree.pages[text] != self.page:
            return f"[{match[0]}]({relative(self.tree.pages[text], self.page)})"
        if match["fence"] == "`" and text in self.keys:
            return f"{{key}}`{text}`"
        return match[0]

    def link(self, match):
        target, _, anchor = match["target"].partition("#")
        if ":" in target or not target:
            return match[0]
        path = self.in_tree(target)
        if match["bang"]:
            self.tree.copy(path)
            return f"![{match['text']}]({relative(path, self.page)})"
        page = self.tree.pages.get(path)
        if page is None:
            return match["text"]
        return f"[{match['text']}]({relative(page + ('#' + anchor if anchor else ''), self.page)})"

    def rewritten(self, line):
        return SPAN_OR_LINK.sub(lambda match: self.code(match) if match["code"] else self.link(match), line)


def is_heading(line):
    return re.match(r"#{1,6} ", line)


def page_text(tree, keys, path, page):
    """The Markdown of a file of the tree, with links that hold on the site."""
    linker = Linker(tree, keys, path, page)
    lines, words, fenced = [], [], False

    def end_of_words():  # a code span or a link may go on in the next line
        lines.append(linker.rewritten("\n".join(words)))
        words.clear()

    for line in tree.read(path).split("\n"):
        fence = re.match(r"\s*```(\w*)", line)
        if fence or fenced or is_heading(line):
            if words:
                end_of_words()
            if fence:
                fenced = not fenced
                line = line.replace("```" + fence[1], "```" + LANGUAGES.get(fence[1], fence[1]))
            lines.append(line)
        else:
            words.append(line)
    end_of_words()
    return "\n".join(lines)


def write(tree, keys, contents):
    """Writes all guides; `contents` goes to the end of the first page."""
    for path, page in tree.pages.items():
        if not path.endswith(".md") or path.startswith("examples/"):
            continue
        text = page_text(tree, keys, path, page)
        tree.write(page, text + contents if page == "index.md" else text)
    decisions = sorted(Path(page).stem for page in tree.pages.values() if page.startswith("docs/decisions/"))
    listed = "\n".join(name for name in decisions if name != "index")
    tree.write(
        "docs/decisions/index.md", f"# Decisions\n\nReasons that no header holds.\n\n```{{toctree}}\n{listed}\n```\n"
    )
