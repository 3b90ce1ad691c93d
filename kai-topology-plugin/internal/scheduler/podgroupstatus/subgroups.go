package podgroupstatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	// maxDomains is how many domains of one level are listed for one group. A gang may stand in hundreds of racks,
	// and of hosts in thousands, and an object must stay small enough to be stored, sent and read.
	maxDomains = 32
	// maxListed is how many are listed in the whole PodGroup, if it has so many groups that even maxDomains each is
	// too much.
	maxListed = 2048
)

// subGroups returns where each group stands.
func subGroups(observed Observed, now metav1.Time) []scheduling.SubGroupStatus {
	groups := observed.Groups
	limit := domainLimit(groups)
	var done map[string]int
	since := map[string]*metav1.Time{}
	if len(groups) > 0 {
		done = observed.Gang.DonePods()
		for _, group := range observed.Gang.Leftovers() {
			since[group.Name] = &now
		}
		for _, said := range observed.Gang.PodGroup.Status.SubGroups {
			if since[said.Name] != nil && said.BelowMinimumSince != nil {
				since[said.Name] = said.BelowMinimumSince
			}
		}
	}
	statuses := make([]scheduling.SubGroupStatus, 0, len(groups))
	for _, group := range groups {
		status := scheduling.SubGroupStatus{
			Name: group.Name, Scheduled: int32(group.Placed), MinMember: int32(group.Needed),
			Succeeded: int32(done[group.Name]), BelowMinimumSince: since[group.Name],
		}
		for level, domains := range group.Domains {
			listDomains(&status, level, domains, limit)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// domainLimit returns how many domains of each level of each group can be listed.
func domainLimit(groups []solve.Group) int {
	lists := 0
	for _, group := range groups {
		for _, domains := range group.Domains {
			if len(domains) > 0 {
				lists++
			}
		}
	}
	return min(maxDomains, max(1, maxListed/max(1, lists)))
}

func listDomains(status *scheduling.SubGroupStatus, level string, domains []string, limit int) {
	if len(domains) == 0 {
		return
	}
	if status.Domains == nil {
		status.Domains = map[string]scheduling.Domains{}
	}
	if more := len(domains) - limit; more > 0 {
		if status.MoreDomains == nil {
			status.MoreDomains = map[string]int32{}
		}
		status.MoreDomains[level] = int32(more)
		domains = domains[:limit]
	}
	status.Domains[level] = domains
}
