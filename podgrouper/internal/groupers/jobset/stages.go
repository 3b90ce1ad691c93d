package jobset

import "packtree.dev/podgrouper/internal/grouping"

// stage is how far the Jobs of one entry of the JobSet are.
type stage struct {
	// begun says that the Jobs are made, or are about to be.
	begun bool
	// complete is how many of them are, open how many are left.
	complete, open int32
}

// stagesOf returns how far the entries of a JobSet are, in their order. Entries that depend on others, or come after them in
// the JobSet's order, begin when its status says that the others are as far as that; until then it does not make their Jobs.
func stagesOf(jobSet grouping.Fields) []stage {
	statuses := map[string]grouping.Fields{}
	for _, status := range jobSet.List("status", "replicatedJobsStatus") {
		statuses[status.Text("name")] = status
	}
	entries := jobSet.List("spec", "replicatedJobs")
	replicas := map[string]int32{}
	for _, entry := range entries {
		replicas[entry.Text("name")] = entry.Count(1, "replicas")
	}
	ordered := jobSet.Text("spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
	stages := make([]stage, len(entries))
	inTurn := true
	for i, entry := range entries {
		name := entry.Text("name")
		status := statuses[name]
		complete := min(status.Count(0, "succeeded"), replicas[name])
		awaited := ordered && !inTurn
		for _, dependency := range entry.List("dependsOn") {
			other := dependency.Text("name")
			awaited = awaited || !reached(statuses[other], dependency.Text("status"), replicas[other])
		}
		stages[i] = stage{begun: !awaited || running(status), complete: complete, open: replicas[name] - complete}
		inTurn = inTurn && reached(status, "Ready", replicas[name])
	}
	return stages
}

// reached reports whether all Jobs of an entry are as far as the state says, which is Ready or Complete. Jobs that are over
// count as ready.
func reached(status grouping.Fields, state string, replicas int32) bool {
	count := status.Count(0, "succeeded")
	if state == "Ready" {
		count += status.Count(0, "ready") + status.Count(0, "failed")
	}
	return count >= replicas
}

// running reports whether there are Jobs of an entry. What has begun does not wait again when something that it depended on
// is no longer ready.
func running(status grouping.Fields) bool {
	return status.Count(0, "active")+status.Count(0, "ready")+status.Count(0, "succeeded")+status.Count(0, "failed") > 0
}
