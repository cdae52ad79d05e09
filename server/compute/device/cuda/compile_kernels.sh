#!/bin/sh
# compile_kernels.sh LOG COMMAND...: runs the compiler; what it says lies in LOG, and is shown if it fails.
log=$1
shift
"$@" >"$log" 2>&1 || {
  code=$?
  cat "$log" >&2
  exit $code
}
