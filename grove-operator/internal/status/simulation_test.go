package status_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/termination"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const simulated = `
metadata: {name: s}
spec:
  replicas: 3
  template:
    cliques: [{name: a, spec: {replicas: 2, minAvailable: 1}}, {name: b, spec: {replicas: 2}}]
    terminationDelay: 10s
`

// TestTermination breaks and recovers pods, scales replicas, begins and ends updates, delays conditions, and ends
// operators between any two writes. After each step it checks that only units were deleted that were in breach for the
// whole delay and recorded before, one at a time.
func TestTermination(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &simulation{
			set: fixture.Set(&testing.T{}, simulated), now: now, live: map[string]*grovev1alpha1.PodClique{},
			ready: map[types.UID]int32{}, brokenSince: map[types.UID]time.Time{},
		}
		s.create()
		s.start()
		t.Repeat(map[string]func(*rapid.T){
			"":                    s.check,
			"break":               s.breakOne,
			"break, and be seen":  func(t *rapid.T) { s.breakOne(t); s.observe() },
			"recover unseen":      func(*rapid.T) { s.recover() },
			"conditions catch up": func(*rapid.T) { s.observe() },
			"start":               func(*rapid.T) { s.start() },
			"some time passes":    func(*rapid.T) { s.now = s.now.Add(4 * time.Second) },
			"much time passes":    func(*rapid.T) { s.now = s.now.Add(11 * time.Second) },
			"decide":              func(*rapid.T) { s.pass(100) },
			"decide and crash": func(
				t *rapid.T) {
				s.pass(rapid.IntRange(0, 2).Draw(t, "writes until the operator ends"))
			},
			"what goes is gone": func(*rapid.T) { s.collect() },
			"create":            func(*rapid.T) { s.create() },
			"update":            s.update,
			"the set is scaled": func(t *rapid.T) {
				s.set.Spec.Replicas = rapid.Int32Range(1, 3).Draw(t,
					"replicas")
			},
			"a clique is scaled": s.scale,
		})
		s.converge(t)
	})
}

type simulation struct {
	set *grovev1alpha1.PodCliqueSet
	now time.Time
	// live are the PodCliques by name, ready their ready pods, and brokenSince the time since which they lacked their
	// minimum at each observation.
	live        map[string]*grovev1alpha1.PodClique
	ready       map[types.UID]int32
	brokenSince map[types.UID]time.Time
	made        int
	updating    bool
	problem     string
}

func (s *simulation) complain(format string, args ...any) {
	if s.problem == "" {
		s.problem = fmt.Sprintf(format, args...)
	}
}

func (s *simulation) names() []string {
	var names []string
	for name := range s.live {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// create makes missing objects, with their earlier scale, and deletes objects that were scaled in.
func (s *simulation) create() {
	wanted := map[string]bool{}
	for replica := range s.set.Spec.Replicas {
		for _, member := range layout.Standalone(s.set, replica) {
			wanted[member.Name] = true
			if s.live[member.Name] != nil {
				continue
			}
			s.made++
			made := &grovev1alpha1.PodClique{Spec: member.Clique.Spec}
			made.Name, made.UID = member.Name, types.UID(strconv.Itoa(s.made))
			made.Labels = map[string]string{grovev1alpha1.LabelPodCliqueSetReplicaIndex: strconv.Itoa(int(replica))}
			template := strconv.Itoa(int(made.Spec.Replicas))
			made.Annotations = map[string]string{grovev1alpha1.AnnotationTemplateReplicas: template}
			made.Spec.Replicas = termination.Replicas(s.set.Status.GangTermination, termination.KindPodClique, made,
				made.Spec.Replicas)
			s.live[member.Name] = made
		}
	}
	for _, name := range s.names() {
		if !wanted[name] && s.live[name].DeletionTimestamp == nil {
			s.delete(s.live[name])
		}
	}
}

func (s *simulation) delete(podClique *grovev1alpha1.PodClique) {
	deleted := metav1.NewTime(s.now)
	podClique.DeletionTimestamp = &deleted
}

func (s *simulation) collect() {
	for _, name := range s.names() {
		if s.live[name].DeletionTimestamp != nil {
			delete(s.live, name)
		}
	}
}

func (s *simulation) pick(t *rapid.T) *grovev1alpha1.PodClique {
	if len(s.live) == 0 {
		return nil
	}
	return s.live[rapid.SampledFrom(s.names()).Draw(t, "PodClique")]
}

// breakOne makes none of the pods of a PodClique ready.
func (s *simulation) breakOne(t *rapid.T) {
	if podClique := s.pick(t); podClique != nil {
		s.ready[podClique.UID] = 0
	}
}

// recover makes everything ready.
func (s *simulation) recover() {
	for _, podClique := range s.live {
		s.ready[podClique.UID] = podClique.Spec.Replicas
	}
}

// start makes everything ready, and observed as ready.
func (s *simulation) start() {
	s.recover()
	s.observe()
}

func (s *simulation) update(*rapid.T) {
	if s.set.Status.UpdateProgress = nil; !s.updating {
		s.set.Status.UpdateProgress = &grovev1alpha1.PodCliqueSetUpdateProgress{}
	}
	s.updating = !s.updating
}

// broken reports whether a PodClique lacks ready pods at the moment.
func (s *simulation) broken(podClique *grovev1alpha1.PodClique) bool {
	return s.ready[podClique.UID] < status.Minimum(podClique)
}

func (s *simulation) scale(t *rapid.T) {
	if podClique := s.pick(t); podClique != nil {
		podClique.Spec.Replicas = rapid.Int32Range(0, 3).Draw(t, "to")
		podClique.Generation++
		s.ready[podClique.UID] = min(s.ready[podClique.UID], podClique.Spec.Replicas)
	}
}

// observe writes the conditions, as the PodClique controller does, with the time of the observation.
func (s *simulation) observe() {
	for _, podClique := range s.live {
		before := podClique.Status
		if _, known := s.brokenSince[podClique.UID]; !s.broken(podClique) {
			delete(s.brokenSince, podClique.UID)
		} else if !known {
			s.brokenSince[podClique.UID] = s.now
		}
		podClique.Status.ObservedGeneration, podClique.Status.ReadyReplicas = podClique.Generation,
			s.ready[podClique.UID]
		minimum := status.Minimum(podClique)
		if minimum > 0 && podClique.Status.ReadyReplicas >= minimum {
			podClique.Status.ReachedMinAvailable = true
		}
		breached := metav1.ConditionFalse
		if podClique.Status.ReadyReplicas < minimum && podClique.Status.ReachedMinAvailable {
			breached = metav1.ConditionTrue
		}
		if len(before.Conditions) == 0 || before.Conditions[0].Status != breached {
			podClique.Status.Conditions = []metav1.Condition{{
				Type: grovev1alpha1.ConditionMinAvailableBreached, Status: breached,
				LastTransitionTime: metav1.NewTime(s.now),
			}}
		}
	}
}

// pass is one pass of the set's controller, which ends after some writes.
func (s *simulation) pass(writes int) {
	situation := termination.Situation{
		Record: s.set.Status.GangTermination, Delay: termination.Delay(s.set), Updating: termination.Updating(s.set),
		Now: s.now,
	}
	for replica := range s.set.Spec.Replicas {
		situation.Units = append(situation.Units, termination.Replica(s.set, replica, s.live, nil))
	}
	ready := func(podClique *grovev1alpha1.PodClique) int32 { return s.ready[podClique.UID] }
	situation.Confirmed = map[int32][]termination.Breach{}
	for _, unit := range situation.Due() {
		situation.Confirmed[unit.Index] = unit.Without(
			func(_, name string) bool { return termination.HasMinimum(s.live[name], ready) })
		situation.Untouched = termination.Untouched(situation.Record, unit.Objects)
	}
	plan := termination.Decide(situation)
	if plan.Begun {
		s.judge(plan.Record)
	}
	if len(plan.Delete) == len(s.set.Spec.Template.Cliques) && !slices.ContainsFunc(plan.Delete,
		func(object termination.Object) bool { return s.broken(s.live[object.Name]) }) {
		s.complain("replica %d is recreated, of which nothing is deleted and everything is well", plan.Record.Index)
	}
	for _, object := range plan.Delete {
		if writes--; writes < 0 {
			return
		}
		if record := s.set.Status.GangTermination; record == nil ||
			!slices.ContainsFunc(record.Objects, func(recorded grovev1alpha1.TerminatedObject) bool {
				return recorded.UID == s.live[object.Name].UID
			}) {
			s.complain("%s is deleted and was not recorded", object.Name)
		}
		s.delete(s.live[object.Name])
	}
	if writes > 0 {
		s.set.Status.GangTermination = plan.Record
	}
}

// judge compares a decision with the simulation's own record.
func (s *simulation) judge(record *grovev1alpha1.GangTermination) {
	if s.set.Status.UpdateProgress != nil {
		s.complain("replica %d is recreated during an update", record.Index)
	}
	if s.set.Status.GangTermination != nil {
		s.complain("replica %d is begun before another is finished", record.Index)
	}
	justified := false
	for _, object := range record.Objects {
		podClique := s.live[object.Name]
		since, broken := s.brokenSince[podClique.UID]
		if broken && s.broken(podClique) && !s.now.Before(since.Add(termination.Delay(s.set))) &&
			podClique.Status.ReachedMinAvailable {
			justified = true
		}
	}
	if !justified {
		s.complain(
			"replica %d is recreated, but no clique of it that was healthy once is broken, and was at every look",
			record.Index)
	}
}

func (s *simulation) check(t *rapid.T) {
	require.Empty(t, s.problem)
}

// converge recovers everything: a recreation that was begun is finished, and then nothing changes any more.
func (s *simulation) converge(t *rapid.T) {
	s.set.Status.UpdateProgress = nil
	for range 6 {
		s.collect()
		s.create()
		s.start()
		s.pass(100)
		s.check(t)
	}
	record := s.set.Status.GangTermination
	require.Nil(t, record, "a replica is never finished")
	for _, name := range s.names() {
		require.Nil(t, s.live[name].DeletionTimestamp, "%s goes though all is well", name)
	}
	require.Len(t, s.live, int(2*s.set.Spec.Replicas))
}
