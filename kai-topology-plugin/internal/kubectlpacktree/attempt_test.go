package kubectlpacktree

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"packtree.dev/kai-topology-plugin/internal/explanation"
	"packtree.dev/kai-topology-plugin/internal/live"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

// shown is what people who look at the page of a dump ask.
func shown(t *testing.T) *showing {
	t.Helper()
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	s := &showing{plugin: &plugin{access: genericclioptions.NewConfigFlags(true), now: time.Now}}
	s.keep(&live.Cluster{Inventory: testsupport.Inventory(t, standing)})
	return s
}

// gangOf is a gang of the cluster as it would be.
func gangOf(t *testing.T, said *attempt, name string) *explanation.Gang {
	t.Helper()
	at := slices.IndexFunc(said.Overview.Gangs, func(g *explanation.Gang) bool { return g.Name == name })
	if at < 0 {
		t.Fatalf("the overview has no gang %s", name)
	}
	return said.Overview.Gangs[at]
}

// node adds one with room for a gang of 4 GPUs in a rack of its own.
const node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n3, labels: {example.com/rack: r2, " +
	"kubernetes.io/hostname: n3}}\n" +
	"status: {allocatable: {nvidia.com/gpu: \"4\", pods: \"10\"}}\n"

func TestManifestsOnThePage(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		// verdicts are those of the gangs that are asked about, first those that go first, notes all of them.
		verdicts, first, notes string
		// nodes has where pods stand in the overview.
		nodes map[string]string
	}{
		"a gang behind one that waits and ranks higher does not fit": {
			manifest: fmt.Sprintf(asked, ""), verdicts: "asked Infeasible", first: "default/gang",
			nodes: map[string]string{"gang-0": "n2", "asked-0": ""},
		},
		"with another node it does": {
			manifest: fmt.Sprintf(asked, "") + node, verdicts: "asked Placed", first: "default/gang",
			nodes: map[string]string{"asked-0": "n3"},
		},
		"a gang that ranks higher takes the room": {
			manifest: fmt.Sprintf(asked, "priority: 1000,"), verdicts: "asked Placed",
			nodes: map[string]string{"asked-0": "n2", "gang-0": ""},
		},
		"nodes alone are tried on what waits": {
			manifest: node, verdicts: "gang Placed", nodes: map[string]string{"other": "n1"},
		},
		"a class that a dump does not know": {
			manifest: fmt.Sprintf(asked, "priorityClassName: nobody,"), verdicts: "asked Infeasible", first: "default/gang",
			notes: "a dump has no PriorityClasses: pods of class nobody are decided with priority 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := shown(t)
			for _, pod := range s.read.Load().Pods {
				if pod.Name == "gang-0" {
					pod.Spec.Priority = new(int32)
					*pod.Spec.Priority = 100
				}
			}
			said, err := s.whatIf(t.Context(), "gang.yaml", []byte(c.manifest))
			if err != nil {
				t.Fatal(err)
			}
			var verdicts []string
			for _, decided := range said.PodGroups {
				verdicts = append(verdicts, decided.Name+" "+decided.Verdict)
			}
			if got := strings.Join(verdicts, ", "); got != c.verdicts {
				t.Errorf("decided %s, want %s", got, c.verdicts)
			}
			if got := strings.Join(said.DecidedFirst, ", "); got != c.first {
				t.Errorf("first went %q, want %q", got, c.first)
			}
			if got := strings.Join(said.Notes, ", "); got != c.notes || said.Notes == nil || said.DecidedFirst == nil {
				t.Errorf("notes %q, want %q", got, c.notes)
			}
			for _, pod := range said.Overview.Pods {
				if want, said := c.nodes[pod.Name]; said && pod.Node != want {
					t.Errorf("pod %s is drawn on %q, want %q", pod.Name, pod.Node, want)
				}
			}
			nothingIsLeft(t, s)
		})
	}
}

// nothingIsLeft holds that people who look at the cluster meanwhile see it as it is.
func nothingIsLeft(t *testing.T, s *showing) {
	t.Helper()
	read := s.read.Load()
	names := []string{}
	for _, pod := range read.Pods {
		names = append(names, pod.Name+"@"+pod.Spec.NodeName)
	}
	if want := []string{"gang-0@", "other@n1"}; !slices.Equal(names, want) || len(read.Nodes) != 2 ||
		len(read.PodGroups) != 1 {
		t.Errorf("the cluster has pods %q, want %q; %d nodes, %d PodGroups", names, want, len(read.Nodes),
			len(read.PodGroups))
	}
}

func TestWhatWouldNotFitIsExplainedOnTheClusterAsItWouldBe(t *testing.T) {
	s := shown(t)
	wide := strings.Replace(fmt.Sprintf(asked, ""), "spec: {minMember: 1}",
		"spec: {minMember: 1, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/rack}}", 1)
	wide = strings.Replace(wide, `{nvidia.com/gpu: "4"}`, `{nvidia.com/gpu: "9"}`, 2)
	said, err := s.whatIf(t.Context(), "wide.yaml", []byte(wide))
	if err != nil {
		t.Fatal(err)
	}
	g := gangOf(t, said, "asked")
	if g.State != explanation.Waits || g.Decision == nil || len(g.Decision.Reasons) == 0 ||
		g.Decision.Message != said.PodGroups[0].Message {
		t.Errorf("the gang is %+v, decided %+v; what-if says %q", g, g.Decision, said.PodGroups[0].Message)
	}
	if free := said.Overview.Topologies[0].Cluster.Total; free != 8 || said.Overview.Resource != string(occupancy.GPU) {
		t.Errorf("the overview is of %v %s", free, said.Overview.Resource)
	}
}

func TestManifestsThatAreRefused(t *testing.T) {
	s := shown(t)
	for manifest, want := range map[string]string{
		"": "the manifests are empty",
		"apiVersion: v1\nkind: Service\nmetadata: {name: s}\n": "there is no PodGroup, Pod, Node or Topology, only Service",
		"a: [": "gang.yaml",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nods: 1}": "gang.yaml",
	} {
		_, err := s.whatIf(t.Context(), "gang.yaml", []byte(manifest))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "-f:") {
			t.Errorf("%q: error %v, want %s", manifest, err, want)
		}
	}
	unread := &showing{plugin: s.plugin}
	if _, err := unread.whatIf(t.Context(), "n.yaml", []byte(node)); err == nil ||
		!strings.Contains(err.Error(), "not been read yet") {
		t.Errorf("before the cluster was read: %v", err)
	}
}

func TestTheHistoryOfADumpIsInIt(t *testing.T) {
	s := shown(t)
	s.read.Load().Events = []*corev1.Event{{
		InvolvedObject: corev1.ObjectReference{Namespace: "default", Kind: "PodGroup", Name: "gang"}, Reason: "Infeasible",
		Message: "no room",
	}}
	told, err := s.history(t.Context(), "default", "gang")
	if err != nil || len(told.Events) != 1 || told.Events[0].Note != "no room" {
		t.Errorf("%+v, error %v", told, err)
	}
	if _, err := s.history(t.Context(), "default", "gone"); err == nil ||
		err.Error() != "there is no PodGroup default/gone" {
		t.Errorf("of a gang that is not there: %v", err)
	}
}
