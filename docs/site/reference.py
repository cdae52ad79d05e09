"""The reference, from declarations: commands, keys of the config, headers, the Python package."""

import itertools
import re

import docstrings

GUIDES = {
    "algorithm": "choosing",
    "model": "choosing",
    "optimizer": "choosing",
    "run": "choosing",
    "parameters": "distributed",
    "cluster": "distributed",
    "data": "data",
    "record": "data",
    "page": "page",
    "metrics": "metrics",
    "log": "service",
    "stream": "streams",
    "hook": "hooks",
    "evaluation": "choosing",
    "server": "packages",
}


def heading(text, line="="):
    return f"{text}\n{line * len(text)}\n\n"


def key_name(key):
    return f"{key['table']}.{key['key']}"


def key_names(declarations):
    return {key_name(key) for key in declarations["keys"]}


def title_of(table):
    """How the section of a key stands in a file."""
    if table.startswith("hook."):
        return f'[[hook]] kind = "{table[5:]}"'
    return "[[hook]]" if table == "hook" else f"[{table}]"


def key_entry(key):
    words = [docstrings.escaped(key["meaning"]), "Expects " + docstrings.escaped(key["expects"])]
    words.append(f"default: ``{key['default']}``" if key["default"] else "not set by default")
    if key["example"] and key["example"] != key["default"]:
        words[-1] += f"; for example ``{key['key']} = {key['example']}``"
    return f".. key:: {key_name(key)}\n\n   {words[0]}\n\n   {words[1]}; {words[2]}.\n\n"


def configuration(keys):
    text = heading("Configuration")
    text += (
        "Every key of a config file. ``--set SECTION.KEY=VALUE`` and the environment variable\n"
        "``MURMURATE_SECTION__KEY`` set one, too; ``murmurate check CONFIG`` shows all of a config, each with\n"
        "its value and where it comes from.\n\n"
    )
    for table, of_table in itertools.groupby(keys, lambda key: key["table"]):
        text += heading(title_of(table), "-")
        guide = GUIDES.get(table.split(".")[0])
        if guide:
            text += f"See :doc:`/docs/{guide}`.\n\n"
        text += "".join(key_entry(key) for key in of_table)
    return text


def option_entry(names, value, choices, help_text):
    words = ", ".join(name + (f" <{value}>" if value else "") for name in names)
    said = docstrings.escaped(help_text) + (f" ({', '.join(choices)})" if choices else "")
    return f".. option:: {words}\n\n   " + said.replace("\n", "\n   ") + "\n\n"


def usage(command):
    words = [command["command"]] + ["[OPTIONS]"] * bool(command["options"]) + ["COMMAND"] * bool(command["commands"])
    for argument in command["arguments"]:
        name = argument["name"] + " ..." * argument["many"]
        words.append(name if argument["required"] else f"[{name}]")
    return " ".join(words)


def command_entry(command):
    text = heading(command["command"], "-") + docstrings.escaped(command["help"]) + "\n\n"
    text += f".. program:: {command['command']}\n\n.. code-block:: text\n\n   {usage(command)}\n\n"
    for argument in command["arguments"]:
        text += option_entry([argument["name"]], "", argument["choices"], argument["help"])
    for option in command["options"]:
        text += option_entry(option["names"], option["value"], option["choices"], option["help"])
    return text


def commands(declarations):
    text = heading("Commands") + "The command line, as ``--help`` has it. Exit codes:\n\n"
    text += (
        "".join(
            f"* {code.strip()}\n"
            for code in re.split(r",\s", declarations["exit_codes"].rstrip(".").replace("\n", " "))
        )
        + "\n"
    )
    return text + "".join(command_entry(command) for command in declarations["commands"])


SECTIONS = (
    "briefdescription detaileddescription user-defined public-type public-func public-static-func public-attrib"
    " public-static-attrib friend related define typedef enum func var innernamespace innerclass"
)


def headers(tree):
    """A page for each public header, and one that lists them."""
    pages = []
    for header in tree.headers:
        page = tree.header_page(header)
        directive = f".. doxygenfile:: {header.split('/')[-1]}\n   :sections: {SECTIONS}"
        tree.write(f"reference/headers/{page}.md", f"# {header}\n\n```{{eval-rst}}\n{directive}\n```\n")
        pages.append(page)
    introduction = "# Headers\n\nThe C++ and C interfaces; each header is its own manual.\n\n"
    tree.write("reference/headers/index.md", introduction + "```{toctree}\n" + "\n".join(pages) + "\n```\n")


PYTHON_VALUES = ("DEFAULT_ADDRESS", "library_path", "library_version")  # which automodule leaves out
PYTHON_MODULES = ("murmurate", "murmurate.spaces", "murmurate.arrays", "murmurate.episodes", "murmurate.weights")


def python():
    text = heading("The Python package")
    for module in PYTHON_MODULES:
        text += heading(module, "-") + f".. automodule:: {module}\n   :members:\n   :undoc-members:\n\n"
        if module == "murmurate":
            text += "".join(f".. autodata:: murmurate.{name}\n   :no-value:\n\n" for name in PYTHON_VALUES)
    return text


def write(tree, declarations):
    tree.write("reference/commands.rst", commands(declarations))
    tree.write("reference/configuration.rst", configuration(declarations["keys"]))
    tree.write("reference/python.rst", python())
    headers(tree)
