#!/usr/bin/env bash
# The image of a node of kind, of Debian packages and of the programs that go.mod files pin, for where no registry can be reached:
#
#   node.sh name      what the image is called; the name changes with all that goes into it
#   node.sh prepare   builds what goes into it, by compiler and apt (root, network)
#   node.sh image     makes the image in a Docker that may have neither network nor compiler; where it is, nothing is done
#
# kube-proxy, the pods' network and its policies are services of the node.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=e2e/tools/kind/setup.sh
. "$here/setup.sh"
root=$(cd "$here/../../.." && pwd)
bin=$root/bin/tools
kubernetes=$(sed -n 's/^\tk8s.io\/kubernetes \(v[^ ]*\).*/\1/p' "$here/../go.mod")
debs=systemd,systemd-sysv,dbus,conntrack,iptables,nftables,iproute2,ethtool,kmod,libseccomp2,mount,pigz,e2fsprogs,ca-certificates,curl,jq,procps,runc
debs+=,socat,hostname,busybox-static
# The newest Debian with a systemd that knows cgroup v1.
debian=bookworm
# Pods of the node's own, which kubeadm writes, are of these programs.
pods="etcd kube-apiserver kube-controller-manager kube-scheduler coredns"

key=$(cat "$here"/go.sum "$here"/node.sh "$here"/node/* "$here"/pause/* "$here"/coredns/* "$here"/policies/* "$here"/../go.sum "$here"/../build.sh | sha256sum | cut -c 1-12)
name=packtree-node:$kubernetes-$key
prepared=$cache/node-$key

programs() {
	local kind_of_go=(env GOWORK=off CGO_ENABLED=0 go -C "$here" build -ldflags '-s -w' -o "$1/")
	"${kind_of_go[@]}" tool ./pause ./coredns ./policies
	"$here/../build.sh" kubelet kubeadm kube-proxy kube-scheduler kubectl etcd kube-apiserver kube-controller-manager
}

# archives makes an image of each program that runs in pods of the node. kubeadm says what they are called, and kind's configuration of containerd what
# pause is called.
archives() {
	local directory=$1 image program arguments=()
	for image in $("$bin/kubeadm" config images list --kubernetes-version "$kubernetes" 2>/dev/null); do
		program=${image##*/}
		program=${program%%:*}
		case " $pods " in
		*" $program "*)
			if [ -f "$directory/bin/$program" ]; then arguments+=("$image=$directory/bin/$program"); else arguments+=("$image=$bin/$program"); fi
			;;
		esac
	done
	image=$(sed -n 's/^ *sandbox_image = "\(.*\)"$/\1/p' "$directory/kind/etc/containerd/config.toml")
	arguments+=("$image=$directory/bin/pause")
	go -C "$root/e2e" run ./cmd/images -o "$directory/images" "${arguments[@]}"
}

# The hooks of mmdebstrap run with the root of the file system as $1.
root_file_system() {
	local directory=$1
	mkdir -p "$directory/overlay/usr/bin" "$directory/overlay/usr/local/bin" "$directory/overlay/opt/cni/bin" \
		"$directory/overlay/kind/manifests" "$directory/overlay/etc/systemd/system" "$directory/overlay/etc/kubernetes/manifests"
	cp -r "$directory/kind/." "$directory/overlay/"
	cp "$bin"/{kubelet,kubeadm,kubectl,kube-proxy} "$directory/overlay/usr/bin/"
	cp "$directory"/bin/{containerd,ctr,containerd-shim-runc-v2,policies} "$here/node/pod-network" "$directory/overlay/usr/local/bin/"
	cp "$directory"/bin/{host-local,loopback,portmap,ptp} "$directory/overlay/opt/cni/bin/"
	cp "$here"/node/*.service "$directory/overlay/etc/systemd/system/"
	cp "$here"/node/*.yaml "$directory/overlay/kind/manifests/"
	printf %s "$kubernetes" >"$directory/overlay/kind/version"
	chmod -R u+w,go-w,a+rX "$directory/overlay"
	chmod 755 "$directory"/overlay/usr/bin/* "$directory"/overlay/usr/local/bin/* "$directory"/overlay/opt/cni/bin/* "$directory"/overlay/kind/bin/*
	mmdebstrap --quiet --mode=root --variant=minbase --include="$debs" \
		--customize-hook="tar -C '$directory/overlay' -c --owner=0 --group=0 . | tar -x --keep-directory-symlink -C \"\$1\"" \
		--customize-hook="$here/node/settle \"\$1\"" "$debian" "$directory/rootfs.tar"
	rm -r "$directory/overlay"
}

prepare() {
	mkdir -p "$cache"
	# Two checkouts may ask for the same.
	exec 8>"$cache/prepare.lock"
	flock 8
	if [ -f "$prepared/done" ]; then
		touch "$prepared"
		return 0
	fi
	require mmdebstrap=mmdebstrap
	# Earlier ones are of no use any more, unless another checkout is at work with one.
	find "$cache" -maxdepth 1 -name 'node-*' -mmin +180 -exec rm -rf {} +
	rm -rf "$prepared"
	has_room 3000
	mkdir -p "$prepared/bin" "$prepared/images"
	programs "$prepared/bin"
	cp -r "$(GOWORK=off go -C "$here" list -m -f '{{.Dir}}' sigs.k8s.io/kind)/images/base/files" "$prepared/kind"
	chmod -R u+w "$prepared/kind"
	archives "$prepared"
	[ "$(id -u)" = 0 ] || fail "only root can make the node's file system; E2E_KIND_IMAGE names an image that is there"
	root_file_system "$prepared" || fail "mmdebstrap could not make the node's file system"
	tar -xOf "$prepared/rootfs.tar" ./usr/bin/busybox >"$prepared/bin/busybox"
	touch "$prepared/done"
}

image() {
	local container archive
	! docker image inspect "$name" >/dev/null 2>&1 || return 0
	[ -f "$prepared/done" ] || fail "run '$0 prepare' first"
	docker import -c 'ENV container=docker' "$prepared/rootfs.tar" "$name-bare" >/dev/null
	# containerd itself stores the images, in a container that becomes the node's image.
	container=$(docker run -d --network none --security-opt seccomp=unconfined -v "$prepared/images:/images:ro" --entrypoint containerd "$name-bare")
	until docker exec "$container" ctr version >/dev/null 2>&1; do
		[ "$(docker inspect -f '{{.State.Running}}' "$container")" = true ] || fail "containerd ended: $(docker logs "$container" 2>&1 | tail -n 1)"
		sleep 0.2
	done
	for archive in "$prepared"/images/*.tar; do
		docker exec "$container" ctr -n k8s.io images import --no-unpack "/images/${archive##*/}" >/dev/null
	done
	docker stop "$container" >/dev/null
	docker commit -c 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' -c 'CMD []' "$container" "$name" >/dev/null
	docker rm -fv "$container" >/dev/null
	docker rmi "$name-bare" >/dev/null
	# Earlier ones, unless a node runs from one.
	docker images --format '{{.Repository}}:{{.Tag}}' "${name%:*}" | grep -vxF "$name" | xargs -r docker rmi >/dev/null 2>&1 || true
}

case ${1:-} in
name) echo "$name" ;;
prepared) echo "$prepared" ;;
prepare | image) "$1" ;;
*) fail "say name, prepare or image" ;;
esac
