package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	blockLabel = "topology.packtree.dev/block"
	rackLabel  = "topology.packtree.dev/rack"
	ownLabel   = "chaos.packtree.dev/run"
	// subGroupLabel is the label by which a pod names its leaf.
	subGroupLabel = "kai.scheduler/subgroup-name"
	// finalizer delays the end of pods, like a slow owner.
	finalizer = "chaos.packtree.dev/kept"

	nodesPerRack  = 8
	racksPerBlock = 4
	gpusPerNode   = 8
)

// gang is a PodGroup with its owner's wishes.
type gang struct {
	name string
	// leaves has the wanted number of pods of each leaf; a gang without subgroups has one leaf without a name.
	leaves []leaf
	// sameNames means that a pod is recreated with its name, when the old one is gone; otherwise with another name, at
	// once.
	sameNames bool
	priority  string

	mu sync.Mutex
	// made is how often a pod was made for each seat.
	made     map[string]int
	finished bool
}

type leaf struct {
	name string
	pods int
}

func (r *Run) populate(ctx context.Context) error {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, r.topology(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: r.Name}, Value: 1000},
	}
	for i := range r.Racks * nodesPerRack {
		objects = append(objects, r.node(i))
	}
	for _, object := range objects {
		if err := r.Create(ctx, object); err != nil {
			return err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	if err := live.Wait(waiting, "the nodes take pods",
		r.NodesTakePods(map[string]string{ownLabel: r.Name})); err != nil {
		return err
	}
	return live.Wait(waiting, "the namespace takes pods", r.NamespaceTakesPods(r.Name))
}

// Clean deletes all objects of a run.
func (r *Run) Clean(ctx context.Context) error {
	for _, object := range []client.Object{&corev1.Pod{}, &scheduling.PodGroup{}} {
		if err := r.DeleteAllOf(ctx, object, client.InNamespace(r.Name), client.GracePeriodSeconds(0)); err != nil {
			return err
		}
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, r.topology(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: r.Name}},
	} {
		if err := r.Delete(ctx, object); err != nil {
			return err
		}
	}
	return r.DeleteAllOf(ctx, &corev1.Node{}, client.MatchingLabels{ownLabel: r.Name})
}

func (r *Run) topology() *kai.Topology {
	return &kai.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: r.Name},
		Spec: kai.TopologySpec{
			Levels: []kai.TopologyLevel{{NodeLabel: blockLabel}, {NodeLabel: rackLabel},
				{NodeLabel: corev1.LabelHostname}},
		},
	}
}

func (r *Run) nodeName(i int) string { return fmt.Sprintf("%s-%04d", r.Name, i) }

func (r *Run) node(i int) *corev1.Node {
	rack := i / nodesPerRack
	return live.FakeNode(r.nodeName(i), map[string]string{
		ownLabel: r.Name, blockLabel: fmt.Sprintf("block-%d", rack/racksPerBlock),
		rackLabel: fmt.Sprintf("rack-%d", rack),
	}, gpusPerNode)
}

// come creates the gangs one after the other.
func (r *Run) come(ctx context.Context) error {
	pace := time.NewTicker(r.Pace)
	defer pace.Stop()
	for i := range r.Gangs {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pace.C:
		}
		g, podGroup := r.gang(i)
		if err := r.Create(ctx, podGroup); err != nil {
			return fmt.Errorf("creating PodGroup: %w", err)
		}
		r.mu.Lock()
		r.gangs = append(r.gangs, g)
		r.mu.Unlock()
		if (i+1)%100 == 0 {
			r.say("%d of %d gangs have come", i+1, r.Gangs)
		}
	}
	return nil
}

// gang is the i-th gang: of one leaf in a rack, with pods above its minimum, of two leaves in a rack each of one block,
// with a preferred rack, or without a constraint.
func (r *Run) gang(i int) (*gang, *scheduling.PodGroup) {
	g := &gang{name: fmt.Sprintf("gang-%04d", i), sameNames: r.chance(0.5), made: map[string]int{}}
	size := 2 + r.choose(5)
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: r.Name, Name: g.name}}
	podGroup.Spec.StalenessGracePeriod = &metav1.Duration{Duration: 5 * time.Second}
	if r.chance(0.05) {
		g.priority = r.Name
		podGroup.Spec.PriorityClassName = r.Name
	}
	required := func(level string) *scheduling.TopologyConstraint {
		return &scheduling.TopologyConstraint{Topology: r.Name, RequiredTopologyLevel: level}
	}
	g.leaves = []leaf{{pods: size}}
	podGroup.Spec.MinMember, podGroup.Spec.TopologyConstraint = new(int32(size)), required(rackLabel)
	switch i % 6 {
	case 1:
		g.leaves[0].pods += 2
	case 2, 3:
		g.leaves = []leaf{{name: "left", pods: size}, {name: "right", pods: 2}}
		podGroup.Spec.MinMember, podGroup.Spec.TopologyConstraint = nil, required(blockLabel)
		for _, l := range g.leaves {
			podGroup.Spec.SubGroups = append(podGroup.Spec.SubGroups, scheduling.SubGroup{
				Name: l.name, MinMember: new(int32(l.pods)), TopologyConstraint: required(rackLabel),
			})
		}
	case 4:
		podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: r.Name,
			PreferredTopologyLevel: rackLabel}
	case 5:
		podGroup.Spec.TopologyConstraint = nil
	}
	return g, podGroup
}

// seats are the first names of a gang's pods, with the leaf of each.
func (g *gang) seats() map[string]string {
	seats := map[string]string{}
	for _, l := range g.leaves {
		for i := range l.pods {
			seats[fmt.Sprintf("%s-%s%d", g.name, l.name, i)] = l.name
		}
	}
	return seats
}

func gangOf(pod *corev1.Pod) string { return pod.Annotations[scheduling.AnnotationPodGroupName] }

// seatLabel names the seat of its gang for which a pod was made.
const seatLabel = "chaos.packtree.dev/seat"

func (r *Run) pod(g *gang, seat, leaf string, generation int) *corev1.Pod {
	one := corev1.ResourceList{live.GPU: resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("100m")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: seat, Namespace: r.Name, Labels: map[string]string{seatLabel: seat},
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: g.name,
				kai.AnnotationSkipPodGrouper: "true"},
		},
		Spec: corev1.PodSpec{
			SchedulerName:                 kai.SchedulerName,
			PriorityClassName:             g.priority,
			NodeSelector:                  map[string]string{ownLabel: r.Name},
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{
				Name: "c", Image: "none", Resources: corev1.ResourceRequirements{Requests: one, Limits: one},
			}},
		},
	}
	if leaf != "" {
		pod.Labels[subGroupLabel] = leaf
	}
	if !g.sameNames && generation > 0 {
		pod.Name = fmt.Sprintf("%s-again%d", seat, generation)
	}
	if r.chance(0.05) {
		pod.Finalizers = []string{finalizer}
	}
	return pod
}

// own does the work of the pods' owners: it makes missing pods, replaces failed ones and removes the finalizer of
// deleted ones. It also deletes pods without their node, as the garbage collector does: that marks them as failed
// first, and then finds a new node with that name.
func (r *Run) own(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes, client.MatchingLabels{ownLabel: r.Name}); err != nil {
		return err
	}
	exists := map[string]bool{}
	for i := range nodes.Items {
		exists[nodes.Items[i].Name] = true
	}
	byGang, err := r.byGang(ctx)
	if err != nil {
		return err
	}
	var owners errgroup.Group
	owners.SetLimit(8)
	for _, g := range r.all() {
		owners.Go(func() error { return r.ownGang(ctx, g, byGang[g.name], exists) })
	}
	return owners.Wait()
}

func (r *Run) ownGang(ctx context.Context, g *gang, pods []*corev1.Pod, exists map[string]bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := map[string]bool{}
	for _, pod := range pods {
		seat := pod.Labels[seatLabel]
		switch {
		case pod.DeletionTimestamp != nil:
			taken[seat] = taken[seat] || g.sameNames
			if err := r.letGo(ctx, pod); err != nil {
				return err
			}
		case g.finished || over(pod, exists):
			taken[seat] = true
			if err := r.kill(ctx, pod); err != nil {
				return err
			}
		default:
			taken[seat] = true
		}
	}
	if g.finished {
		return nil
	}
	for seat, leaf := range g.seats() {
		if taken[seat] {
			continue
		}
		if err := r.Create(ctx, r.pod(g, seat, leaf, g.made[seat])); err != nil {
			return fmt.Errorf("creating a pod: %w", err)
		}
		g.made[seat]++
	}
	return nil
}

// over reports whether a pod has failed, or its node is gone.
func over(pod *corev1.Pod, exists map[string]bool) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName != "" && !exists[pod.Spec.NodeName]
}

// letGo removes the finalizer of a pod some time after its deletion. One without any is deleted once more, as its
// kubelet does: a client that dies while the API server deletes for it leaves a pod behind that is marked as deleted.
func (r *Run) letGo(ctx context.Context, pod *corev1.Pod) error {
	if time.Since(pod.DeletionTimestamp.Time) < 2*time.Second {
		return nil
	}
	if len(pod.Finalizers) == 0 {
		return r.kill(ctx, pod)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	return client.IgnoreNotFound(r.Patch(ctx, pod.DeepCopy(), patch))
}

// kill deletes this very pod, and no other with its name.
func (r *Run) kill(ctx context.Context, pod *corev1.Pod) error {
	err := r.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
