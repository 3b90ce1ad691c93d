package catalog_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
)

// framework simulates how an operator makes the pods of a workload.
type framework struct {
	kind schema.GroupVersionKind
	// draw returns a workload as a user may write it, and the labels of the pods that the operator makes while none of
	// them has a node.
	draw func(t *rapid.T) (workload grouping.Fields, annotations map[string]string, pods []map[string]string)
}

var frameworks = map[string]framework{
	"JobSet": {schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"},
		drawJobSet},
	"LeaderWorkerSet": {schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1",
		Kind: "LeaderWorkerSet"}, drawLeaderWorkerSet},
	"RayCluster": {schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}, drawRayCluster},
	"PyTorchJob": {schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}, drawPyTorchJob},
	"MPIJob":     {schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}, drawMPIJob},
}

// TestNoGangWaitsForPodsThatAreNotMade: the pods that the framework makes before any of them has a node satisfy the
// minima, whatever the workload, and each of the pods has its group.
func TestNoGangWaitsForPodsThatAreNotMade(t *testing.T) {
	for name, framework := range frameworks {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				content, annotations, pods := framework.draw(t)
				workload := grouping.Workload{Owner: grouping.Owner{
					Object: &metav1.ObjectMeta{Name: "w", Annotations: annotations}, Kind: framework.kind,
					Content: content,
				}}
				spec := catalog.For(workload.Owner).Group(workload).PodGroupSpec()
				tree, errs := podgrouptree.New(&spec)
				if errs = append(errs, podgrouptree.ValidateCreate(&spec)...); len(errs) > 0 {
					t.Fatalf("the API server would not take it: %v", errs)
				}
				made := map[string]int{}
				for _, labels := range pods {
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: labels}}
					leaf, known := catalog.For(workload.Owner).LeafOf(workload, pod)
					require.True(t, known, "a pod with %v has no group: %q (%t)", labels, leaf, known)
					require.NotNil(t, tree.Leaf(leaf), "a pod with %v has no group: %q (%t)", labels, leaf, known)
					made[leaf]++
				}
				require.True(t, tree.Root.Satisfied(func(leaf *podgrouptree.Group) int { return made[leaf.Name] }),
					"with %v it waits for ever: %+v", made, spec)
			})
		})
	}
}

func chance(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

func upTo(t *rapid.T, label string, most int) int64 {
	return int64(rapid.IntRange(0, most).Draw(t, label))
}

func drawJobSet(t *rapid.T) (grouping.Fields, map[string]string, []map[string]string) {
	var entries []any
	var pods []map[string]string
	ordered := chance(t, "in order")
	exclusive := chance(t, "exclusive")
	// Jobs of the first entry, and of all entries before: an entry without Jobs is not waited for.
	var first, before int64
	for i := range rapid.IntRange(1, 3).Draw(t, "entries") {
		name := fmt.Sprintf("rj%d", i)
		replicas, parallelism, completions := upTo(t, "replicas", 3), upTo(t, "parallelism", 4),
			upTo(t, "completions", 6)
		spec := map[string]any{"parallelism": parallelism, "completions": completions}
		entry := map[string]any{"name": name, "replicas": replicas, "template": map[string]any{"spec": spec}}
		made := min(parallelism, completions)
		if exclusive {
			made = min(made, 1)
		}
		switch {
		case ordered && before > 0:
			made = 0
		case !ordered && i > 0 && chance(t, "depends"):
			entry["dependsOn"] = []any{
				map[string]any{"name": "rj0", "status": rapid.SampledFrom([]string{"Ready", "Complete"}).Draw(
					t, "status")},
			}
			if first > 0 {
				made = 0
			}
		}
		if i == 0 {
			first = replicas
		}
		before += replicas
		entries = append(entries, entry)
		for job := range replicas {
			for range made {
				pods = append(pods, map[string]string{
					"jobset.sigs.k8s.io/replicatedjob-name": name,
					"jobset.sigs.k8s.io/job-index":          strconv.FormatInt(job, 10),
				})
			}
		}
	}
	spec := map[string]any{"replicatedJobs": entries}
	if ordered {
		spec["startupPolicy"] = map[string]any{"startupPolicyOrder": "InOrder"}
	}
	annotations := map[string]string{}
	if exclusive {
		annotations["alpha.jobset.sigs.k8s.io/exclusive-topology"] = "rack"
	}
	return grouping.Fields{"spec": spec}, annotations, pods
}

func drawLeaderWorkerSet(t *rapid.T) (grouping.Fields, map[string]string, []map[string]string) {
	replicas, size, surge := upTo(t, "replicas", 3), upTo(t, "size", 8)+1, upTo(t, "surge", 4)
	template := map[string]any{"size": size}
	spec := map[string]any{"replicas": replicas, "leaderWorkerTemplate": template}
	subGroup, excluded := int64(0), false
	if chance(t, "subgroups") {
		// The framework accepts sizes that divide the number of all pods, or of all but the leader.
		var sizes []int64
		for divisor := int64(1); divisor <= size; divisor++ {
			if size%divisor == 0 || (size-1)%divisor == 0 {
				sizes = append(sizes, divisor)
			}
		}
		subGroup = rapid.SampledFrom(sizes).Draw(t, "subgroup size")
		excluded = (size-1)%subGroup == 0 && chance(t, "excluded")
		policy := map[string]any{"subGroupSize": subGroup}
		if excluded {
			policy["subGroupPolicyType"] = "LeaderExcluded"
		}
		template["subGroupPolicy"] = policy
	}
	annotations := map[string]string{}
	leaderFirst := chance(t, "leader first")
	if leaderFirst {
		if chance(t, "exclusive") {
			annotations["leaderworkerset.sigs.k8s.io/exclusive-topology"] = "rack"
		} else {
			spec["startupPolicy"] = "LeaderReady"
		}
	}
	groups := replicas
	if surge > 0 {
		spec["rolloutStrategy"] = map[string]any{"rollingUpdateConfiguration": map[string]any{"maxSurge": surge}}
		if chance(t, "rolling out") {
			groups += min(surge, replicas)
		}
	}
	var pods []map[string]string
	for group := range groups {
		for worker := range size {
			if worker > 0 && leaderFirst {
				break
			}
			labels := map[string]string{
				"leaderworkerset.sigs.k8s.io/group-index":  strconv.FormatInt(group, 10),
				"leaderworkerset.sigs.k8s.io/worker-index": strconv.FormatInt(worker, 10),
			}
			if index, in := subGroupOf(worker, size, subGroup, excluded); in {
				labels["leaderworkerset.sigs.k8s.io/subgroup-index"] = strconv.FormatInt(index, 10)
			}
			pods = append(pods, labels)
		}
	}
	return grouping.Fields{"spec": spec}, annotations, pods
}

// subGroupOf is how the framework numbers subgroups.
func subGroupOf(worker, size, subGroup int64, excluded bool) (int64, bool) {
	switch {
	case subGroup == 0 || worker == 0 && excluded:
		return 0, false
	case worker == 0:
		return 0, true
	case (size-1)%subGroup == 0:
		return (worker - 1) / subGroup, true
	default:
		return worker / subGroup, true
	}
}

func drawRayCluster(t *rapid.T) (grouping.Fields, map[string]string, []map[string]string) {
	pods := []map[string]string{{"ray.io/group": "headgroup", "ray.io/node-type": "head"}}
	scaled := chance(t, "autoscaling")
	var groups []any
	for i := range rapid.IntRange(0, 3).Draw(t, "groups") {
		name := fmt.Sprintf("g%d", i)
		replicas, least, most, hosts := upTo(t, "replicas", 6), upTo(t, "least", 4), upTo(t, "most", 6),
			upTo(t, "hosts", 2)+1
		group := map[string]any{"groupName": name, "replicas": replicas, "minReplicas": least, "maxReplicas": most,
			"numOfHosts": hosts}
		made := min(max(replicas, least), most)
		if scaled {
			// The autoscaler may remove replicas above the minimum.
			made = min(made, least)
		}
		if chance(t, "suspend") {
			group["suspend"], made = true, 0
		}
		groups = append(groups, group)
		for range made * hosts {
			pods = append(pods, map[string]string{"ray.io/group": name, "ray.io/node-type": "worker"})
		}
	}
	spec := map[string]any{"enableInTreeAutoscaling": scaled, "headGroupSpec": map[string]any{},
		"workerGroupSpecs": groups}
	return grouping.Fields{"spec": spec}, nil, pods
}

func drawPyTorchJob(t *rapid.T) (grouping.Fields, map[string]string, []map[string]string) {
	masters, workers := upTo(t, "masters", 1), upTo(t, "workers", 6)
	specs := map[string]any{"Master": map[string]any{"replicas": masters},
		"worker": map[string]any{"replicas": workers}}
	spec := map[string]any{"pytorchReplicaSpecs": specs}
	if chance(t, "elastic") {
		spec["elasticPolicy"] = map[string]any{"minReplicas": upTo(t, "least", 8) - 1}
	}
	if chance(t, "policy") {
		spec["runPolicy"] = map[string]any{"schedulingPolicy": map[string]any{"minAvailable": upTo(t,
			"available", 9) - 1}}
	}
	return grouping.Fields{"spec": spec}, nil, append(replicaTyped("master", masters),
		replicaTyped("worker", workers)...)
}

func replicaTyped(name string, count int64) []map[string]string {
	var pods []map[string]string
	for range count {
		pods = append(pods, map[string]string{"training.kubeflow.org/replica-type": name})
	}
	return pods
}

func drawMPIJob(t *rapid.T) (grouping.Fields, map[string]string, []map[string]string) {
	worker := map[string]any{}
	workers := upTo(t, "workers", 6)
	if workers > 0 {
		worker["replicas"] = workers
	}
	spec := map[string]any{
		"runLauncherAsWorker": chance(t, "works"),
		"mpiReplicaSpecs":     map[string]any{"Launcher": map[string]any{}, "Worker": worker},
	}
	launchers := int64(1)
	if chance(t, "last") {
		spec["launcherCreationPolicy"], launchers = "WaitForWorkersReady", 0
	}
	if chance(t, "policy") {
		spec["runPolicy"] = map[string]any{"schedulingPolicy": map[string]any{"minAvailable": upTo(t, "available", 8)}}
	}
	var pods []map[string]string
	for role, count := range map[string]int64{"launcher": launchers, "worker": workers} {
		for range count {
			pods = append(pods, map[string]string{"training.kubeflow.org/job-role": role})
		}
	}
	return grouping.Fields{"spec": spec}, nil, pods
}
