package explanation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// maxRemedied is for how many waiting gangs of one workload remedies are looked for.
const maxRemedied = 3

// Report is the explanation.
type Report struct {
	// Target is what was asked about.
	Target Object `json:"target"`
	// Chain is the outermost object above the target, with those between them and all below the target but the pods.
	Chain *Object `json:"chain"`
	// Gangs are those of the target, in the order of the scheduler.
	Gangs []*Gang `json:"gangs"`
	// Notes say what the answer leaves out.
	Notes []string `json:"notes"`
}

// Of explains an object of a namespace.
func Of(ctx context.Context, cluster *inventory.Inventory, namespace string, target Target) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := grow(cluster, namespace)
	object, err := f.find(target, namespace)
	if err != nil {
		return nil, err
	}
	report := &Report{
		Target: Object{Kind: object.Kind, Namespace: object.Namespace, Name: object.Name},
		Gangs:  []*Gang{}, Notes: []string{},
	}
	asked, note := turnsOf(cluster, object)
	if note != "" {
		report.Notes = append(report.Notes, note)
	}
	if len(asked) > 0 {
		report.Gangs, err = judge(ctx, cluster, asked)
		if err != nil {
			return nil, err
		}
	}
	report.Chain = chain(object)
	return report, nil
}

// turnsOf returns the gangs of an object; a pod without one is a gang by itself.
func turnsOf(cluster *inventory.Inventory, object *Object) ([]turns.Turn, string) {
	all := turns.In(cluster)
	if object.pod != nil {
		key, member := gang.KeyOf(object.pod)
		switch {
		case !member && gang.Expected(object.pod):
			return nil, fmt.Sprintf(
				"pod %s does not name its PodGroup yet (annotation %s): the pod grouper does that; is it running?",
				object.Name, scheduling.AnnotationPodGroupName)
		case !member:
			return []turns.Turn{alone(cluster, object.pod)}, ""
		case !cluster.Has(key):
			return nil, fmt.Sprintf("pod %s waits for PodGroup %s, which does not exist", object.Name, key)
		}
		object = object.parent
	}
	wanted := map[gang.Key]bool{}
	collect(object, wanted)
	var asked []turns.Turn
	for _, turn := range all {
		if wanted[turn.Rank.Gang] {
			asked = append(asked, turn)
		}
	}
	if len(asked) == 0 {
		return nil, fmt.Sprintf(
			"%s %s has no PodGroup yet: look at its conditions, and whether the controller "+
				"that creates the next object runs",
			object.Kind, object.Name)
	}
	return asked, ""
}

func collect(object *Object, wanted map[gang.Key]bool) {
	if object.podGroup != nil {
		wanted[gang.Key{Namespace: object.Namespace, Name: object.Name}] = true
	}
	for _, child := range object.Objects {
		collect(child, wanted)
	}
}

// alone makes a gang of one pod, which the same questions can be asked about.
func alone(cluster *inventory.Inventory, pod *corev1.Pod) turns.Turn {
	one := int32(1)
	podGroup := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, CreationTimestamp: pod.CreationTimestamp,
		},
		Spec: scheduling.PodGroupSpec{MinMember: &one},
	}
	assembled, hold := gang.Assemble(podGroup, []*corev1.Pod{pod}, cluster.Levels)
	return turns.Turn{Gang: assembled, Hold: hold, Rank: assembled.Rank()}
}

// chain returns the outermost object, with only those between it and the target, and without the pods of gangs.
func chain(object *Object) *Object {
	printed := withoutPods(object)
	for up := object.parent; up != nil; up = up.parent {
		above := *up
		above.Objects = []*Object{printed}
		printed = &above
	}
	return printed
}

func withoutPods(object *Object) *Object {
	printed := *object
	printed.Objects = nil
	for _, child := range object.Objects {
		if child.pod == nil {
			printed.Objects = append(printed.Objects, withoutPods(child))
		}
	}
	return &printed
}
