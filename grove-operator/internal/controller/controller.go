// Package controller puts the controllers together.
package controller

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/installation"
	"packtree.dev/shared/managerstart"
	"packtree.dev/shared/objectcount"

	"packtree.dev/grove-operator/internal/controller/clustertopology"
	"packtree.dev/grove-operator/internal/controller/podclique"
	"packtree.dev/grove-operator/internal/controller/podcliquescalinggroup"
	"packtree.dev/grove-operator/internal/controller/podcliqueset"
	"packtree.dev/grove-operator/internal/controller/podgang"
	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/lookup"
)

// Scheme knows every kind that the operator reads or writes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(grovev1alpha1.AddToScheme(scheme))
	utilruntime.Must(schedulerv1alpha1.AddToScheme(scheme))
	utilruntime.Must(kaiv1alpha1.AddToScheme(scheme))
	return scheme
}

// Cache keeps only the operator's own objects of widely used kinds, and strips all objects to the fields that are read.
func Cache() cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{
		grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue,
	})}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                            ours,
			&corev1.Service{}:                        ours,
			&corev1.ServiceAccount{}:                 ours,
			&rbacv1.Role{}:                           ours,
			&rbacv1.RoleBinding{}:                    ours,
			&autoscalingv2.HorizontalPodAutoscaler{}: ours,
			&resourcev1.ResourceClaim{}:              ours,
			&corev1.Node{}:                           {Transform: clustertopology.LabelsOnly},
		},
	}
}

// Writer writes as the operator. Client reads from a cache that was made with Cache, live reads past it.
func Writer(cached client.Client, live client.Reader) apply.Writer {
	return apply.Writer{
		Client: cached, Live: live, FieldOwner: "grove-operator",
		CompleteGroups: []string{grovev1alpha1.GroupName, schedulerv1alpha1.GroupName},
	}
}

// Add registers every controller with a manager that was made with Scheme and Cache.
func Add(ctx context.Context, mgr manager.Manager, config *groveconfigv1alpha1.OperatorConfiguration) error {
	if err := lookup.AddIndexes(ctx, managerstart.Indexer(mgr)); err != nil {
		return err
	}
	cached, now := mgr.GetClient(), clock.RealClock{}
	writer := Writer(cached, mgr.GetAPIReader())
	recorder := events.New(mgr.GetEventRecorder("grove-operator"))
	syncs := config.Controllers
	bindings, err := installation.Await(mgr,
		grovev1alpha1.GroupVersion.WithKind(grovev1alpha1.KindClusterTopologyBinding))
	if err != nil {
		return err
	}
	for name, add := range map[string]func() error{
		"PodCliqueSet": func() error {
			reconciler := &podcliqueset.Reconciler{Client: cached, Writer: writer, Clock: now, Events: recorder}
			return reconciler.SetupWithManager(mgr, *syncs.PodCliqueSet.ConcurrentSyncs, bindings)
		},
		"PodCliqueScalingGroup": func() error {
			reconciler := &podcliquescalinggroup.Reconciler{Client: cached, Writer: writer, Clock: now,
				Events: recorder}
			return reconciler.SetupWithManager(mgr, *syncs.PodCliqueScalingGroup.ConcurrentSyncs)
		},
		"PodClique": func() error {
			reconciler := &podclique.Reconciler{
				Client: cached, Writer: writer, Clock: now, Events: recorder,
				DefaultScheduler: *config.DefaultSchedulerName, Startup: config.StartupOrder,
			}
			return reconciler.SetupWithManager(mgr, *syncs.PodClique.ConcurrentSyncs)
		},
		"PodGang": func() error {
			reconciler := &podgang.Reconciler{Client: cached, Writer: writer, Clock: now}
			return reconciler.SetupWithManager(mgr, *syncs.PodGang.ConcurrentSyncs, bindings)
		},
		"ResourceClaim": func() error {
			reconciler := &podcliqueset.ClaimsReconciler{Client: cached, Writer: writer, Events: recorder}
			return reconciler.SetupWithManager(mgr, *syncs.PodCliqueSet.ConcurrentSyncs)
		},
		"ClusterTopology": func() error {
			reconciler := &clustertopology.Reconciler{
				Client: cached, Writer: writer, Configuration: config.TopologyAwareScheduling,
				Bindings: bindings, Clock: now, AdmissionTime: clustertopology.AdmissionTime,
			}
			return reconciler.SetupWithManager(mgr)
		},
	} {
		if err := add(); err != nil {
			return fmt.Errorf("adding the controller of %ss: %w", name, err)
		}
	}
	return objectcount.Add(mgr, sets, constraints, gangs)
}
