package view_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

// hostile is a name that would be an element if it were used as HTML.
const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// dump is a cluster in the form of kubectl get -o json.
type dump struct{ items []object }

func (d *dump) add(apiVersion, kind, namespace, name string, rest object) object {
	metadata := object{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	added := object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for field, value := range rest {
		added[field] = value
	}
	d.items = append(d.items, added)
	return added
}

func (d *dump) topology(name string, levels ...string) object {
	labels := []object{}
	for _, level := range levels {
		labels = append(labels, object{"nodeLabel": level})
	}
	return d.add("kai.scheduler/v1alpha1", "Topology", "", name, object{"spec": object{"levels": labels}})
}

func (d *dump) node(name string, gpus int, labels object, spec object) {
	if labels["kubernetes.io/hostname"] == nil {
		labels["kubernetes.io/hostname"] = name
	}
	node := d.add("v1", "Node", "", name, object{
		"spec": spec,
		"status": object{"allocatable": object{"nvidia.com/gpu": fmt.Sprint(gpus), "cpu": "64", "memory": "512Gi",
			"pods": "110"}},
	})
	node["metadata"].(object)["labels"] = labels
}

// podGroup adds a gang of one leaf, which has to stand in one domain of the level.
func (d *dump) podGroup(namespace, name string, minimum int, topology, level string) object {
	return d.add("scheduling.run.ai/v2alpha2", "PodGroup", namespace, name, object{"spec": object{
		"minMember": minimum, "topologyConstraint": object{"topology": topology, "requiredTopologyLevel": level},
	}})
}

func (d *dump) pod(namespace, name, gang, node string, gpus int) {
	phase := "Pending"
	spec := object{"containers": []object{{
		"name": "c", "image": "c", "resources": object{"requests": object{"nvidia.com/gpu": fmt.Sprint(gpus)},
			"limits": object{"nvidia.com/gpu": fmt.Sprint(gpus)}},
	}}}
	if node != "" {
		phase, spec["nodeName"] = "Running", node
	}
	pod := d.add("v1", "Pod", namespace, name, object{"spec": spec, "status": object{"phase": phase}})
	if gang != "" {
		pod["metadata"].(object)["annotations"] = object{"pod-group-name": gang}
	}
}

// event adds an event about an object, minutes after noon.
func (d *dump) event(kind, namespace, name, reason, note string, minutes int, rest object) {
	at := fmt.Sprintf("2026-01-01T12:%02d:00Z", minutes)
	event := d.add("v1", "Event", namespace, fmt.Sprintf("event-%d", len(d.items)), object{
		"involvedObject": object{"kind": kind, "namespace": namespace, "name": name},
		"type":           "Normal", "reason": reason, "message": note, "firstTimestamp": at,
		"lastTimestamp": at, "count": 1,
	})
	for field, value := range rest {
		event[field] = value
	}
}

// write returns the file with the dump.
func (d *dump) write(t *testing.T) string {
	t.Helper()
	content, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": d.items})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "dump.json")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	return file
}

const (
	zone  = "topology.kubernetes.io/zone"
	block = "example.com/block"
	rack  = "example.com/rack"
)

// small is a cluster with a gang that runs, with relations and a seat, one that cannot fit, a cordoned node, one
// without labels, and texts with markup.
func small() *dump {
	d := &dump{}
	d.topology("net", zone, rack, "kubernetes.io/hostname")
	for _, in := range []string{"r1", "r2"} {
		for i := range 3 {
			d.node(fmt.Sprintf("%s-n%d", in, i), 8, object{zone: "z", rack: in},
				object{"unschedulable": in == "r2" && i == 2})
		}
	}
	d.node("bare", 8, object{}, object{"taints": []object{{"key": "dedicated", "value": hostileTaint,
		"effect": "NoSchedule"}}})
	runs := d.podGroup("team", "runs", 4, "net", rack)
	runs["metadata"].(object)["annotations"] = object{"packtree.dev/relations": `[
		{"name":"hosts","topology":"net","level":"kubernetes.io/hostname","maxPerDomain":2},
		{"name":"racks","topology":"net","level":"example.com/rack","maxPerDomain":1,"required":false}]`}
	runs["status"] = object{
		"placement": object{"domains": 2, "fewest": "NotProved"},
		"conditions": []object{{"type": "RepairPlanned", "status": "False", "reason": "MoveNotAllowed",
			"message": "moving subgroup workers would help"}},
		"seats": []object{{"nodes": []string{"r1-n2"}, "until": "2026-01-01T00:02:00Z"}},
	}
	for i := range 4 {
		d.pod("team", fmt.Sprintf("runs-%d", i), "runs", fmt.Sprintf("r1-n%d", i/2), 4)
	}
	wide := d.podGroup("team", "wide", 4, "net", rack)
	wide["status"] = object{"reservations": []object{
		{"reason": "Overtaken", "nodes": []string{"r2-n0"}, "until": "2026-01-01T00:05:00Z"},
		{"reason": "Preempting", "nodes": []string{"r2-n0", "r2-n1"}},
	}}
	for i := range 4 {
		d.pod("team", fmt.Sprintf("wide-%d", i), "wide", "", 8)
	}
	d.pod("team", "alone", "", "r2-n0", 1)
	d.event("Pod", "team", "runs-0", "Scheduled", "assigned to r1-n0", 3, nil)
	d.event("PodGroup", "team", "runs", "Infeasible", "no rack has room: "+hostile, 1, object{
		"type": "Warning", "count": 5, "lastTimestamp": "2026-01-01T12:02:30Z",
	})
	d.event("Pod", "other", "runs-0", "Scheduled", "of another namespace", 0, nil)
	return d
}

// hostileTaint is no valid value of a taint, but the writer of a dump can put anything in it.
const hostileTaint = hostile

// large is a cluster of so many nodes of 8 GPUs in zones, blocks and racks of 18, three quarters of it used by gangs of
// 16 pods with 1 or 2 GPUs.
func large(nodes int) *dump {
	d := &dump{}
	d.topology("net", zone, block, rack, "kubernetes.io/hostname")
	names := make([]string, nodes)
	for i := range nodes {
		names[i] = fmt.Sprintf("node-%04d", i)
		in := i / 18
		labels := object{zone: fmt.Sprintf("zone-%d", in/56), block: fmt.Sprintf("block-%d", in/8%7),
			rack: fmt.Sprintf("rack-%d", in%8)}
		d.node(names[i], 8, labels, object{"unschedulable": i%97 == 13})
	}
	// Four pods a node, and from time to time a rack with room.
	for g := 0; (g+1)*4 <= nodes; g++ {
		name := fmt.Sprintf("train-%04d", g)
		d.podGroup(fmt.Sprintf("team-%d", g%9), name, 16, "net", block)
		for p := range 16 {
			gpus := 1 + (g/3+p)%2
			node := names[g*4+p/4]
			if g%41 == 7 {
				node = ""
			}
			d.pod(fmt.Sprintf("team-%d", g%9), fmt.Sprintf("%s-%d", name, p), name, node, gpus)
		}
	}
	return d
}
