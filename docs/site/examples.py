"""A page for each folder of examples/: its README, and each of its files as it stands, with its comments."""

import guides

LANGUAGES = {
    ".cc": "cpp",
    ".cpp": "cpp",
    ".h": "cpp",
    ".c": "c",
    ".py": "python",
    ".sh": "bash",
    ".toml": "toml",
    ".json": "json",
}
MOST_LINES = 400  # a longer file is offered as a download


def language_of(name, text):
    if text.startswith("#!"):
        return "python" if "python" in text.split("\n")[0] else "bash"
    return LANGUAGES.get(name[name.rfind(".") :], "text") if "." in name else "text"


def section(folder, name, text, bundled):
    """`bundled`: what the executable says of it, if it holds it."""
    lines = [f"## {name}", ""]
    if bundled:
        lines += [
            f"{bundled['summary']}: `murmurate train {bundled['name']}`, or `murmurate check {bundled['name']}`",
            "",
        ]
    if text.count("\n") > MOST_LINES:
        lines += [f"{{download}}`{name} <files/{name}>`: {text.count(chr(10)):,} lines.", ""]
    else:
        lines += [f"```{{literalinclude}} files/{name}", f":language: {language_of(name, text)}", "```", ""]
    return "\n".join(lines) + "\n"


def bundled_name(tree, folder, name):
    """The executable's name of a config: its stem, but where two folders have the same."""
    if folder not in ("configs", "distributed") or not name.endswith(".toml"):
        return None
    stem = name[:-5]
    return stem + "-sync" if folder == "distributed" and f"{stem}.toml" in tree.files_of_example("configs") else stem


def write(tree, bundled, keys):
    """Writes the pages; returns them as a toctree names them."""
    by_name = {example["name"]: example for example in bundled}
    pages = []
    for folder in tree.example_folders:
        path, page = f"examples/{folder}", f"examples/{folder}/index.md"
        files = tree.files_of_example(folder)
        has_readme = (tree.source / path / "README.md").exists()
        text = guides.page_text(tree, keys, f"{path}/README.md", page) if has_readme else f"# {path}\n"
        text += "\n"
        for name in files:
            tree.copy(f"{path}/{name}", f"{path}/files/{name}")
            text += section(folder, name, tree.read(f"{path}/{name}"), by_name.get(bundled_name(tree, folder, name)))
        tree.write(page, text)
        pages.append(page[:-3])
    return pages
