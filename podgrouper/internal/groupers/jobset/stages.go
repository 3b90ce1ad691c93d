package jobset

import "packtree.dev/podgrouper/internal/grouping"

// stage is the progress of the Jobs of one entry of the JobSet.
type stage struct {
	// begun reports whether the Jobs are made, or are about to be.
	begun bool
	// complete is how many of the Jobs are complete, open how many are left.
	complete, open int32
}

// stagesOf returns the progress of a JobSet's entries, in their order. Entries that depend on others, or come after
// them in the JobSet's order, begin when its status says that the others have come so far; until then their Jobs are
// not made.
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

// reached reports whether all Jobs of an entry have reached a state, which is Ready or Complete. Complete and failed
// Jobs count as ready.
func reached(status grouping.Fields, state string, replicas int32) bool {
	count := status.Count(0, "succeeded")
	if state == "Ready" {
		count += status.Count(0, "ready") + status.Count(0, "failed")
	}
	return count >= replicas
}

// running reports whether an entry has Jobs. An entry that has begun does not wait again when a dependency is no longer
// ready.
func running(status grouping.Fields) bool {
	return status.Count(0, "active")+status.Count(0, "ready")+status.Count(0, "succeeded")+status.Count(0, "failed") > 0
}
