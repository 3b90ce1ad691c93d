#!/usr/bin/env bash
# Runs a command with a Docker that can hold nodes of kind:
#
#   docker.sh COMMAND [ARGUMENT...]
#
# A daemon that answers is used as it stands. Without one, and as root, a daemon of this script's own runs for as long as the command does, both in
# namespaces of processes, mounts and network that are theirs: interfaces, firewall rules and containers go with them, however the script ends, and
# nothing in a container reaches the network outside. Images stay in PACKTREE_KIND_CACHE, for the next time.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=e2e/tools/kind/setup.sh
. "$here/setup.sh"
cgroup=packtree-kind
# A kubelet sets these, which belong to no namespace.
sysctls="vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes"

# Bit 24 of the bounding set is CAP_SYS_RESOURCE.
lacks_resource() {
	local bounding
	bounding=$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)
	[ $((16#$bounding >> 24 & 1)) = 0 ]
}

daemon() {
	local arguments=(--data-root "$cache/docker" --cgroup-parent "$cgroup" --ip-forward=true) log=$cache/dockerd.log pid status=0 command
	# Until there is a command to end.
	trap 'exit 143' INT TERM
	# Nothing that runs outside is found, or met, below /run; and nothing that runs in here is found there, or left.
	mount -t tmpfs tmpfs /run
	mkdir /run/tmp
	export TMPDIR=/run/tmp
	ip link set lo up
	if lacks_resource; then
		require jq=jq
		arguments+=(--add-runtime "without-resource=$here/runc-without-resource" --default-runtime without-resource)
	fi
	dockerd "${arguments[@]}" >"$log" 2>&1 &
	pid=$!
	for _ in $(seq 150); do
		docker version >/dev/null 2>&1 && break
		kill -0 "$pid" 2>/dev/null || fail "dockerd ended: $(tail -n 1 "$log")"
		sleep 0.2
	done
	docker version >/dev/null 2>&1 || fail "dockerd does not answer after 30 s; $log says why"
	# An interrupted run has left its containers in the data directory.
	docker ps -aq | xargs -r docker rm -fv >/dev/null
	trap 'kill "$command" 2>/dev/null' INT TERM
	"$@" &
	command=$!
	wait "$command" || status=$?
	# A trap ends the first wait, and the command may take a while to end.
	wait "$command" 2>/dev/null || true
	docker ps -aq | xargs -r docker rm -fv >/dev/null 2>&1
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	exit "$status"
}

# shellcheck disable=SC2317 # a trap calls it
put_back() {
	local file directory
	for file in "${!before[@]}"; do
		[ "$(cat "/proc/sys/$file")" = "${before[$file]}" ] || echo "${before[$file]}" >"/proc/sys/$file" || true
	done
	for directory in /sys/fs/cgroup/"$cgroup" /sys/fs/cgroup/*/"$cgroup"; do
		[ ! -d "$directory" ] || find "$directory" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
}

if [ "${1:-}" = --inside ]; then
	shift
	daemon "$@"
fi
[ $# -gt 0 ] || fail "say which command to run"
mkdir -p "$cache"
if command -v docker >/dev/null && docker version >/dev/null 2>&1; then
	[ "$(docker info --format '{{.CgroupDriver}}')" != none ] ||
		fail "Docker has no rights to cgroups (its cgroup driver is none), which kubelets need; delegate them to it, or use a daemon that runs as root"
	exec "$@"
fi
[ "$(id -u)" = 0 ] || fail "no Docker daemon answers, and only root can start one"
require dockerd=docker.io containerd=containerd runc=runc iptables=iptables ip=iproute2 unshare=util-linux flock=util-linux
# Nodes, their images and volumes.
has_room 6000
exec 9>"$cache/lock"
flock -n 9 || {
	echo "kind: another run holds $cache/lock, which is waited for; PACKTREE_KIND_CACHE names another directory" >&2
	flock --timeout "${PACKTREE_KIND_PATIENCE:-3600}" 9 || fail "another run still holds $cache/lock"
}

declare -A before
for sysctl in $sysctls; do
	[ ! -r "/proc/sys/$sysctl" ] || before[$sysctl]=$(cat "/proc/sys/$sysctl")
done
trap put_back EXIT
# 9>&-: what outlives this script must not hold the lock. --kill-child: nothing outlives it.
unshare --net --mount --pid --fork --kill-child --mount-proc "$0" --inside "$@" 9>&- &
inside=$!
# unshare itself takes no signals while it waits for the first process of the namespaces.
trap 'pkill -TERM -P "$inside" || true' INT TERM
status=0
wait "$inside" || status=$?
wait "$inside" 2>/dev/null || true
exit "$status"
