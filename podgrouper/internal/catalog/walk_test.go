package catalog_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grove "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// cluster has owners by name; each is of the kind in the reference.
type cluster map[string]*metav1.ObjectMeta

func (c cluster) lookup(reference owners.Reference) (grouping.Owner, error) {
	switch reference.Kind.Kind {
	case "Secret":
		return grouping.Owner{}, owners.UnreadableError{Remedy: "let it be read"}
	case "Broken":
		return grouping.Owner{}, errors.New("connection refused")
	}
	found, ok := c[reference.Name]
	if !ok {
		return grouping.Owner{}, owners.ErrMissing
	}
	return grouping.Owner{Object: found, Kind: reference.Kind}, nil
}

func reference(kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name)}
}

func controlledBy(kind, name string) metav1.OwnerReference {
	controller := reference(kind, name)
	controller.Controller = new(true)
	return controller
}

func object(name string, references ...metav1.OwnerReference) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name),
		OwnerReferences: references}
}

func TestWalk(t *testing.T) {
	cases := map[string]struct {
		pod                        *metav1.ObjectMeta
		labels                     map[string]string
		owners                     cluster
		want                       []string
		missing, unreadable, cycle string
	}{
		"nobody's pod": {pod: object("pod")},
		"up to the top": {
			pod:    object("pod", controlledBy("Job", "job")),
			owners: cluster{"job": object("job", controlledBy("CronJob", "cron")), "cron": object("cron")},
			want:   []string{"Job job", "CronJob cron"},
		},
		"the controller, of several": {
			pod:    object("pod", reference("Fleet", "fleet"), controlledBy("Job", "job")),
			owners: cluster{"job": object("job"), "fleet": object("fleet")},
			want:   []string{"Job job"},
		},
		"the first, where none is the controller": {
			pod:    object("pod", reference("Fleet", "fleet"), reference("Job", "job")),
			owners: cluster{"job": object("job"), "fleet": object("fleet")},
			want:   []string{"Fleet fleet"},
		},
		"a PodGang comes before the PodClique": {
			pod:    object("pod", controlledBy("PodClique", "clique")),
			labels: map[string]string{grove.LabelPodGang: "gang"},
			owners: cluster{"clique": object("clique"), "gang": object("gang", controlledBy("PodCliqueSet", "set")),
				"set": object("set")},
			want: []string{"PodGang gang", "PodCliqueSet set"},
		},
		"a missing owner ends the walk": {
			pod:     object("pod", controlledBy("ReplicaSet", "replicas")),
			owners:  cluster{"replicas": object("replicas", controlledBy("Deployment", "gone"))},
			want:    []string{"ReplicaSet replicas"},
			missing: "Deployment default/gone",
		},
		"an unreadable owner ends it, and is known by its reference": {
			pod:        object("pod", controlledBy("Job", "job")),
			owners:     cluster{"job": object("job", controlledBy("Secret", "secret"))},
			want:       []string{"Job job", "Secret secret"},
			unreadable: "Secret default/secret",
		},
		"a cycle of owners": {
			pod:    object("pod", controlledBy("A", "a")),
			owners: cluster{"a": object("a", controlledBy("B", "b")), "b": object("b", controlledBy("A", "a"))},
			want:   []string{"A a", "B b"},
			cycle:  "A default/a",
		},
		"an owner of itself": {
			pod:    object("pod", controlledBy("A", "a")),
			owners: cluster{"a": object("a", controlledBy("A", "a"))},
			want:   []string{"A a"},
			cycle:  "A default/a",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: *c.pod}
			pod.Labels = c.labels
			chain, err := owners.Walk(pod, c.owners.lookup)
			require.NoError(t, err)
			var got []string
			for _, owner := range chain.Owners {
				got = append(got, owner.Kind.Kind+" "+owner.GetName())
			}
			assert.Empty(t, cmp.Diff(c.want, got), "owners (-want +got)")
			for what, end := range map[string]struct {
				want string
				got  *owners.Reference
			}{"missing": {c.missing, chain.Missing}, "unreadable": {c.unreadable, chain.Unreadable},
				"cycle": {c.cycle, chain.Cycle}} {
				if (end.got == nil) != (end.want == "") || end.got != nil && end.got.String() != end.want {
					t.Errorf("%s is %v, want %q", what, end.got, end.want)
				}
			}
		})
	}
}

func TestWalkPassesOnOtherErrors(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: *object("pod", controlledBy("Broken", "x"))}
	_, err := owners.Walk(pod, cluster{}.lookup)
	require.Error(t, err)
	assert.NotErrorIs(t, err, owners.ErrMissing)
}

func TestAnUnreadableOwnerHasTheUIDOfItsReference(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: *object("pod", controlledBy("Secret", "secret"))}
	chain, err := owners.Walk(pod, cluster{}.lookup)
	require.NoError(t, err)
	assert.Equal(t, types.UID("uid-secret"), chain.Owners[0].GetUID())
}

func TestDependents(t *testing.T) {
	owner := func(kind, name string) grouping.Owner {
		return grouping.Owner{Object: object(name), Kind: corev1.SchemeGroupVersion.WithKind(kind)}
	}
	cron, job1, job2, fleet := owner("CronJob", "cron"), owner("Job", "job-1"), owner("Job", "job-2"), owner("Fleet",
		"fleet")
	dependents := owners.NewDependents()
	remember := func(chain owners.Chain) {
		t.Helper()
		_, err := dependents.Walk(func() (owners.Chain, error) { return chain, nil })
		require.NoError(t, err)
	}
	remember(owners.Chain{Owners: []grouping.Owner{job1, cron, fleet}})
	remember(owners.Chain{Owners: []grouping.Owner{job2, cron, fleet}})
	remember(owners.Chain{Owners: []grouping.Owner{job2, cron, fleet}})

	below := func(owner grouping.Owner) map[string]int {
		counted := map[string]int{}
		for _, reference := range dependents.Below(owners.ReferenceTo(owner)) {
			counted[reference.Name]++
		}
		return counted
	}
	assert.Empty(t, cmp.Diff(map[string]int{"fleet": 1, "cron": 1, "job-1": 1, "job-2": 1}, below(fleet)),
		"below the fleet (-want +got)")
	assert.Empty(t, cmp.Diff(map[string]int{"job-1": 1}, below(job1)), "below a Job (-want +got)")
	dependents.Forget(owners.ReferenceTo(job1))
	assert.Empty(t, cmp.Diff(map[string]int{"fleet": 1, "cron": 1, "job-2": 1}, below(fleet)),
		"below the fleet without a Job (-want +got)")
	dependents.Forget(owners.ReferenceTo(cron))
	assert.Empty(t, cmp.Diff(map[string]int{"fleet": 1}, below(fleet)),
		"below the fleet without the CronJob (-want +got)")
}

func TestAnOwnerThatChangesBeforeItIsRememberedIsReadAgain(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("Job")
	upper := object("upper")
	dependents := owners.NewDependents()
	reads := 0
	chain, err := dependents.Walk(func() (owners.Chain, error) {
		reads++
		read := upper.DeepCopy()
		if reads == 1 {
			// The watch reports it now, and finds no pod below.
			upper.Labels = map[string]string{"changed": "yes"}
		}
		return owners.Chain{Owners: []grouping.Owner{{Object: object("lower"), Kind: kind},
			{Object: read, Kind: kind}}}, nil
	})
	require.NoError(t, err)
	assert.Equal(t, "yes", chain.Owners[1].GetLabels()["changed"], "the chain has the owner as it was before")
	assert.Equal(t, 2, reads, "a new way is read twice")
	_, err = dependents.Walk(func() (owners.Chain, error) { reads++; return chain, nil })
	require.NoError(t, err)
	assert.Equal(t, 3, reads, "a known way is read once")
}
