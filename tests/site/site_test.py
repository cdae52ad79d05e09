"""The documentation site as it was built: whole, and searched in a real Chromium.

  site_test.py whole SOURCE SITE MURMURATE   links and anchors hold, nothing is fetched from outside, and each config
                                             key, command, public header, example and public Python name has an entry,
                                             and no page is of an earlier build
  site_test.py browser SOURCE SITE           a search finds what it should, without a word in the console
  site_test.py faults                        what `whole` looks for is found in small pages that have it

Exit code 77 and a sentence: not possible here.
"""

import json
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

MADE_BY_SPHINX = {"genindex", "py-modindex", "search"}
HEADER_FOLDERS = "**/include/**/murmurate*.h", "**/include/murmurate/*.h"


class Page(HTMLParser):
    """What a page links to, what it fetches, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.fetched, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        have = dict(attributes)
        if "id" in have:
            self.anchors.add(have["id"])
        if tag == "a" and "href" in have:
            self.links.append(have["href"])
        elif tag == "link" and "href" in have:
            self.fetched.append(have["href"])
        for name in ("src", "poster", "data"):
            if have.get(name) and tag != "a":
                self.fetched.append(have[name])


def is_outside(address):
    parts = urlsplit(address)
    return parts.scheme not in ("", "data") or bool(parts.netloc) or parts.path.startswith("/")


def fetched_by_style(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.findall(r"""url\(\s*["']?([^"')]+)""", text) + re.findall(r"""@import\s+["']([^"']+)""", text)


def link_fault(link, path, pages):
    """ "" when a link of the page at `path` leads somewhere."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https", "mailto"):
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return f"{path.name} links to {link}, which is not there"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return f"{path.name} links to {link}, an anchor which is not there"
    return ""


def faults_in(site):
    """A sentence for each link to nothing and each thing that a browser would fetch from outside."""
    site = Path(site).resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    faults = []
    for path, page in pages.items():
        faults += [link_fault(link, path, pages) for link in page.links]
        faults += [f"{path.name} fetches {address}" for address in page.fetched if is_outside(address)]
        faults += [
            link_fault(address, path, pages)
            for address in page.fetched
            if not is_outside(address) and not address.startswith("data:")
        ]
    for path in site.rglob("*.css"):
        faults += [
            f"{path.name} fetches {address}" for address in fetched_by_style(path.read_text()) if is_outside(address)
        ]
    return [fault for fault in faults if fault]


def says(murmurate, *arguments):
    done = subprocess.run([murmurate, *arguments], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def keys_of(murmurate):
    """What `murmurate check` shows of the default settings."""
    keys = re.findall(r"^([a-z_]+\.[a-z_]+) ", says(murmurate, "check", "--set", "run.name=any"), re.MULTILINE)
    assert len(keys) > 100, "murmurate check shows few keys"
    return keys


def commands_of(murmurate):
    listed = says(murmurate, "--help").split("Subcommands:")[1].split("Exit codes:")[0]
    commands = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
    assert len(commands) > 10, "murmurate --help shows few commands"
    return commands


def search_index(site):
    text = (site / "searchindex.js").read_text()
    return json.loads(text[text.index("(") + 1 : text.rindex(")")])


def files_of(folder):
    """What is kept of an example; without git all that is there."""
    listed = subprocess.run(["git", "-C", str(folder), "ls-files"], capture_output=True, text=True, check=False)
    files = [folder / name for name in listed.stdout.split()] if listed.returncode == 0 else folder.rglob("*.*")
    return [
        path for path in files if path.name not in ("README.md", "CMakeLists.txt") and not path.name.startswith(".")
    ]


def anchor_of(name):
    """What Sphinx makes of a heading that is a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def missing_entries(source, site, murmurate):
    """A sentence for each thing that has no entry."""
    missing = []
    keys = Page(site / "reference/configuration.html").anchors
    missing += [f"config key {key}" for key in keys_of(murmurate) if f"key-{key}" not in keys]
    for key in ("stream.NAME.target", "stream.NAME.field.FIELD.unit", "hook.nan_guard.times", "settings.NAME"):
        missing += [f"config key {key}"] if f"key-{key}" not in keys else []
    commands = Page(site / "reference/commands.html").anchors
    missing += [f"command {command}" for command in commands_of(murmurate) if f"murmurate-{command}" not in commands]
    headers = {path for pattern in HEADER_FOLDERS for path in source.glob(pattern) if "build" not in path.parts}
    assert len(headers) > 10, "few headers were found"
    shown = (site / "reference/headers/index.html").read_text()
    missing += [f"header {path}" for path in sorted(headers) if path.name not in shown]
    for folder in sorted(path for path in (source / "examples").iterdir() if path.is_dir()):
        anchors = Page(site / "examples" / folder.name / "index.html").anchors
        missing += [
            f"example {path}"
            for path in files_of(folder)
            if anchor_of(path.relative_to(folder).as_posix()) not in anchors
        ]
    python = Page(site / "reference/python.html").anchors
    names = re.search(r"__all__ = \[(.*?)\]", (source / "python/src/murmurate/__init__.py").read_text(), re.DOTALL)[1]
    for name in re.findall(r'"(\w+)"', names):
        if not {f"murmurate.{name}", f"module-murmurate.{name}"} & python:
            missing.append(f"Python name {name}")
    return missing


def left_over(site, index):
    """A sentence for each page that an earlier build made."""
    pages = (path.relative_to(site) for path in site.rglob("*.html"))
    names = {path.with_suffix("").as_posix() for path in pages if path.parts[0] != "_static"}
    return [f"{name}.html is no page of this build" for name in sorted(names - {*index["docnames"], *MADE_BY_SPHINX})]


def found_by(index, term):
    """The pages that have a term in their text or their titles."""
    places = [index[words].get(term, []) for words in ("terms", "titleterms")]
    return {index["docnames"][i] for place in places for i in (place if isinstance(place, list) else [place])}


def whole(source, site, murmurate):
    faults = faults_in(site) + ["no entry: " + what for what in missing_entries(source, site, murmurate)]
    index = search_index(site)
    faults += left_over(site, index)
    titles = dict(zip(index["docnames"], index["titles"]))
    for term, page in (("stale", "docs/choosing"), ("onnx", "docs/export"), ("prometheus", "docs/metrics")):
        if page not in found_by(index, term):
            faults.append(f"the search index does not know that {page} ({titles.get(page)}) has {term}")
    return faults


def seen(source, address, *arguments):
    browse = [sys.executable, str(source / "tests/page/browse.py"), address, "--seconds", "20", *arguments]
    done = subprocess.run(browse, capture_output=True, text=True, timeout=100, check=False)
    if done.returncode == 77:
        print("skipped: there is no Chromium here; scripts/install-packages.sh ci installs it")
        sys.exit(77)
    return json.loads(done.stdout)


def browser(source, site):
    """Of the first page on a phone, and of a search on a desk."""
    faults = []
    first = seen(source, f"file://{site}/index.html", "--width", "390", "--height", "800", "--until", "Two commands")
    found = seen(source, f"file://{site}/search.html?q=staleness", "--until", "matching the search query")
    faults += [f"the console says {error}" for error in first["errors"] + found["errors"]]
    if first["width"] > 390:
        faults.append(f"the first page is {first['width']} wide on a screen of 390")
    for wanted in ("algorithm.staleness", "Choosing settings"):
        if wanted not in found["text"].split("matching the search query")[-1]:
            faults.append(f"a search for staleness does not find {wanted}: {found['text'][-2000:]}")
    return faults


def faults():
    """Pages with one fault each: those that go unnoticed."""
    cases = {
        "a link to nothing": '<a href="other.html">x</a>',
        "an anchor that is not there": '<a href="#there">x</a>',
        "a script from outside": '<script src="https://example.org/x.js"></script>',
        "a picture from outside": '<img src="//example.org/x.png">',
        "a style from the root of the disk": '<link rel="stylesheet" href="/x.css">',
        "a style that is not there": '<link rel="stylesheet" href="x.css">',
    }
    unnoticed = []
    for what, text in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "page.html").write_text(text)
            unnoticed += [] if len(faults_in(folder)) == 1 else [what]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.html").write_text('<p id="here"><a href="#here">x</a><a href="https://example.org">y</a>')
        (Path(folder) / "page.css").write_text("@import '/x.css'; a { background: url(//example.org/y) url(data:z) }")
        unnoticed += [] if len(faults_in(folder)) == 2 else [f"a style's imports: {faults_in(folder)}"]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("search", "here", "gone"):
            (Path(folder) / f"{name}.html").write_text("")
        found = left_over(Path(folder), {"docnames": ["here"]})
        unnoticed += [] if found == ["gone.html is no page of this build"] else [f"a page of an earlier build: {found}"]
    return unnoticed


def main(what, *arguments):
    if what == "faults":
        return faults()
    source, site = (Path(argument).resolve() for argument in arguments[:2])
    if not (site / "index.html").exists():
        print("skipped: the site was not built")
        sys.exit(77)
    return whole(source, site, arguments[2]) if what == "whole" else browser(source, site)


if __name__ == "__main__":
    found = main(*sys.argv[1:])
    print("\n".join(found))
    sys.exit(1 if found else 0)
