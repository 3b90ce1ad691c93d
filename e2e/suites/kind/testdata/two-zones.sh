# Gives a node's kubelet two NUMA zones, whatever the machine has, of which the second has the last CPU; and has it align
# pods, the first CPU reserved. With the argument "undo" all is as before.
set -e
nodes=/sys/devices/system/node
flags=/var/lib/kubelet/kubeadm-flags.env
if [ "$1" = undo ]; then
	[ -d /zones ] || exit 0
	mv /zones/flags "$flags"
	umount "$nodes" /zones
	rmdir /zones
else
	mkdir /zones
	mount -t tmpfs zones /zones
	cp "$flags" /zones/flags
	last=$(ls -d /sys/devices/system/cpu/cpu[0-9]* | sort -V | tail -n 1)
	for zone in 0 1; do
		mkdir /zones/node$zone
		cp "$nodes/node0/meminfo" /zones/node$zone/
	done
	echo 10 20 >/zones/node0/distance
	echo 20 10 >/zones/node1/distance
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		if [ "$cpu" = "$last" ]; then zone=1; else zone=0; fi
		ln -s "$cpu" /zones/node$zone/
	done
	mount --bind /zones "$nodes"
	policies="--topology-manager-policy=single-numa-node --topology-manager-scope=pod --cpu-manager-policy=static"
	sed -i "s/\"\$/ $policies --kube-reserved=cpu=100m\"/" "$flags"
fi
# Of another policy.
rm -f /var/lib/kubelet/cpu_manager_state
systemctl restart kubelet
