"""Tree: which files of the source tree are pages, what a path of the tree is called on the site, and the folder into
which pages are written."""

import os
import re
from pathlib import Path

HEADER_FOLDERS = (
    "client/include",
    "server/parameters_abi/include",
    "server/hooks/include",
    "shared/core/include",
    "shared/model/include",
)
EXAMPLE_FILES = ("", ".c", ".cc", ".cpp", ".h", ".json", ".py", ".sh", ".toml", ".txt", ".yaml")
PAGES_BESIDE_DOCS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md", "schemas/README.md")


def anchor_of(heading):
    """The anchor of a heading, as GitHub and Sphinx's Markdown reader make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class Tree:
    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        self.written = set()
        self.headers = {
            path.relative_to(source / root).as_posix(): path.relative_to(source).as_posix()
            for root in HEADER_FOLDERS
            for path in sorted((source / root).rglob("*.h"))
        }
        self.example_folders = sorted(path.name for path in (source / "examples").iterdir() if path.is_dir())
        self.pages = self._pages()

    def _pages(self):
        """Path in the tree -> path of the page, for what is a page of its own or a section of one."""
        guides = [path.relative_to(self.source).as_posix() for path in sorted((self.source / "docs").rglob("*.md"))]
        pages = {path: path for path in [*guides, *PAGES_BESIDE_DOCS]}
        pages["README.md"] = "index.md"
        pages["docs/decisions"] = "docs/decisions/index.md"
        for name in self.example_folders:
            page = f"examples/{name}/index.md"
            for path in (f"examples/{name}", f"examples/{name}/README.md"):
                pages[path] = page
            for file in self.files_of_example(name):
                pages[f"examples/{name}/{file}"] = f"{page}#{anchor_of(file)}"
        for header, path in self.headers.items():
            pages[path] = f"reference/headers/{self.header_page(header)}.md"
            pages[header] = pages[path]
        return pages

    def guides_of(self, folder):
        """The pages of a folder, without those below it, as a toctree names them."""
        return [page[:-3] for page in self.pages.values() if page.endswith(".md") and Path(page).parent == Path(folder)]

    def files_of_example(self, name):
        """What a reader of the example sees: not what builds it, not its README, not what a run left there."""
        folder = self.source / "examples" / name
        return sorted(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_file()
            and path.name not in ("CMakeLists.txt", "README.md")
            and path.suffix in EXAMPLE_FILES
            and not path.name.startswith(".")
        )

    @staticmethod
    def header_page(header):
        return header[:-2].replace("/", "-")

    def read(self, path):
        return (self.source / path).read_text()

    def write(self, path, text):
        """Writes a page or a file of the site."""
        target = self.folder / path
        self.written.add(target)
        data = text if isinstance(text, bytes) else text.encode()
        if target.exists() and target.read_bytes() == data:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def copy(self, path, target=None):
        self.write(target or path, (self.source / path).read_bytes())

    def remove_others(self):
        """Removes what an earlier call wrote and this one did not."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if Path(folder) / name not in self.written:
                    (Path(folder) / name).unlink()
