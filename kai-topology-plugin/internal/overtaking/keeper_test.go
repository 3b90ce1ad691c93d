package overtaking

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

const gpus = "nvidia.com/gpu"

// starved is a cluster with racks in which gangs wait, and what its keeper was asked.
type starved struct {
	Keeper
	nodes []fwk.NodeInfo
	waits map[gang.Key]*gang.Gang
	// questions counts those that were asked, and done what was to be done.
	questions, done int
}

// racks are of nodes of four GPUs: r1 has two and r2 one. Somebody stands on each.
func racks(t *testing.T) *starved {
	t.Helper()
	var nodes []*corev1.Node
	var pods []*corev1.Pod
	for _, name := range []string{"r1-a", "r1-b", "r2-a"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": name[:2]}}}
		node.Status.Allocatable = asks(map[string]string{gpus: "4", "pods": "9"}).Spec.Containers[0].Resources.Requests
		nodes = append(nodes, node)
		pod := asks(map[string]string{gpus: "1"})
		pod.Name, pod.UID, pod.Spec.NodeName = "on-"+name, types.UID(name), name
		pods = append(pods, pod)
	}
	offline, err := kubeframework.NewOffline(t.Context(), nodes, pods)
	if err != nil {
		t.Fatal(err)
	}
	infos, err := offline.Nodes()
	if err != nil {
		t.Fatal(err)
	}
	s := &starved{nodes: infos, waits: map[gang.Key]*gang.Gang{}}
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	s.Keeper = Keeper{
		Gangs: gangstate.New(func(string) bool { return true }), View: clusterview.New(offline),
		PodGroup: func(key gang.Key) (*scheduling.PodGroup, error) {
			if s.waits[key] == nil {
				return nil, errors.New("there is none")
			}
			return s.waits[key].PodGroup, nil
		},
		Question: func(podGroup *scheduling.PodGroup) (*decision.Question, error) {
			s.questions++
			return &decision.Question{
				Gang: s.waits[gang.KeyOfPodGroup(podGroup)], Topologies: map[string]*kai.Topology{"t": topology},
			}, nil
		},
		Do: func(effects gangstate.Effects) { s.done += len(effects.WriteStatus) },
	}
	return s
}

// gangOf is one of so many pods that each ask for GPUs, all in one rack if a level is required.
func gangOf(t *testing.T, name, level string, pods, each int) *gang.Gang {
	t.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 1}}
	number := int32(pods)
	podGroup.Spec.MinMember = &number
	if level != "" {
		podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "t", RequiredTopologyLevel: level}
	}
	var members []*corev1.Pod
	for i := range pods {
		pod := asks(map[string]string{gpus: fmt.Sprint(each)})
		pod.Namespace, pod.Name = "ns", fmt.Sprint(name, "-", i)
		pod.UID = types.UID(pod.Name)
		members = append(members, pod)
	}
	assembled, hold := gang.Assemble(podGroup, members, func(string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.Hierarchy{{Key: "rack"}}, true
	})
	if hold != nil {
		t.Fatal(hold.Message)
	}
	return assembled
}

// overtake has a gang wait, and others take as much of each rack as closes it.
func (s *starved) overtake(waits *gang.Gang) {
	key := waits.Key()
	s.waits[key] = waits
	claim := ClaimOf(waits, &decision.Answer{}, func(string) []string { return []string{"rack"} })
	s.Gangs.DidNotFit(waits, claim, s.Gangs.Now())
	for i := range gangstate.MaxOvertakes {
		by := gang.Rank{Priority: -1, Gang: gang.Key{Namespace: "ns", Name: fmt.Sprint("by", i)}}
		taking := gangstate.Taking{Rank: by, Asks: Asks(waits.Pending)}
		for _, node := range s.nodes {
			taking.Nodes = append(taking.Nodes, node.Node().Labels)
		}
		s.Gangs.Placed(taking)
	}
}

// closed says which nodes are closed to a gang that ranks below, and for the sake of whom.
func (s *starved) closed(t *testing.T, each int) string {
	t.Helper()
	low := gangOf(t, "zlow", "", 1, each)
	low.Pending[0].Spec.Priority = new(int32)
	*low.Pending[0].Spec.Priority = -1
	closed := s.ClosedTo(t.Context(), low, s.nodes)
	var names []string
	for node := range closed.Room(s.nodes) {
		names = append(names, node)
	}
	slices.Sort(names)
	if closed.Note != "" {
		names = append(names, closed.Note)
	}
	return strings.Join(names, " ")
}

func TestWhichDomainsAreClosed(t *testing.T) {
	const (
		r1  = "r1-a r1-b room in rack r1 is kept for gang ns/big, which 8 others have overtaken"
		all = "r1-a r1-b r2-a room in the cluster is kept for gang ns/big, which 8 others have overtaken"
	)
	for name, test := range map[string]struct {
		level      string
		pods, each int
		change     func(*starved)
		of         int
		want       string
	}{
		"the one that could hold the gang": {level: "rack", pods: 2, each: 4, of: 1, want: r1},
		"all of them, if each could": {
			level: "rack", pods: 1, each: 4, of: 1, want: strings.Replace(r1, "room", "r2-a room", 1),
		},
		"none, if none could":                  {level: "rack", pods: 3, each: 4, of: 1},
		"none in whose place another has room": {level: "rack", pods: 2, each: 3, of: 1, want: r1},
		"the cluster":                          {pods: 3, each: 4, of: 1, want: all},
		"none to who asks for nothing of it":   {pods: 3, each: 4, of: 0},
		"none for a gang that is gone": {level: "rack", pods: 2, each: 4, of: 1,
			change: func(s *starved) { clear(s.waits) }},
		"none for a gang that cannot be planned": {level: "rack", pods: 2, each: 4, of: 1, change: func(s *starved) {
			s.Question = func(*scheduling.PodGroup) (*decision.Question, error) { return nil, nil }
		}},
		"none for a gang that cannot be read": {level: "rack", pods: 2, each: 4, of: 1, change: func(s *starved) {
			s.Question = func(*scheduling.PodGroup) (*decision.Question, error) { return nil, errors.New("failed") }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := racks(t)
			s.overtake(gangOf(t, "big", test.level, test.pods, test.each))
			if test.change != nil {
				test.change(s)
			}
			if got := s.closed(t, test.of); got != test.want {
				t.Errorf("closed are %q, want %q", got, test.want)
			}
		})
	}
	if closed := racks(t).ClosedTo(t.Context(), gangOf(t, "low", "", 1, 1), nil); closed.Barred || closed.Note != "" {
		t.Errorf("closed is %+v, and nobody waits", closed)
	}
}

func TestAnswersAboutDomainsAreRemembered(t *testing.T) {
	asked := func(s *starved, change func()) int {
		before := s.questions
		change()
		s.closed(t, 1)
		return s.questions - before
	}
	s := racks(t)
	big := gangOf(t, "big", "rack", 2, 4)
	for _, step := range []struct {
		name   string
		change func()
		asks   int
	}{
		{"each of two racks", func() { s.overtake(big) }, 2},
		{"nothing, of the same gang on the same nodes", func() {}, 0},
		{"both, of a gang that was changed", func() { big.PodGroup.Generation++ }, 2},
		{"the one that is not closed yet, of a gang that is short of the same", func() {
			s.overtake(gangOf(t, "second", "rack", 2, 4))
		}, 1},
		{"the domain that the first gang does not close", func() {
			s.Alike = func(podGroup *scheduling.PodGroup) any { return podGroup.Name[:1] }
			s.overtake(gangOf(t, "third", "rack", 3, 4))
		}, 1},
		{"nothing, of one that is like another", func() { s.overtake(gangOf(t, "tie", "rack", 3, 4)) }, 0},
		{"what is like no other", func() {
			s.Alike = func(*scheduling.PodGroup) any { return nil }
			s.overtake(gangOf(t, "u", "rack", 3, 4))
		}, 1},
	} {
		if got := asked(s, step.change); got != step.asks {
			t.Errorf("asked is about %d domains, want %s", got, step.name)
		}
	}
	if s.done == 0 {
		t.Error("nobody is told that domains are closed")
	}
	s.Alike = func(*scheduling.PodGroup) any { return "all" }
	try := func(version int) error {
		_, err := s.tryAlike(t.Context(), big.PodGroup, gangstate.KeptDomain{Domain: "r3"}, s.nodes, version)
		return err
	}
	for version, asks := range []int{1, 0, 0} {
		before := s.questions
		if err := try(7); err != nil || s.questions-before != asks {
			t.Errorf("the time %d it asks %d times, error %v", version, s.questions-before, err)
		}
	}
	before := s.questions
	if err := try(8); err != nil || s.questions == before {
		t.Errorf("of nodes that were changed an answer is remembered, error %v", err)
	}
}

func TestClosedAltogether(t *testing.T) {
	everywhere, rack := gangstate.Ground{}, gangstate.Ground{Levels: []string{"rack"}}
	gpu, cpu := asks(map[string]string{gpus: "1"}), asks(map[string]string{"cpu": "1"})
	for name, test := range map[string]struct {
		ground gangstate.Ground
		pods   []*corev1.Pod
		want   bool
	}{
		"to pods that all ask for what is closed":  {everywhere, []*corev1.Pod{gpu, gpu}, true},
		"not if one asks for something else":       {everywhere, []*corev1.Pod{gpu, gpu, cpu}, false},
		"not if the first asks for something else": {everywhere, []*corev1.Pod{cpu, gpu}, false},
		"not in a rack": {rack, []*corev1.Pod{gpu}, false},
	} {
		var closed Closed
		path := strings.Repeat("r1", len(test.ground.Levels))
		closed.domains.add(gangstate.KeptDomain{Ground: test.ground, Domain: path, Scarce: []string{gpus}})
		if got := closed.Altogether(test.pods); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (Closed{}).Altogether(nil) || (Closed{}).Altogether([]*corev1.Pod{gpu}) || (Closed{}).Room(nil) != nil {
		t.Error("where nothing is closed, all is")
	}
}
