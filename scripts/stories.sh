#!/usr/bin/env bash
# Follows the README's three stories on a clean Debian 12, word for word and from the first line on, as
# somebody who has just cloned the commit that is checked out here:
#   scripts/stories.sh [--no-cache] [game|researcher|stream...]
# A clean machine is what debootstrap makes (minbase), from where apt takes this machine's packages, with
# the two things that the stories take for granted: sudo, and the clone. The lines that install murmurate
# are typed once; each story then has a machine of its own on which only that has happened. The compiler
# cache of this machine is used (--no-cache: is not); what the lines fetch comes from where apt and pip of
# this machine fetch; the rest happens in a network of loopback addresses only, in namespaces with which
# everything ends. Files stay in build/stories alone, of which the bare image is kept.
# Exit code 5 and a sentence: this machine has or allows not what it takes.
set -euo pipefail
clone=$(cd "$(dirname "$0")/.." && pwd)
place=$clone/build/stories
inside=/root/murmurate

unable() {
  echo "murmurate: $1" >&2
  exit 5
}

# What is typed where pip asks the same index in the same way: PIP_NAME=VALUE, a line each.
pip_settings() {
  { pip config list || true; } 2>/dev/null |
    sed -n "s/^\(global\|install\|:env:\)\.\(.*\)='\(.*\)'$/\2=\3/p" | while IFS='=' read -r name value; do
      name=${name//-/_}
      if [ "$name" = cert ]; then value=/opt/certificates.pem; fi
      echo "PIP_${name^^}=$value"
    done
}

bare_image() {
  local sources
  sources=$(apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' |
    sed -n 's/^Packages Debian //p' | sort -u)
  local mirror
  mirror=$(awk '$3 == "bookworm" { print $2; exit }' <<<"$sources")
  [ -n "$mirror" ] || unable "apt knows no packages of Debian 12 here (apt-get update)"
  rm -rf "$place/bare" "$place/bare.part"
  debootstrap --variant=minbase --include=sudo bookworm "$place/bare.part" "$mirror" >"$place/bare.log" 2>&1 ||
    unable "no clean Debian here: $(tail -n1 "$place/bare.log") ($place/bare.log)"
  local etc=$place/bare.part/etc
  echo "$sources" >"$etc/apt/sources.list"
  apt-config dump | grep -i '^Acquire::.*proxy' >"$etc/apt/apt.conf.d/80proxy" || true
  # apt asks whether it may, and the person at the keyboard says yes.
  echo 'APT::Get::Assume-Yes "true";' >"$etc/apt/apt.conf.d/90yes"
  printf '127.0.0.1 localhost %s\n::1 localhost\n' "$(hostname)" >"$etc/hosts"
  cp -L /etc/resolv.conf "$etc/"
  local certificates=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
  [ ! -e "$certificates" ] || cp -L "$certificates" "$place/bare.part/opt/certificates.pem"
  mv "$place/bare.part" "$place/bare"
}

start_machine() { # NAME LOWER: what it writes is in $work/NAME
  root=$work/$1.root
  mkdir -p "$work/$1" "$work/$1.work" "$root"
  mount -t overlay overlay -o "lowerdir=$2,upperdir=$work/$1,workdir=$work/$1.work" "$root" ||
    unable "no overlay can be mounted in $work"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount --bind -o ro /sys "$root/sys"
  local links=${PIP_FIND_LINKS:-}
  if [ -d "$links" ]; then mkdir -p "$root$links" && mount --bind -o ro "$links" "$root$links"; fi
  if $cache && [ -d "$cache_folder" ]; then
    mkdir -p "$root/root/.cache/ccache"
    mount --bind "$cache_folder" "$root/root/.cache/ccache"
  fi
}

on_machine() { # [own-network.sh] -- COMMAND...: in the clone
  local around=()
  while [ "$1" != -- ]; do around+=("$1"); shift; done
  shift
  "${around[@]}" env -i HOME=/root TERM=dumb LANG=C.UTF-8 "${settings[@]}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    chroot "$root" sh -c 'cd "$0" && exec "$@"' "$inside" "$@"
}
story() { on_machine "$own" -- scripts/story.sh play "$1"; }

install_murmurate() {
  start_machine installed "$place/bare"
  git clone --quiet "$clone" "$root$inside"
  on_machine -- scripts/story.sh install game
  umount --recursive "$root"
}

follow_game() { story game; }
follow_researcher() {
  on_machine -- scripts/story.sh install researcher || {
    on_machine -- .venv/bin/pip download --quiet --no-deps --dest /tmp gymnasium ||
      unable "PyPI gives nothing here"
    return 1
  }
  story researcher
}
# What it installs is fetched before, because the broker of its package is to be in the machine's own network.
follow_stream() {
  local fetched
  fetched=$(on_machine -- scripts/story.sh lines stream | sed -n 's/apt install/apt-get install --download-only/p')
  on_machine -- sh -c "$fetched" || unable "apt gives no broker here"
  # No init system runs in an image. What systemd would start as the broker is installed is started here.
  on_machine "$own" -- sh -c 'scripts/story.sh install stream
    unit=/lib/systemd/system/mosquitto.service
    sed -n s/^ExecStartPre=//p $unit | sh
    $(sed -n s/^ExecStart=//p $unit) &
    trap "kill $!; wait" EXIT
    for i in $(seq 100); do mosquitto_pub -t ready -m yes 2>/dev/null && break; sleep 0.1; done
    scripts/story.sh play stream'
}

if [ "${1:-}" != --in-namespaces ]; then
  [ "$(id -u)" = 0 ] || unable "a clean machine is made by root: run this as root"
  "$clone/scripts/install-packages.sh" stories
  mkdir -p "$place"
  work=$(mktemp -d "$place/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  unshare --mount --pid --ipc --fork true 2>/dev/null || unable "no namespaces can be made here"
  code=0
  unshare --mount --pid --ipc --fork --kill-child --mount-proc "$0" --in-namespaces "$work" "$@" || code=$?
  exit "$code"
fi

work=$2 own=$clone/scripts/own-network.sh cache=true
shift 2
if [ "${1:-}" = --no-cache ]; then cache=false; shift; fi
[ $# -gt 0 ] || set -- game researcher stream
"$own" true
cache_folder=$(ccache --get-config cache_dir 2>/dev/null || true)
mapfile -t settings < <(pip_settings; env | grep -iE '^https?_proxy=' || true)
if $cache; then settings+=("CCACHE_BASEDIR=$inside" CCACHE_NOHASHDIR=1); else settings+=(CCACHE_DISABLE=1); fi

[ -d "$place/bare" ] || bare_image
took=()
began=$SECONDS
install_murmurate
took+=("murmurate built and installed: $((SECONDS - began)) s")
for name in "$@"; do
  began=$SECONDS
  start_machine "$name" "$work/installed:$place/bare"
  "follow_$name" || { echo "murmurate: the story $name is not as written" >&2; exit 1; }
  umount --recursive "$root"
  took+=("story $name: $((SECONDS - began)) s")
done
printf '%s\n' "${took[@]}"
