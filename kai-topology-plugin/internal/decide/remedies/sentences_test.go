package remedies_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// levels are those of the topology of these tests, broadest first.
var levels = []string{"l/zone", "l/rack", "kubernetes.io/hostname"}

// sentence is a form that a remedy has, and how its words are followed in a cluster.
type sentence struct {
	pattern *regexp.Regexp
	follow  func(cluster *inventory.Inventory, words []string)
}

func says(pattern string, follow func(cluster *inventory.Inventory, words []string)) sentence {
	return sentence{pattern: regexp.MustCompile("^" + pattern + "$"), follow: follow}
}

var sentences = []sentence{
	says(`require no topology level for (.*) \(now \S+\)`, func(cluster *inventory.Inventory, words []string) {
		relax(cluster, "", words[1])
	}),
	says(`require (\S+) instead of \S+ for (.*)`, func(cluster *inventory.Inventory, words []string) {
		relax(cluster, words[1], words[2])
	}),
	says(`lower the minimum of (?:the gang|subgroup (\S+)) from \d+ to (\d+) (pods|subgroups)`, lower),
	says(`tolerate taint (\S+)=(\S*):(\S+) \(on \d+ nodes?\)`, tolerate),
	says(`uncordon (.*)`, uncordon),
	says(`add (\d+) nodes? like (\S+) to (.*)`, addNodes),
}

// lessThan are the sentences that ask for less than a sentence does.
func lessThan(change string) []string {
	if words := wider.FindStringSubmatch(change); words != nil {
		var narrower []string
		for _, level := range levels[slices.Index(levels, words[1])+1 : slices.Index(levels, words[2])] {
			narrower = append(narrower, fmt.Sprintf("require %s instead of %s for %s", level, words[2], words[3]))
		}
		return narrower
	}
	for _, counted := range []struct {
		sentence *regexp.Regexp
		less     int
		now      int // The word that says how many there are now; 0 if there are none.
	}{
		{regexp.MustCompile(`^(lower the minimum of .* from (\d+) to )(\d+)( .*)$`), 1, 2},
		{regexp.MustCompile(`^(add ()?)(\d+)( nodes? like .*)$`), -1, 0},
	} {
		words := counted.sentence.FindStringSubmatch(change)
		if words == nil {
			continue
		}
		now := 0
		if counted.now > 0 {
			now = number(words[counted.now])
		}
		if less := number(words[3]) + counted.less; less != now {
			return []string{words[1] + strconv.Itoa(less) + words[4]}
		}
	}
	return nil
}

var wider = regexp.MustCompile(`^require (\S+) instead of (\S+) for (.*)$`)

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}

func askedFor(cluster *inventory.Inventory) *scheduling.PodGroup {
	return asking(cluster).Gang.PodGroup
}

func subGroup(spec *scheduling.PodGroupSpec, name string) *scheduling.SubGroup {
	return &spec.SubGroups[slices.IndexFunc(spec.SubGroups, func(sub scheduling.SubGroup) bool {
		return sub.Name == name
	})]
}

// relax lets groups require a level instead of narrower ones.
func relax(cluster *inventory.Inventory, level, groups string) {
	spec := &askedFor(cluster).Spec
	for name := range strings.SplitSeq(groups, ", ") {
		constraint := spec.TopologyConstraint
		if leaf, is := strings.CutPrefix(name, "subgroup "); is {
			constraint = subGroup(spec, leaf).TopologyConstraint
		}
		if slices.Index(levels, constraint.RequiredTopologyLevel) > slices.Index(levels, level) {
			constraint.RequiredTopologyLevel = level
		}
	}
}

func lower(cluster *inventory.Inventory, words []string) {
	spec, minimum := &askedFor(cluster).Spec, int32(number(words[2]))
	members, groups := &spec.MinMember, &spec.MinSubGroup
	if words[1] != "" {
		members, groups = &subGroup(spec, words[1]).MinMember, &subGroup(spec, words[1]).MinSubGroup
	}
	if words[3] == "pods" {
		*members = &minimum
	} else {
		*groups = &minimum
	}
}

func tolerate(cluster *inventory.Inventory, words []string) {
	for _, pod := range cluster.Pods {
		if key, _ := gang.KeyOf(pod); key.Name == "ask" {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: words[1], Value: words[2], Effect: corev1.TaintEffect(words[3]),
			})
		}
	}
}

// uncordon lets nodes that are cordoned take pods.
func uncordon(cluster *inventory.Inventory, words []string) {
	for _, node := range cluster.Nodes {
		if slices.Contains(strings.Split(words[1], ", "), node.Name) {
			node.Spec.Unschedulable = false
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
				return taint.Key == corev1.TaintNodeUnschedulable
			})
		}
	}
}

// addNodes adds more nodes like one that stands in the domain.
func addNodes(cluster *inventory.Inventory, words []string) {
	inside := nodesIn(cluster, words[3])
	for _, node := range slices.Clone(cluster.Nodes) {
		if node.Name != words[2] || !inside[node.Name] {
			continue
		}
		for i := range number(words[1]) {
			another := node.DeepCopy()
			another.Name = fmt.Sprint("new-", i)
			another.Labels[corev1.LabelHostname] = another.Name
			cluster.Nodes = append(cluster.Nodes, another)
		}
	}
}

// nodesIn has the nodes of a domain, which is named as sentences do.
func nodesIn(cluster *inventory.Inventory, domain string) map[string]bool {
	inside := map[string]bool{}
	_, path, _ := strings.Cut(domain, " ")
	for _, node := range cluster.Nodes {
		in := ""
		for _, level := range levels {
			in += node.Labels[level] + "/"
		}
		inside[node.Name] = domain == "the cluster" || strings.HasPrefix(in, path+"/")
	}
	return inside
}
