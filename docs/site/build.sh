#!/usr/bin/env bash
# Builds the documentation site; every warning of Sphinx is an error, also a link to nothing. What doxygen must not warn
# of, docs/reference/check.sh says.
#   docs/site/build.sh SOURCE DECLARATIONS LIBRARY DOXYFILE FOLDER
# DECLARATIONS: the program murmurate_declarations; LIBRARY: libmurmurate.so, which the Python package loads; DOXYFILE:
# of the public headers. FOLDER/index.html is the site's first page; FOLDER.work holds what it is made from, and a
# virtual environment with Sphinx from PyPI that is made once: every later build asks no network.
# Exit code 77 and a sentence: not possible here.
set -euo pipefail
source=$1 declarations=$2 library=$3 doxyfile=$4 site=$5
work=$site.work
venv=$work/venv
export PYTHONDONTWRITEBYTECODE=1

skip() {
  echo "skipped: $1" >&2
  exit 77
}

make_venv() {
  local wanted
  wanted=$(cat "$source/docs/site/requirements.txt"; python3 -VV)
  [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ] || return 0
  rm -rf "$venv"
  python3 -m venv "$venv" >"$work/venv.log" 2>&1 ||
    skip "no virtual environment can be made (apt install python3-venv): $(tail -n1 "$work/venv.log")"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --retries 2 --timeout 30 \
    -r "$source/docs/site/requirements.txt" >"$work/venv.log" 2>&1 || {
    rm -rf "$venv"
    skip "PyPI does not give Sphinx and its theme: $(grep -m1 -E '^(ERROR|error)' "$work/venv.log" || tail -n1 "$work/venv.log")"
  }
  printf '%s\n' "$wanted" >"$venv/wanted"
}

read_headers() {
  {
    cat "$doxyfile"
    printf '%s = %s\n' OUTPUT_DIRECTORY "$work/doxygen" GENERATE_HTML NO GENERATE_XML YES TYPEDEF_HIDES_STRUCT YES \
      WARN_LOGFILE "$work/doxygen/warnings.txt"
  } >"$work/Doxyfile"
  doxygen "$work/Doxyfile" >/dev/null
}

remove_old_pages() { # the HTML of pages that an earlier build had; of three pages Sphinx is the only source
  local html page
  while IFS= read -r html; do
    page=$work/pages/${html%.html}
    [ -e "$page.md" ] || [ -e "$page.rst" ] || rm "$site/$html"
  done < <(cd "$site" && find . -name '*.html' ! -path './_static/*' ! -path './search.html' ! -path './genindex.html' \
    ! -path './py-modindex.html')
}

command -v doxygen >/dev/null || skip "there is no doxygen here; scripts/install-packages.sh ci installs it"
mkdir -p "$work/doxygen" "$work/pages"
make_venv
read_headers
"$declarations" >"$work/declarations.json"
"$venv/bin/python" "$source/docs/site/pages.py" "$source" "$work/declarations.json" "$work/pages"
MURMURATE_LIBRARY=$library PYTHONPATH=$source/python/src "$venv/bin/sphinx-build" -q -W --keep-going -b html \
  -c "$source/docs/site" -d "$work/doctrees" -D "breathe_projects.murmurate=$work/doxygen/xml" "$work/pages" "$site"
remove_old_pages
