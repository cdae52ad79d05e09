"""Makes the wheel: the package's files and libmurmurate.so, with nothing to download.

The library is MURMURATE_LIBRARY, or is built by CMake from the clone around this folder: with what
build/release is already configured for (./run, ./test), else as the client alone in build/python.

  pip install ./python                                  in a clone
  MURMURATE_LIBRARY=.../libmurmurate.so.1 pip wheel ./python
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLONE = HERE.parent
SONAME = "libmurmurate.so.1"
PARAMETERS = "libmurmurate-parameters.so.1"  # of a clone that has a learner
TAG = "py3-none-linux_x86_64"
INSTALL = "run scripts/install-packages.sh build"
NEEDED = {  # what CMake says it has not got -> the Debian package; the first of several is the reason
    "Unix Makefiles": "ninja-build", "Ninja": "ninja-build", "CMAKE_CXX_COMPILER": "g++", "PkgConfig": "pkg-config",
    "libzmq": "libzmq3-dev", "CPPZMQ_INCLUDE": "cppzmq-dev", "FLATBUFFERS_INCLUDE": "libflatbuffers-dev",
    "FLATC": "flatbuffers-compiler", "Boost": "libboost-dev", "XXHASH_INCLUDE": "libxxhash-dev",
}  # fmt: skip
_NOT_FOUND = r"(No|Package|Could not find|Could NOT find|[Uu]nable to find)\b[^\n]*\b{0}\b|\b{0}\b[^\n]*not (set|found)"


class Failed(SystemExit):
    """pip shows it as the last line."""

    def __init__(self, sentence: str) -> None:
        print(f"murmurate: {sentence}", file=sys.stderr, flush=True)
        super().__init__(1)


def _field(name: str) -> str:
    found = re.search(rf'^{name} = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found.group(1)


VERSION = _field("version")
INFO = f"murmurate-{VERSION}.dist-info"


def _run(*command: str) -> str:
    """Shows what it does, as `pip install -v` passes it on; what it said."""
    print("murmurate:", " ".join(command), flush=True)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    if process.wait() != 0:
        raise Failed(_reason("".join(lines), command))
    return "".join(lines)


def _reason(output: str, command: tuple[str, ...]) -> str:
    for word, package in NEEDED.items():
        if re.search(_NOT_FOUND.format(word), output):
            return f"building libmurmurate needs {package}: apt install {package}, or {INSTALL}"
    why = re.search(r"CMake Error[^\n]*\n\s*([^\n]+)|[^\n]*\berror: [^\n]*", output)
    reason = (why.group(1) or why.group(0)).strip() if why else "it gave no reason"
    return f"could not build libmurmurate ({' '.join(command[:2])}): {reason}"


def _libraries() -> dict[str, Path]:
    """What the package opens: the client, and the parameter server where there is one."""
    named = os.environ.get("MURMURATE_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise Failed(f"MURMURATE_LIBRARY is {named}, which is no file")
        beside = os.environ.get("MURMURATE_PARAMETERS_LIBRARY")
        return {SONAME: Path(named).resolve(), **({PARAMETERS: Path(beside).resolve()} if beside else {})}
    if not (CLONE / "client" / "include" / "murmurate.h").is_file():
        raise Failed("no clone of murmurate around this folder: pip install ./python there, or set MURMURATE_LIBRARY")
    if shutil.which("cmake") is None:
        raise Failed(f"building libmurmurate needs cmake: apt install cmake, or {INSTALL}")
    build = CLONE / "build" / "release"
    targets = ["murmurate_shared", "murmurate_parameters_shared"]
    if not (build / "build.ninja").is_file():
        targets.pop()  # it is built with the learner
        build = CLONE / "build" / "python"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        # Fresh: an earlier try may have found another generator, or less than is there now.
        _run("cmake", "--fresh", "-S", str(CLONE), "-B", str(build), *generator, "-DCMAKE_BUILD_TYPE=Release",
             "-DMURMURATE_CLIENT_ONLY=ON")  # fmt: skip
    _run("cmake", "--build", str(build), "--target", *targets, "--parallel")
    built = {SONAME: build / "client" / SONAME, PARAMETERS: build / "server" / "parameters_abi" / PARAMETERS}
    return {name: path.resolve() for name, path in list(built.items())[: len(targets)]}


def _metadata() -> str:
    return "\n".join(
        [
            "Metadata-Version: 2.1",
            "Name: murmurate",
            f"Version: {VERSION}",
            f"Summary: {_field('description')}",
            "License: Apache-2.0",
            f"Requires-Python: {_field('requires-python')}",
            "Requires-Dist: numpy>=1.23",
            "Provides-Extra: environments",
            'Requires-Dist: gymnasium>=1.0; extra == "environments"',
            'Requires-Dist: pettingzoo>=1.24; extra == "environments"',
            "Description-Content-Type: text/markdown",
            "",
            (HERE / "README.md").read_text(),
        ]
    )


def _wheel_text() -> str:
    return f"Wheel-Version: 1.0\nGenerator: murmurate\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def _sources() -> list[Path]:
    package = HERE / "src" / "murmurate"
    return [*sorted(package.glob("*.py")), package / "py.typed"]


def _write_wheel(folder: str, contents: dict[str, bytes]) -> str:
    name = f"murmurate-{VERSION}-{TAG}.whl"
    lines = []
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in contents.items():
            wheel.writestr(path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(content)}")
        lines.append(f"{INFO}/RECORD,,")
        wheel.writestr(f"{INFO}/RECORD", "\n".join(lines) + "\n")
    return name


def _license() -> bytes:
    """A clone has it above this folder, an sdist in it."""
    found = [folder / "LICENSE" for folder in (HERE, CLONE) if (folder / "LICENSE").is_file()]
    return found[0].read_bytes() if found else b"Apache-2.0\n"


def _contents() -> dict[str, bytes]:
    return {
        f"{INFO}/METADATA": _metadata().encode(),
        f"{INFO}/WHEEL": _wheel_text().encode(),
        f"{INFO}/LICENSE": _license(),
    }


# What pip calls (PEP 517, PEP 660).


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:
    for path, content in _contents().items():
        place = Path(metadata_directory) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return INFO


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    libraries = _libraries()
    contents = {f"murmurate/{path.name}": path.read_bytes() for path in _sources()}
    contents.update({f"murmurate/{name}": path.read_bytes() for name, path in libraries.items()})
    return _write_wheel(wheel_directory, {**contents, **_contents()})


def build_editable(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    for name, library in _libraries().items():
        shutil.copy(library, HERE / "src" / "murmurate" / name)
    path = f"{HERE / 'src'}\n".encode()
    return _write_wheel(wheel_directory, {"murmurate.pth": path, **_contents()})


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Of the Python side: building it elsewhere takes MURMURATE_LIBRARY."""
    name = f"murmurate-{VERSION}"
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in [HERE / "pyproject.toml", HERE / "build_backend.py", HERE / "README.md", *_sources()]:
            archive.add(path, f"{name}/{path.relative_to(HERE)}")
        for path, content in (("PKG-INFO", _metadata().encode()), ("LICENSE", _license())):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{name}.tar.gz"
