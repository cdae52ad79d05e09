#!/usr/bin/env bash
# Makes the reference and fails on every warning of doxygen: a reference to nothing, a comment that it
# cannot read, a function that nobody describes.
#   docs/reference/check.sh DOXYFILE WARNINGS
# What says all by its name or its body needs no description: fields, types, enumerations whose values
# do, what takes no argument and changes nothing, constructors, operators, and C's inline functions.
set -euo pipefail
command -v doxygen >/dev/null || {
  echo "skipped: there is no doxygen here; scripts/install-packages.sh ci installs it"; exit 77; }
rm -f "$2"
doxygen "$1" >/dev/null
[ -f "$2" ] || { echo "doxygen wrote no $2" >&2; exit 1; }
by_name='Member .* \((variable|enumeration|typedef)\)|\(\) const \(function\)|Member operator|Compound mmr_'
constructor='Member ([A-Za-z]+)\(.*\(function\) of class ([a-z]+::)*\1 is not documented'
faults=0
while IFS=: read -r file line fault; do
  case $(sed -n "${line}p" "$file" 2>/dev/null) in "static inline"*) continue ;; esac
  echo "$file:$line:$fault" >&2
  faults=1
done < <(sed -E -e '/^$/d' -e "/$by_name/d" -e "\\#$constructor#d" "$2")
[ $faults = 0 ] || { echo "describe or correct these in the headers" >&2; exit 1; }
