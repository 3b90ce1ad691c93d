#!/usr/bin/env bash
# Runs a program, a test of the suite kind as it is, where nodes of kind can be made:
#
#   e2e.sh COMMAND [ARGUMENT...]
#   e2e.sh possible   reports whether `make test` is to run it here, and says so in one line if not: E2E_KIND_UNTIL, if set, is the last second
#                     since 1970 at which it may start
#
# Nodes are of E2E_KIND_IMAGE: one that Docker has or can pull. Unless given it is one that node.sh makes for root; for others it is "default", the one
# that kind itself names. E2E_KIND_CONFIG is a configuration of kind in place of the suite's own. The programs are those in bin.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
archives=$root/dist/kind
user=65532:65532

if [ "${1:-}" = possible ]; then
	if [ "$(date +%s)" -gt "${E2E_KIND_UNTIL:-$(date +%s)}" ]; then
		echo "skipped: e2e/suites/kind, real nodes: the run has too little time left for them; 'make e2e-kind' runs it"
		exit 1
	fi
	if [ -n "${E2E_KIND_IMAGE:-}" ]; then exit 0; fi
	if command -v apt-get >/dev/null && unshare --net --mount --pid --fork true 2>/dev/null; then exit 0; fi
	echo "skipped: e2e/suites/kind, real nodes; it takes root on Debian, or a Docker and E2E_KIND_IMAGE: 'make e2e-kind' runs it"
	exit 1
fi
if [ $# = 0 ]; then
	echo "e2e.sh: say which program is to run" >&2
	exit 1
fi

export GOWORK=off CGO_ENABLED=0
if [ "$(id -u)" != 0 ]; then export E2E_KIND_IMAGE=${E2E_KIND_IMAGE:-default}; fi
if [ -n "${E2E_KIND_IMAGE:-}" ]; then
	go -C "$here" build -ldflags '-s -w' -o "$root/bin/tools/kind" sigs.k8s.io/kind
else
	"$here/node.sh" prepare
	cp "$("$here/node.sh" prepared)/bin/kind" "$root/bin/tools/"
fi
rm -rf "$archives"
references=()
for program in dynamo-operator grove-operator grove-startup podgrouper kai-topology-plugin; do
	chart=$root/charts/$program/Chart.yaml
	[ -f "$chart" ] || chart=$root/charts/grove-operator/Chart.yaml
	# As the quick start calls it.
	references+=("registry.example/team/packtree/$program:$(sed -n 's/^appVersion: "\(.*\)"$/\1/p' "$chart")=$root/bin/$program")
done
go -C "$root/e2e" run ./cmd/images -o "$archives" -user "$user" "${references[@]}"
# What serves a request where no GPU is, and what offers devices where none are.
go -C "$root/e2e" build -ldflags '-s -w' -o "$root/bin/" ./cmd/engine ./cmd/devices
go -C "$root/e2e" run ./cmd/images -o "$archives" -user "$user" "engine:1=$root/bin/engine" "devices:1=$root/bin/devices"
if [ -z "${E2E_KIND_IMAGE:-}" ]; then
	# What the pods of the quick start run, of the same family as the image that they name.
	go -C "$root/e2e" run ./cmd/images -o "$archives" -user "$user" -links sleep,sh,nslookup,nc "busybox:1.37=$("$here/node.sh" prepared)/bin/busybox"
fi
# A Prometheus that looks for what it reads in Kubernetes alone, and what our dashboards and alerts would ask it.
go -C "$here/../promql" build -tags remove_all_sd,enable_kubernetes_sd -ldflags '-s -w' -o "$root/bin/tools/prometheus" github.com/prometheus/prometheus/cmd/prometheus
go -C "$root/e2e" run ./cmd/images -o "$archives" -user "$user" "packtree-test/prometheus:local=$root/bin/tools/prometheus"
go -C "$here/../promql" run . "$root/charts" >"$archives/queries.json"
# Compiled here: where it runs there may be no network to fetch modules by.
go -C "$root/e2e" test -c -vet=off -o "$root/bin/docs.test" ./suites/docs
if [ -n "${E2E_KIND_IMAGE:-}" ]; then exec "$here/docker.sh" "$@"; fi
E2E_KIND_IMAGE=$("$here/node.sh" name)
export E2E_KIND_IMAGE
# shellcheck disable=SC2016 # the inner shell expands them
exec "$here/docker.sh" bash -c '"$0" image && exec "$@"' "$here/node.sh" "$@"
