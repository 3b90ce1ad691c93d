package podcliqueset

import (
	"context"
	"errors"
	"fmt"
	"maps"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/termination"
	"packtree.dev/grove-operator/internal/topology"
)

// scope is the state of one pass: the set and its direct children, by name.
type scope struct {
	set           *grovev1alpha1.PodCliqueSet
	account       *corev1.ServiceAccount
	role          *rbacv1.Role
	binding       *rbacv1.RoleBinding
	services      map[string]*corev1.Service
	autoscalers   map[string]*autoscalingv2.HorizontalPodAutoscaler
	scalingGroups map[string]*grovev1alpha1.PodCliqueScalingGroup
	podCliques    map[string]*grovev1alpha1.PodClique
	// allPodCliques includes those of the scaling groups.
	allPodCliques map[string]*grovev1alpha1.PodClique
	gangs         map[string]*schedulerv1alpha1.PodGang
	topology      topology.Resolution
	// placedElsewhere are the names of the pods on nodes that were made for another topology than the set names.
	placedElsewhere []string
	// update is the decision about the update of the template.
	update rollout.Decision
	// updating is the progress of the update.
	updating status.Updating
	// happened counts the changes of the pass.
	happened *changes
	// termination is the decision of this pass about a replica that stays below its minimum.
	termination termination.Plan
}

func (s *scope) observed() status.Observed {
	observed := status.Observed{
		PodCliques: s.podCliques, ScalingGroups: s.scalingGroups, Topology: s.topology,
		PlacedElsewhere: s.placedElsewhere,
		Update:          s.update.Progress, Updating: s.updating,
	}
	for _, gang := range s.gangs {
		observed.Gangs = append(observed.Gangs, gang)
	}
	return observed
}

func (r *Reconciler) observe(ctx context.Context, set *grovev1alpha1.PodCliqueSet) (*scope, error) {
	scope := &scope{
		set:           set,
		services:      map[string]*corev1.Service{},
		autoscalers:   map[string]*autoscalingv2.HorizontalPodAutoscaler{},
		scalingGroups: map[string]*grovev1alpha1.PodCliqueScalingGroup{},
		podCliques:    map[string]*grovev1alpha1.PodClique{},
		allPodCliques: map[string]*grovev1alpha1.PodClique{},
		gangs:         map[string]*schedulerv1alpha1.PodGang{},
		update:        rollout.Decision{Progress: set.Status.UpdateProgress},
		happened:      &changes{},
	}
	err := errors.Join(r.observeAccess(ctx, scope), r.observeLists(ctx, scope))
	if err != nil {
		return nil, err
	}
	if scope.topology, err = lookup.Resolve(ctx, r.Client, r.Writer.Live, set); err != nil {
		return nil, err
	}
	return scope, r.observePlacedElsewhere(ctx, scope)
}

// observePlacedElsewhere reads the pods of gangs that keep another topology than the set names.
func (r *Reconciler) observePlacedElsewhere(ctx context.Context, scope *scope) error {
	named := scope.topology.Name
	for name, gang := range scope.gangs {
		if named == "" || gang.Annotations[grovev1alpha1.AnnotationTopologyKept] != named {
			continue
		}
		var list corev1.PodList
		if err := r.Client.List(ctx, &list, lookup.OfGang(scope.set.Namespace, name)...); err != nil {
			return fmt.Errorf("listing the pods of PodGang %s: %w", name, err)
		}
		for i := range list.Items {
			if pod := &list.Items[i]; pods.Active(pod) && pods.Scheduled(pod) && topology.MadeFor(pod, gang) != named {
				scope.placedElsewhere = append(scope.placedElsewhere, pod.Name)
			}
		}
	}
	return nil
}

// takenGangs returns an error for each PodGang that the set is to have and that another owner has. The pods of the set
// would wait for it without a reason.
func (r *Reconciler) takenGangs(ctx context.Context, scope *scope) error {
	var errs []error
	for _, name := range scope.gangNames() {
		if scope.gangs[name] != nil {
			continue
		}
		gang, err := get(ctx, r.Client, scope.set, name, &schedulerv1alpha1.PodGang{})
		if err != nil || gang == nil {
			errs = append(errs, err)
			continue
		}
		// The garbage collector removes what a set of the same name has left.
		if holder := metav1.GetControllerOf(gang); holder == nil || holder.Name != scope.set.Name {
			errs = append(errs, apply.ForeignError{Kind: "PodGang", Name: name, Holder: holder,
				Owner: metav1.OwnerReference{Kind: "PodCliqueSet", Name: scope.set.Name}})
		}
	}
	return errors.Join(errs...)
}

// gangNames are the names of the PodGangs that the set is to have.
func (s *scope) gangNames() []string {
	var names []string
	for replica := range layout.Replicas(s.set) {
		names = append(names, layout.BaseGang(s.set.Name, replica))
		for i := range s.set.Spec.Template.PodCliqueScalingGroups {
			config := &s.set.Spec.Template.PodCliqueScalingGroups[i]
			first := layout.GroupMinAvailable(config)
			if group := s.scalingGroups[layout.ScalingGroup(s.set.Name, replica, config.Name)]; group != nil {
				for at := first; at < group.Spec.Replicas; at++ {
					names = append(names, layout.ScaledGang(s.set.Name, replica, config.Name, at, first))
				}
			}
		}
	}
	return names
}

func (r *Reconciler) observeAccess(ctx context.Context, scope *scope) (err error) {
	if scope.account, err = get(ctx, r.Client, scope.set, layout.ServiceAccount(scope.set.Name),
		&corev1.ServiceAccount{}); err != nil {
		return err
	}
	if scope.role, err = get(ctx, r.Client, scope.set, layout.Role(scope.set.Name), &rbacv1.Role{}); err != nil {
		return err
	}
	scope.binding, err = get(ctx, r.Client, scope.set, layout.Role(scope.set.Name), &rbacv1.RoleBinding{})
	return err
}

// get returns the child of that name, or nil.
func get[T client.Object](
	ctx context.Context, reader client.Reader, set *grovev1alpha1.PodCliqueSet, name string, into T,
) (T, error) {
	var none T
	err := reader.Get(ctx, types.NamespacedName{Namespace: set.Namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("reading %T: %w", into, err)
	}
	return into, nil
}

func (r *Reconciler) observeLists(ctx context.Context, scope *scope) error {
	var services corev1.ServiceList
	var autoscalers autoscalingv2.HorizontalPodAutoscalerList
	var scalingGroups grovev1alpha1.PodCliqueScalingGroupList
	var podCliques grovev1alpha1.PodCliqueList
	var gangs schedulerv1alpha1.PodGangList
	for _, list := range []client.ObjectList{&services, &autoscalers, &scalingGroups, &podCliques, &gangs} {
		if err := r.Client.List(ctx, list, lookup.OfSet(scope.set)...); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	keep(scope.services, services.Items, scope.set)
	keep(scope.autoscalers, autoscalers.Items, scope.set)
	keep(scope.scalingGroups, scalingGroups.Items, scope.set)
	keep(scope.podCliques, podCliques.Items, scope.set)
	maps.Copy(scope.allPodCliques, scope.podCliques)
	for _, group := range scope.scalingGroups {
		keep(scope.allPodCliques, podCliques.Items, group)
	}
	keep(scope.gangs, gangs.Items, scope.set)
	return nil
}

// observeLive reads children with pods past the cache.
func (r *Reconciler) observeLive(ctx context.Context, scope *scope) error {
	var scalingGroups grovev1alpha1.PodCliqueScalingGroupList
	var podCliques grovev1alpha1.PodCliqueList
	for _, list := range []client.ObjectList{&scalingGroups, &podCliques} {
		if err := r.Writer.Live.List(ctx, list, lookup.Live(scope.set)...); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	keep(scope.scalingGroups, scalingGroups.Items, scope.set)
	keep(scope.podCliques, podCliques.Items, scope.set)
	return nil
}

// keep makes a map by name of the objects in a list that an owner controls.
func keep[T any, P interface {
	*T
	client.Object
}](into map[string]P, items []T, owner client.Object) {
	for i := range items {
		item := P(&items[i])
		if lookup.Belongs(item, owner) {
			into[item.GetName()] = item
		}
	}
}
