# shellcheck shell=bash
# What the scripts of this directory share; to be sourced.
cache=${PACKTREE_KIND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/packtree/kind}

fail() {
	echo "kind: $*" >&2
	exit 1
}

# require PROGRAM=PACKAGE... installs what is missing, where that can be done.
require() {
	local pair packages=()
	for pair in "$@"; do
		if command -v "${pair%=*}" >/dev/null || [[ " ${packages[*]} " == *" ${pair#*=} "* ]]; then continue; fi
		packages+=("${pair#*=}")
	done
	[ ${#packages[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || fail "missing: ${packages[*]}; install them, or run this as root on Debian"
	command -v apt-get >/dev/null || fail "missing: ${packages[*]}; there is no apt-get to install them with"
	echo "kind: installing ${packages[*]}" >&2
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"; } >"$cache/apt.log" 2>&1 ||
		fail "installing ${packages[*]} failed: $(tail -n 1 "$cache/apt.log")"
}

# has_room MEBIBYTES
has_room() {
	local free
	free=$(df --output=avail -m "$cache" | tail -n 1)
	[ "$free" -ge "$1" ] || fail "$cache has $((free)) MiB left, and $1 are needed"
}
