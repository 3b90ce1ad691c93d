package remedies_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// drawing makes a cluster in which gang ask waits, or does not.
type drawing struct {
	*rapid.T
	text strings.Builder
	// names of the nodes, and what is free of them.
	nodes []string
	free  map[string]int
}

// one draws one of several texts.
func (d *drawing) one(what string, of ...string) string { return rapid.SampledFrom(of).Draw(d.T, what) }

func (d *drawing) number(what string, low, high int) int {
	return rapid.IntRange(low, high).Draw(d.T, what)
}

// drawCluster is a small cluster as ordinary ones are: nodes of several sizes in racks of two zones, some of them
// cordoned, tainted or broken; gangs and single pods that run, of several priorities; and the gang that asks.
func drawCluster(t *rapid.T) string {
	d := &drawing{T: t, free: map[string]int{}}
	d.text.WriteString(topology)
	for i := range d.number("nodes", 1, 5) {
		d.node(fmt.Sprint("n", i))
	}
	d.running()
	d.asks()
	return d.text.String()
}

func (d *drawing) node(name string) {
	zone := d.one("zone", "z1", "z1", "z2")
	gpus := d.number("GPUs", 1, 4)
	spec := d.one("spec of node", "", "", "", "", "taints: [{key: team, value: a, effect: NoSchedule}]",
		"taints: [{key: team, value: b, effect: NoExecute}]", "taints: [{key: soft, effect: PreferNoSchedule}]",
		cordon, "unschedulable: true", "taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]",
		"taints: [{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}, {key: team, value: a, effect: NoSchedule}]")
	text := specified(node(zone, zone+d.one("rack", "r1", "r2"), name, gpus), spec)
	disk := d.one("disk", "", "disk: ssd, ", "disk: nvme, ")
	d.text.WriteString(strings.Replace(text, "labels: {", "labels: {"+disk, 1))
	d.nodes, d.free[name] = append(d.nodes, name), gpus
}

// take puts a pod on a node that has room for it, and returns its GPUs; 0 if there is none.
func (d *drawing) take(most int) (name string, gpus int) {
	name = d.one("node of pod", d.nodes...)
	gpus = min(d.number("GPUs of pod", 1, most), d.free[name])
	d.free[name] -= gpus
	return name, gpus
}

// running are gangs and pods that have room.
func (d *drawing) running() {
	d.text.WriteString(podGroup("wide", "minMember: 1") + podGroup("firm", "minMember: 2") +
		podGroup("spared", "minMember: 1, preemptibility: non-preemptible"))
	priority := map[string]int{
		"": 3, "wide": d.number("priority of wide", 0, 4), "firm": d.number("priority of firm", 0, 4),
	}
	for i := range d.number("pods that run", 0, 5) {
		on, gpus := d.take(3)
		if gpus == 0 {
			continue
		}
		of := d.one("gang", "", "wide", "firm", "firm", "spared")
		text := pod(fmt.Sprint("p", i), of, "", gpus, fmt.Sprintf("nodeName: %s, priority: %d,", on, priority[of]))
		switch {
		case of == "" && d.number("of a DaemonSet", 0, 4) == 0:
			text = strings.Replace(text, "metadata: {", "metadata: {ownerReferences: [{apiVersion: apps/v1, "+
				"kind: DaemonSet, name: agents, uid: agents, controller: true}], ", 1)
		case d.number("leaves", 0, 5) == 0:
			text = strings.Replace(text, "metadata: {", `metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", `, 1)
		}
		d.text.WriteString(text)
	}
}

func required(level string) string {
	if level == "" {
		return ""
	}
	return ", topologyConstraint: {topology: t, requiredTopologyLevel: " + level + "}"
}

// asks is the gang that asks: pods alike, a leader with workers, or replicas that are alike.
func (d *drawing) asks() {
	spec := d.one("wishes", "", "", "", "nodeSelector: {disk: ssd},", "nodeSelector: {disk: ssd, l/zone: z1},",
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "+
			"[{matchExpressions: [{key: disk, operator: Exists}]}]}}},",
		"tolerations: [{key: team, operator: Exists}],") + fmt.Sprintf(" priority: %d,", d.number("priority", 0, 5))
	around := d.one("level of the gang", "", "", "l/zone", "l/rack", "kubernetes.io/hostname")
	relation := d.one("relation", "", "", "", `[{"name":"racks","topology":"t","level":"l/rack","maxPerDomain":1}]`,
		`[{"name":"hosts","topology":"t","level":"kubernetes.io/hostname","maxPerDomain":2},`+
			`{"name":"zones","topology":"t","level":"l/zone","maxPerDomain":2}]`)
	var groups []string
	number := func(what string) int { return d.number(what, 1, 4) }
	switch d.one("gang", "alike", "alike", "leader", "replicas") {
	case "leader":
		inside := d.one("level of the workers", around, around, "kubernetes.io/hostname")
		workers := number("workers")
		groups = []string{
			"{name: leader, minMember: 1}", fmt.Sprintf("{name: workers, minMember: %d%s}", workers, required(inside)),
		}
		d.members("leader", 1, d.number("GPUs of the leader", 0, 2), spec)
		d.members("workers", workers, d.number("GPUs of a worker", 1, 4), spec)
	case "replicas":
		inside := d.one("level of a replica", "l/rack", "kubernetes.io/hostname")
		size, gpus := d.number("size", 1, 2), d.number("GPUs of a replica", 1, 4)
		for _, name := range []string{"a", "b", "c"} {
			groups = append(groups, fmt.Sprintf("{name: %s, minMember: %d%s}", name, size, required(inside)))
			d.members(name, size, gpus, spec)
		}
		around = d.one("level around", "", "l/zone")
	default:
		minimum := number("minimum")
		d.members("", minimum+d.number("further", 0, 1), d.number("GPUs of a member", 1, 4), spec)
		d.text.WriteString(relatedIf("ask", relation, fmt.Sprintf("minMember: %d%s", minimum, required(around))))
		return
	}
	d.text.WriteString(relatedIf("ask", relation, "subGroups: ["+strings.Join(groups, ", ")+"]"+required(around)))
}

// members are pods of the gang; of several, the first may run.
func (d *drawing) members(leaf string, number, gpus int, spec string) {
	for i := range number {
		on := ""
		if i == 0 && number > 1 && d.number("runs", 0, 3) == 0 {
			if name := d.one("its node", d.nodes...); d.free[name] >= gpus {
				d.free[name] -= gpus
				on = "nodeName: " + name + ", "
			}
		}
		d.text.WriteString(pod(fmt.Sprintf("ask%s-%d", leaf, i), "ask", leaf, gpus, on+spec))
	}
}

// relatedIf is a PodGroup with relations, if there are some.
func relatedIf(name, relations, spec string) string {
	text := podGroup(name, spec)
	if relations == "" {
		return text
	}
	return strings.Replace(text, "metadata: {name: "+name+"}",
		fmt.Sprintf("metadata: {name: %s, annotations: {packtree.dev/relations: '%s'}}", name, relations), 1)
}
