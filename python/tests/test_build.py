"""What `pip install ./python` says when the library cannot be built."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BACKEND = Path(__file__).parents[1] / "build_backend.py"


def backend() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_backend", BACKEND)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "package"),
    [  # as CMake 3.25 and pkg-config 1.8 say it
        ("--   Package 'libzmq', required by 'virtual:world', not found", "libzmq3-dev"),
        ("--   No package 'libzmq' found", "libzmq3-dev"),
        ("  Could not find CPPZMQ_INCLUDE using the following files: zmq.hpp", "cppzmq-dev"),
        ('  Could not find a package configuration file provided by "FlatBuffers"', "libflatbuffers-dev"),
        ("  Could not find FLATC using the following names: flatc", "flatbuffers-compiler"),
        ("  Could NOT find Boost (missing: Boost_INCLUDE_DIR)", "libboost-dev"),
        ("  Could NOT find PkgConfig (missing: PKG_CONFIG_EXECUTABLE)", "pkg-config"),
        ("CMake Error: CMAKE_CXX_COMPILER not set, after EnableLanguage", "g++"),
        ('  CMake was unable to find a build program corresponding to "Ninja".', "ninja-build"),
    ],
)
def test_a_package_that_is_missing_is_named(line: str, package: str) -> None:
    output = "-- Found PkgConfig: /usr/bin/pkg-config\nCMake Error at cmake/dependencies.cmake:4:\n" + line + "\n"
    said = backend()._reason(output, ("cmake", "-S"))
    assert said.startswith(f"building libmurmurate needs {package}: apt install {package}") and "\n" not in said


def test_an_error_of_the_compiler_is_the_reason_given() -> None:
    said = backend()._reason("[1/2] Building\na.cc:3:1: error: no such thing\nninja: stopped\n", ("cmake", "--build"))
    assert said == "could not build libmurmurate (cmake --build): a.cc:3:1: error: no such thing"


def test_outside_a_clone_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    for name in ("build_backend.py", "pyproject.toml", "README.md"):
        (tmp_path / name).write_bytes((BACKEND.parent / name).read_bytes())
    say = [sys.executable, "-c", "import build_backend; build_backend.build_wheel('.')"]
    ran = subprocess.run(say, cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/usr/bin"})
    assert ran.returncode == 1 and len(ran.stderr.splitlines()) == 1
    assert "no clone of murmurate around this folder" in ran.stderr
