package remedies_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	spreads "packtree.dev/shared/relations"
)

// levels are those of the topology of these tests, broadest first.
var levels = []string{"l/zone", "l/rack", "kubernetes.io/hostname"}

// sentence is a form that a remedy has, and what somebody does who follows one, with its words: the clusters of which
// one is to take the gang.
type sentence struct {
	pattern *regexp.Regexp
	follow  func(cluster *inventory.Inventory, words []string) []*inventory.Inventory
}

// says is a sentence that can be followed in one way only.
func says(pattern string, follow func(cluster *inventory.Inventory, words []string)) sentence {
	one := func(cluster *inventory.Inventory, words []string) []*inventory.Inventory {
		follow(cluster, words)
		return []*inventory.Inventory{cluster}
	}
	return sentence{pattern: regexp.MustCompile("^" + pattern + "$"), follow: one}
}

var sentences = []sentence{
	says(`require no topology level for (.*) \(now \S+\)`, func(cluster *inventory.Inventory, words []string) {
		relax(cluster, "", words[1])
	}),
	says(`require (\S+) instead of \S+ for (.*)`, func(cluster *inventory.Inventory, words []string) {
		relax(cluster, words[1], words[2])
	}),
	says(`do without relation (\S+) \(.*\)`, unrelate),
	says(`lower the minimum of (?:the gang|subgroup (\S+)) from \d+ to (\d+) (pods|subgroups)`, lower),
	says(`drop (?:node selector (.*)=.*|(.*) of the pods)`, drop),
	says(`tolerate taint (\S+)=(\S*):(\S+) \(on \d+ nodes?\)`, tolerate),
	says(`(uncordon|get ready again:) (.*)`, giveBack),
	says(`keep (\d+) nodes? of each l/rack as spares instead of \d+ \(annotation packtree.dev/spares of Topology t\); `+
		`gangs that lose pods may then have no way out`, func(cluster *inventory.Inventory, words []string) {
		cluster.Topologies["t"].Annotations[kai.AnnotationSpares] = sparesText(number(words[1]))
	}),
	says(`stop everything else in (.*)`, clearDomain),
	says(`wait for \d+ pods? to be gone`, endLeaving),
	says(`add (\d+) nodes? like (\S+) to (.*)`, addNodes),
	{
		regexp.MustCompile(`^(?:free \S+ nvidia.com/gpu in .*: )?stop (.*?)(?: in (?:the|zone|rack|host) \S+)?` +
			`(?:; all of lower priority than this gang)?(` + leavingToo + `)?$`), stop,
	},
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
		{regexp.MustCompile(`^(keep ()?)(\d+)( nodes? of each \S+ as spares instead of (\d+).*)$`), 1, 5},
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
	return fewerStopped(change)
}

var wider = regexp.MustCompile(`^require (\S+) instead of (\S+) for (.*)$`)

// fewerStopped leaves each one of those alone that a sentence stops, or does not wait for those that leave already.
func fewerStopped(change string) []string {
	var fewer []string
	change, waits := strings.CutSuffix(strings.ReplaceAll(change, ", non-preemptible", ""), leavingToo)
	too := ""
	if waits {
		too = leavingToo
	}
	if waits && !someOf.MatchString(change) { // Others of the same gang might do.
		fewer = []string{change}
	}
	before, list, stops := strings.Cut(change, "stop ")
	names := strings.Split(list, ", ")
	if !stops || len(names) == 1 {
		return fewer
	}
	for i := range names {
		fewer = append(fewer, before+"stop "+strings.Join(slices.Delete(slices.Clone(names), i, i+1), ", ")+too)
	}
	return fewer
}

var someOf = regexp.MustCompile(`stop .*\d of \d+ pods of`)

const leavingToo = "; pods that leave already have to be gone too"

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}

func sparesText(number int) string { return fmt.Sprintf(`[{"level":"l/rack","nodes":%d}]`, number) }

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

// unrelate leaves a relation out.
func unrelate(cluster *inventory.Inventory, words []string) {
	podGroup := askedFor(cluster)
	rest, _ := spreads.Parse(podGroup.Annotations)
	rest = slices.DeleteFunc(rest, func(relation spreads.Relation) bool { return relation.Name == words[1] })
	delete(podGroup.Annotations, scheduling.AnnotationRelations)
	if len(rest) > 0 {
		podGroup.Annotations[scheduling.AnnotationRelations] = spreads.Format(rest)
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

// change changes the pods of the gang.
func change(cluster *inventory.Inventory, with func(*corev1.PodSpec)) {
	for _, pod := range cluster.Pods {
		if key, _ := gang.KeyOf(pod); key.Name == "ask" {
			with(&pod.Spec)
		}
	}
}

func drop(cluster *inventory.Inventory, words []string) {
	change(cluster, func(spec *corev1.PodSpec) {
		switch {
		case words[1] != "":
			delete(spec.NodeSelector, words[1])
		case words[2] == "the required node affinity":
			spec.Affinity = nil
		default:
			spec.NodeSelector, spec.Affinity = nil, nil
		}
	})
}

func tolerate(cluster *inventory.Inventory, words []string) {
	change(cluster, func(spec *corev1.PodSpec) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: words[1], Value: words[2], Effect: corev1.TaintEffect(words[3]),
		})
	})
}

// giveBack lets nodes that are cordoned, or not ready, take pods.
func giveBack(cluster *inventory.Inventory, words []string) {
	cordoned := words[1] == "uncordon"
	for _, node := range cluster.Nodes {
		if slices.Contains(strings.Split(words[2], ", "), node.Name) {
			node.Spec.Unschedulable = node.Spec.Unschedulable && !cordoned
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
				own := strings.HasPrefix(taint.Key, "node.kubernetes.io/")
				return own && (taint.Key == corev1.TaintNodeUnschedulable) == cordoned
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
