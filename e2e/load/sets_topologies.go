package load

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const (
	used   = "used"
	unused = "unused"
)

// TopologyChanges are how long changes of ClusterTopologies take beside many sets that use one of them, in seconds.
type TopologyChanges struct {
	Sets int `json:"sets"`
	// UnusedChanged is until the API server answers a change of the levels of a topology that nobody uses.
	UnusedChanged float64 `json:"unusedChangedSeconds"`
	// UsedDeleted is until it answers the deletion of the one that all sets use.
	UsedDeleted float64 `json:"usedDeletedSeconds"`
	// Drifted is how the sets learn that a level is gone, Returned that it is back.
	Drifted  Spread `json:"drifted"`
	Returned Spread `json:"returned"`
}

// Spread is how a change of levels reaches the sets.
type Spread struct {
	// Answered is until the API server answers the change.
	Answered float64 `json:"answeredSeconds"`
	// All is until the conditions of all sets tell.
	All float64 `json:"allSeconds"`
	// Settled is until the operator rests, PodGangs included.
	Settled float64 `json:"settledSeconds"`
	// CPUSeconds are the operator's.
	CPUSeconds float64        `json:"cpuSeconds"`
	Writes     map[string]int `json:"writes"`
}

// topologies has many sets use a topology, and changes it and another one.
func (b *setsBench) topologies(ctx context.Context, report *SetsReport) error {
	for _, name := range []string{used, unused} {
		if _, err := b.kai.GroveV1alpha1().ClusterTopologies().Create(ctx, clusterTopology(name), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating ClusterTopology %s: %w", name, err)
		}
	}
	sets := make([]*grovev1alpha1.PodCliqueSet, b.options.Users)
	for i := range sets {
		sets[i] = setOf(fmt.Sprintf("user-%04d", i), 1, 1)
		sets[i].Spec.Template.ClusterTopologyName = used
		sets[i].Spec.Template.TopologyConstraint = &grovev1alpha1.TopologyConstraint{PackDomain: grovev1alpha1.TopologyDomainRack}
	}
	exist, _, _ := b.pods.count()
	made, err := b.step(ctx, "users", exist+len(sets), func() error { return parallel(ctx, sets, b.createSet) })
	if err != nil {
		return err
	}
	report.Steps = append(report.Steps, made)
	changes := &TopologyChanges{Sets: len(sets)}
	if changes.UnusedChanged, err = b.timed(func() error { return b.setLevels(ctx, unused, "zone") }); err != nil {
		return err
	}
	if changes.Drifted, err = b.spread(ctx, metav1.ConditionTrue, "zone"); err != nil {
		return err
	}
	if changes.Returned, err = b.spread(ctx, metav1.ConditionFalse, "zone", "rack"); err != nil {
		return err
	}
	changes.UsedDeleted, err = b.timed(func() error {
		return b.kai.GroveV1alpha1().ClusterTopologies().Delete(ctx, used, metav1.DeleteOptions{})
	})
	report.Topologies = changes
	b.say("topologies: unused changed in %.2f s, used deleted in %.2f s, drift in %.1f s, return in %.1f s",
		changes.UnusedChanged, changes.UsedDeleted, changes.Drifted.All, changes.Returned.All)
	return err
}

func clusterTopology(name string) *grovev1alpha1.ClusterTopology {
	made := &grovev1alpha1.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, domain := range []grovev1alpha1.TopologyDomain{"zone", "rack"} {
		made.Spec.Levels = append(made.Spec.Levels, grovev1alpha1.TopologyLevel{Domain: domain, Key: keyOf(domain)})
	}
	return made
}

func keyOf(domain grovev1alpha1.TopologyDomain) string { return "load.example.com/" + string(domain) }

func (*setsBench) timed(do func() error) (seconds float64, err error) {
	began := time.Now()
	err = do()
	return time.Since(began).Seconds(), err
}

func (b *setsBench) setLevels(ctx context.Context, name string, domains ...grovev1alpha1.TopologyDomain) error {
	levels := ""
	for i, domain := range domains {
		if i > 0 {
			levels += ","
		}
		levels += fmt.Sprintf(`{"domain":%q,"key":%q}`, domain, keyOf(domain))
	}
	patch := fmt.Appendf(nil, `{"spec":{"levels":[%s]}}`, levels)
	_, err := b.kai.GroveV1alpha1().ClusterTopologies().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("changing the levels of ClusterTopology %s: %w", name, err)
	}
	return nil
}

// spread changes the levels of the topology in use and waits until all sets tell, as a watch sees it.
func (b *setsBench) spread(ctx context.Context, wanted metav1.ConditionStatus, domains ...grovev1alpha1.TopologyDomain) (Spread, error) {
	ctx, cancel := context.WithTimeout(ctx, b.options.Patience)
	defer cancel()
	sets := b.kai.GroveV1alpha1().PodCliqueSets(namespace)
	list, err := sets.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return Spread{}, err
	}
	events, err := sets.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return Spread{}, err
	}
	defer events.Stop()
	before, err := b.read(ctx)
	if err != nil {
		return Spread{}, err
	}
	told := map[string]bool{}
	users := 0
	see := func(set *grovev1alpha1.PodCliqueSet) {
		told[set.Name] = meta.IsStatusConditionPresentAndEqual(set.Status.Conditions, grovev1alpha1.ConditionTopologyLevelsUnavailable, wanted)
	}
	for i := range list.Items {
		if list.Items[i].Spec.Template.ClusterTopologyName == used {
			users++
			see(&list.Items[i])
		}
	}
	began := time.Now()
	if err := b.setLevels(ctx, used, domains...); err != nil {
		return Spread{}, err
	}
	s := Spread{Answered: time.Since(began).Seconds()}
	for count(told) < users {
		select {
		case <-ctx.Done():
			return Spread{}, fmt.Errorf("waiting until %d sets tell: %w; %d do", users, context.Cause(ctx), count(told))
		case event, open := <-events.ResultChan():
			set, ok := event.Object.(*grovev1alpha1.PodCliqueSet)
			if !open || !ok {
				return Spread{}, fmt.Errorf("the watch of sets ended: %v", event)
			}
			if set.Spec.Template.ClusterTopologyName == used {
				see(set)
			}
		}
	}
	s.All = time.Since(began).Seconds()
	settled, err := b.settle(ctx)
	if err != nil {
		return Spread{}, err
	}
	after, err := b.read(ctx)
	if err != nil {
		return Spread{}, err
	}
	s.Settled, s.CPUSeconds, s.Writes = settled.Sub(began).Seconds(), (after.operatorCPU - before.operatorCPU).Seconds(), writes(before, after)
	return s, nil
}

func count(told map[string]bool) (yes int) {
	for _, is := range told {
		if is {
			yes++
		}
	}
	return yes
}
