"""What `pip install ./python` says when the library cannot be built."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import murmurate

BACKEND = Path(__file__).parents[1] / "build_backend.py"


def backend() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_backend", BACKEND)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOLS = ("cmake", "ninja", "cc", "c++", "ld", "as", "ar", "ranlib", "nm", "pkg-config", "flatc", "sh")
HEADERS = ("CPPZMQ_INCLUDE", "FLATBUFFERS_INCLUDE", "Boost_INCLUDE_DIR", "XXHASH_INCLUDE")
clone = pytest.mark.skipif(
    not (BACKEND.parents[1] / "CMakeLists.txt").is_file() or any(shutil.which(tool) is None for tool in TOOLS),
    reason="needs a clone, and what builds it",
)


def configure_without(lacking: str, folder: Path) -> str:
    """What CMake says where everything is there but one."""
    (folder / "bin").mkdir()
    for tool in TOOLS:
        if tool != lacking:
            (folder / "bin" / tool).symlink_to(shutil.which(tool) or "")
    command = ["cmake", "-S", str(BACKEND.parents[1]), "-B", str(folder / "build"), "-G", "Ninja",
               "-DMURMURATE_CLIENT_ONLY=ON", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
               *(f"-D{header}=/usr/include" for header in HEADERS if header != lacking)]  # fmt: skip
    environment = {"PATH": str(folder / "bin")}
    if lacking == "libzmq":
        environment["PKG_CONFIG_LIBDIR"] = str(folder)
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode != 0, ran.stdout
    return ran.stdout


@clone
@pytest.mark.parametrize(
    ("lacking", "package"),
    [
        ("libzmq", "libzmq3-dev"),
        ("CPPZMQ_INCLUDE", "cppzmq-dev"),
        ("FLATBUFFERS_INCLUDE", "libflatbuffers-dev"),
        ("flatc", "flatbuffers-compiler"),
        ("Boost_INCLUDE_DIR", "libboost-dev"),
        ("XXHASH_INCLUDE", "libxxhash-dev"),
        ("pkg-config", "pkg-config"),
        ("c++", "g++"),
        ("ninja", "ninja-build"),
    ],
)
def test_a_package_that_is_missing_is_named(lacking: str, package: str, tmp_path: Path) -> None:
    output = configure_without(lacking, tmp_path)
    said = backend()._reason(output, ("cmake", "-S"))
    assert said.startswith(f"building libmurmurate needs {package}: apt install {package}") and "\n" not in said, output


def test_a_machine_without_make_and_ninja_is_told_to_install_ninja() -> None:
    said = backend()._reason('CMake was unable to find a build program corresponding to "Unix Makefiles".', ("cmake",))
    assert said.startswith("building libmurmurate needs ninja-build")


@clone
def test_a_build_that_failed_with_another_generator_is_tried_again(tmp_path: Path) -> None:
    """As where ninja was installed since."""
    (tmp_path / "python").mkdir()
    for name in ("build_backend.py", "pyproject.toml", "README.md"):
        (tmp_path / "python" / name).write_bytes((BACKEND.parent / name).read_bytes())
    (tmp_path / "client" / "include").mkdir(parents=True)
    (tmp_path / "client" / "include" / "murmurate.h").touch()
    (tmp_path / "library.c").write_text("int number(void) { return 1; }\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(tiny C)\n"
        "add_library(murmurate_shared SHARED library.c)\n"
        "set_target_properties(murmurate_shared PROPERTIES OUTPUT_NAME murmurate SOVERSION 1\n"
        "  LIBRARY_OUTPUT_DIRECTORY client)\n"
    )
    before = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build" / "python"), "-G", "Ninja Multi-Config"]
    subprocess.run(before, check=True, capture_output=True)
    build = [sys.executable, "-c", "import build_backend; print(build_backend._libraries()[build_backend.SONAME])"]
    environment = {name: value for name, value in os.environ.items() if name != "MURMURATE_LIBRARY"}
    ran = subprocess.run(build, cwd=tmp_path / "python", env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.splitlines()[-1]).is_file()


@clone
def test_a_wheel_is_made_of_an_sdist_with_its_licence(tmp_path: Path) -> None:
    archive = tmp_path / backend().build_sdist(str(tmp_path))
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path)
    folder = tmp_path / "murmurate-0.1.0"
    assert (folder / "PKG-INFO").read_text().startswith("Metadata-Version: 2.1\nName: murmurate\nVersion: 0.1.0\n")
    say = [sys.executable, "-c", "import build_backend; print(build_backend.build_wheel('.'))"]
    library = Path(murmurate.library_path).resolve()
    environment = {**os.environ, "MURMURATE_LIBRARY": str(library)}
    ran = subprocess.run(say, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(folder / ran.stdout.strip()) as wheel:
        licence = wheel.read("murmurate-0.1.0.dist-info/LICENSE")
        assert wheel.read("murmurate/libmurmurate.so.1") == library.read_bytes()
    assert licence == (folder / "LICENSE").read_bytes() == (BACKEND.parents[1] / "LICENSE").read_bytes()


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
