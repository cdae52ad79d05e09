"""The reference, from declarations: commands, keys of the config, headers, the Python package."""

import itertools
import re

import docstrings

GUIDES = {"algorithm": "choosing", "model": "choosing", "optimizer": "choosing", "run": "choosing", "parameters": "distributed",
          "cluster": "distributed", "data": "data", "record": "data", "page": "page", "metrics": "metrics", "log": "service",
          "stream": "streams", "hook": "hooks", "evaluation": "choosing", "server": "packages"}  # fmt: skip


def heading(text, line="="):
    return f"{text}\n{line * len(text)}\n\n"


def key_name(key):
    return f"{key['table']}.{key['key']}"


def key_names(declarations):
    return {key_name(key) for key in declarations["keys"]}


def title_of(table):
    return f"[[hook]] kind = \"{table[5:]}\"" if table.startswith("hook.") else "[[hook]]" if table == "hook" else f"[{table}]"


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
    text += "".join(f"* {code.strip()}\n" for code in re.split(r",\s", declarations["exit_codes"].rstrip(".").replace("\n", " "))) + "\n"
    return text + "".join(command_entry(command) for command in declarations["commands"])


SECTIONS = ("briefdescription detaileddescription user-defined public-type public-func public-static-func public-attrib "
            "public-static-attrib friend related define typedef enum func var innernamespace innerclass")  # fmt: skip


def headers(tree):
    pages = [tree.header_page(header) for header in tree.headers]
    for header in tree.headers:
        tree.write(f"reference/headers/{tree.header_page(header)}.md",
                   f"# {header}\n\n```{{eval-rst}}\n.. doxygenfile:: {header.split('/')[-1]}\n   :sections: {SECTIONS}\n```\n")  # fmt: skip
    tree.write("reference/headers/index.md",
               "# Headers\n\nThe C++ and C interfaces; each header is its own manual.\n\n```{toctree}\n" +
               "\n".join(pages) + "\n```\n")  # fmt: skip


PYTHON_VALUES = ("DEFAULT_ADDRESS", "library_path", "library_version")  # which automodule leaves out
PYTHON_MODULES = ("murmurate", "murmurate.spaces", "murmurate.arrays", "murmurate.episodes", "murmurate.weights")


def python():
    text = heading("Python")
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
