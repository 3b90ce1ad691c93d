#!/usr/bin/env bash
# Builds the named tools (without names: what the dev cluster and the tests run) into bin/tools, from the modules that the `tool` lines of go.mod pin,
# here or, for a tool with other versions of what it needs, in a folder of its name.
# Nothing is downloaded but Go modules, so what runs is what go.sum says. One that was made by this Go from its go.mod is left as it is.
# With KUBERNETES=1.35.4 it builds the control plane of that version into bin/tools-1.35.4, from Kubernetes' own go.mod: etcd is the one that this version is
# tested with, and sums come from the checksum database.
set -euo pipefail
cd "$(dirname "$0")"
into=$(cd ../.. && pwd)/bin/tools
if [ $# = 0 ]; then set -- etcd kube-apiserver kube-controller-manager kubectl kwok helm kueue; fi
root=.
if [ -n "${KUBERNETES:-}" ]; then
	env -u KUBERNETES "$PWD/build.sh" kubectl kwok helm kueue
	into+=-$KUBERNETES
	root=$into/.module
	mkdir -p "$root"
	ln -sf ../tools/{kubectl,kwok,helm} "$into/"
	set -- etcd kube-apiserver kube-controller-manager
	if [ ! -f "$root/go.mod" ]; then
		origin=$(GOWORK=off go mod download -json "k8s.io/kubernetes@v$KUBERNETES" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
		# Instead of the folders of a clone it requires the modules that Kubernetes publishes of them.
		{
			sed -e 's|^module .*|module packtree.dev/e2e/tools/kubernetes|' -e "s|^\(\tk8s.io/[^ ]*\) v0.0.0$|\1 v0.${KUBERNETES#1.}|" -e '/^replace (/,/^)/d' "$origin"
			printf 'require k8s.io/kubernetes v%s\ntool (\n\tgo.etcd.io/etcd/server/v3\n' "$KUBERNETES"
			printf '\tk8s.io/kubernetes/cmd/%s\n' "${@:2}"
			echo ')'
		} >"$root/unfinished"
		mv "$root/unfinished" "$root/go.mod"
	fi
	export GOFLAGS="${GOFLAGS:-} -mod=mod"
fi

# The folder of the module that pins a tool.
module() { if [ -f "$1/go.mod" ]; then echo "$1"; else echo "$root"; fi; }

# The programs' own names by import path: etcd's main package is its server module.
package() {
	sed -n -e '/^tool (/,/^)/s/^\t//p' -e 's/^tool \([^(]\)/\1/p' "$(module "$1")/go.mod" | awk -v name="$1" '{n = $1; sub(/\/v[0-9]+$/, "", n); sub(/.*\//, "", n); sub(/^server$/, "etcd", n)} n == name'
}
version() { awk -v module="$1" '$1 == module {print $2}' go.mod; }

# As their own release builds stamp them. Built from the module cache without, Kubernetes calls itself v0.0.0-master, with which clients compare, and helm
# renders for a cluster of v1.20. Variables that a program lacks do no harm.
kubernetes=${KUBERNETES:-$(version k8s.io/kubernetes)}
kubernetes=v${kubernetes#v}
IFS=. read -r major minor _ <<<"${kubernetes#v}"
flags="-s -w -X helm.sh/helm/v3/internal/version.version=$(version helm.sh/helm/v3)"
for stamped in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	flags+=" -X $stamped.gitVersion=$kubernetes -X $stamped.gitMajor=$major -X $stamped.gitMinor=$minor"
	flags+=" -X $stamped.gitCommit=unknown -X $stamped.gitTreeState=clean"
done
for stamped in helm.sh/helm/v3/pkg/chartutil helm.sh/helm/v3/pkg/lint/rules; do
	flags+=" -X $stamped.k8sVersionMajor=$major -X $stamped.k8sVersionMinor=$minor"
done

made() { echo "$(go env GOVERSION) $flags $(cksum <"$(module "$1")/go.mod")"; }
missing() {
	for name in "$@"; do
		if [ ! -x "$into/$name" ] || [ "$(made "$name")" != "$(cat "$into/.made/$name" 2>/dev/null)" ]; then echo "$name"; fi
	done
}

for name in "$@"; do
	if [ -z "$(package "$name")" ]; then
		echo "tools: go.mod has no tool $name" >&2
		exit 1
	fi
done
if [ -z "$(missing "$@")" ]; then exit 0; fi
mkdir -p "$into/.made"
# Concurrent calls take turns, where there is flock.
exec 9>"$into/.lock"
if command -v flock >/dev/null; then flock 9; fi
unfinished=$into/.building
rm -rf "$unfinished"
trap 'rm -rf "$unfinished"' EXIT
read -r -a names <<<"$(missing "$@" | tr '\n' ' ')"
if [ ${#names[@]} = 0 ]; then exit 0; fi
echo "Building from source into $into: ${names[*]}. The first time this compiles Kubernetes and takes minutes." >&2
# One call of the compiler makes all of a module: common packages are compiled once, and while one tool is linked the next is compiled.
mkdir "$unfinished"
for module in $(for name in "${names[@]}"; do module "$name"; done | sort -u); do
	packages=()
	for name in "${names[@]}"; do
		if [ "$(module "$name")" = "$module" ]; then packages+=("$(package "$name")"); fi
	done
	GOWORK=off CGO_ENABLED=0 go build -C "$module" -ldflags "$flags" -o "$unfinished/" "${packages[@]}" 9>&-
done
# Renamed, so that others find a whole binary or none.
for name in "${names[@]}"; do
	built=$unfinished/$name
	if [ "$name" = etcd ]; then built=$unfinished/server; fi
	mv "$built" "$into/$name"
	made "$name" >"$into/.made/$name"
done
