#!/usr/bin/env bash
# Runs a command in a network of its own, in which there is nothing but the loopback addresses: every port
# is free, whatever else listens on this machine.
#   scripts/own-network.sh COMMAND...
# Exit code 5 and a sentence: this machine does not allow it.
set -euo pipefail
unshare=(unshare --net)
[ "$(id -u)" = 0 ] || unshare+=(--map-root-user)
# SIOCSIFFLAGS: up and running
up='import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 0x41))'
if ! reason=$("${unshare[@]}" python3 -c "$up" 2>&1); then
  echo "murmurate: no network of one's own here: $(tail -n1 <<<"$reason")" >&2
  exit 5
fi
exec "${unshare[@]}" sh -c 'python3 -c "$0" && exec "$@"' "$up" "$@"
