package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/brief"
	"packtree.dev/shared/kueue"
)

const (
	// askAgain is after how many seconds Kueue tries a gang again that does not fit.
	askAgain = 10
	// askSoon is when a workload is looked at again that could not be answered for.
	askSoon = 5 * time.Second
)

// admission answers Kueue's AdmissionChecks: whether a gang fits now, before Kueue gives its quota to it. It decides as
// the scheduler does, on a copy of the cluster, and writes the states of its checks.
type admission struct {
	*Plugin
	client dynamic.Interface
	// decide is answer, or what a test has in its place.
	decide                func(context.Context, *kueue.Workload) (state, message string, err error)
	checks, workloads     cache.GenericLister
	checksSync, knownSync cache.InformerSynced
	wake                  chan struct{}
}

// admitBy starts to answer checks as soon as this process leads. Kueue may be installed later.
func (p *Plugin) admitBy(ctx context.Context, client dynamic.Interface, leading <-chan struct{}) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	checks, workloads := factory.ForResource(kueue.AdmissionChecks), factory.ForResource(kueue.Workloads)
	a := &admission{
		Plugin: p, client: client, checks: checks.Lister(), workloads: workloads.Lister(),
		checksSync: checks.Informer().HasSynced, knownSync: workloads.Informer().HasSynced,
		wake: make(chan struct{}, 1),
	}
	a.decide = a.answer
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { a.changed() }, UpdateFunc: func(any, any) { a.changed() },
	}
	for _, informer := range []cache.SharedIndexInformer{checks.Informer(), workloads.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching Kueue: %w", err)
		}
	}
	go func() {
		select {
		case <-leading:
			factory.Start(ctx.Done())
			a.run(ctx)
		case <-ctx.Done():
		}
	}()
	return nil
}

func (a *admission) changed() {
	select {
	case a.wake <- struct{}{}:
	default: // It is awake.
	}
}

// run answers until ctx is done, one workload after the other: each sees the cluster as the one before has left it.
func (a *admission) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), a.checksSync, a.knownSync) {
		return
	}
	for ctx.Err() == nil {
		again, err := a.once(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Answering an AdmissionCheck")
			again = askSoon
		}
		var timer <-chan time.Time
		if again > 0 {
			timer = time.After(again)
		}
		select {
		case <-ctx.Done():
		case <-a.wake:
		case <-timer:
		}
	}
}

// once answers for the longest-waiting workload that can be answered for. It returns when to look again; 0 if that need
// not be.
func (a *admission) once(ctx context.Context) (again time.Duration, err error) {
	ours, err := a.ourChecks(ctx)
	if err != nil || len(ours) == 0 {
		return 0, err
	}
	all, err := a.workloads.List(labels.Everything())
	if err != nil {
		return 0, fmt.Errorf("reading workloads: %w", err)
	}
	var asked []*kueue.Workload
	for _, object := range all {
		if workload := kueue.ReadWorkload(object.(*unstructured.Unstructured)); len(workload.Pending(ours)) > 0 {
			asked = append(asked, workload)
		}
	}
	if len(asked) == 0 {
		return 0, nil
	}
	slices.SortFunc(asked, func(x, y *kueue.Workload) int {
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
	})
	var failed []error
	for _, workload := range asked { // None waits for one before it that cannot be answered for.
		state, message, err := a.decide(ctx, workload)
		if err == nil && state != "" {
			err = a.write(ctx, workload, workload.Pending(ours), state, message)
			if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				return 0, errors.Join(failed...) // It has changed, which wakes.
			}
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("workload %s/%s: %w", workload.Namespace, workload.Name, err))
		}
	}
	return askSoon, errors.Join(failed...)
}

// ourChecks returns the names of the AdmissionChecks that are for this controller, and says of each that it works.
func (a *admission) ourChecks(ctx context.Context) (names []string, err error) {
	all, err := a.checks.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("reading AdmissionChecks: %w", err)
	}
	for _, object := range all {
		check := object.(*unstructured.Unstructured)
		if !kueue.IsCheckOf(check, kueue.ControllerFits) {
			continue
		}
		names = append(names, check.GetName())
		if kueue.IsActive(check) {
			continue
		}
		_, err := a.client.Resource(kueue.AdmissionChecks).ApplyStatus(ctx, check.GetName(),
			kueue.ActiveCheck(check, metav1.NewTime(a.clock.Now())), admissionOwner)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("answering for AdmissionCheck %s: %w", check.GetName(), err)
		}
	}
	return names, nil
}

var admissionOwner = metav1.ApplyOptions{FieldManager: "packtree-admission-check", Force: true}

func (a *admission) write(
	ctx context.Context, workload *kueue.Workload, checks []string, state, message string,
) error {
	states := kueue.CheckStates(workload, checks, state, message, askAgain, metav1.NewTime(a.clock.Now()))
	_, err := a.client.Resource(kueue.Workloads).Namespace(workload.Namespace).ApplyStatus(ctx, workload.Name, states,
		admissionOwner)
	return err
}

// answer decides whether the pods of a workload fit now. The state is empty if that cannot be said yet.
func (a *admission) answer(ctx context.Context, workload *kueue.Workload) (state, message string, err error) {
	cluster, err := a.shownAndAssumed()
	if err != nil {
		return "", "", err
	}
	pods := admitted(cluster, workload)
	if len(pods) == 0 {
		return kueue.CheckReady, "it has no pods yet, so the scheduler cannot say whether they fit", nil
	}
	key, member := gang.KeyOf(pods[0])
	if !a.lister.Ours(pods[0].Spec.SchedulerName) {
		return kueue.CheckReady, "its pods are placed by another scheduler", nil
	}
	if !member || !a.profiles.speaksFor(a.name, pods) {
		return "", "", nil
	}
	var answer *solve.Answer
	err = a.profiles.copied.On(ctx, cluster, func(table *turns.Table) error {
		all := turns.In(cluster)
		at := slices.IndexFunc(all, func(turn turns.Turn) bool { return turn.Rank.Gang == key })
		if at < 0 {
			return nil // Its PodGroup is yet to be made.
		}
		answer, err = table.Respecting(a.reserved).Decide(ctx, all[at], 0)
		return err
	})
	if err != nil || answer == nil {
		return "", "", err
	}
	state, message = fits(answer, pods)
	return state, message, nil
}

// fits is what an answer for a gang says to Kueue about some of its pods: they fit if each of them gets a node.
func fits(answer *solve.Answer, pods []*corev1.Pod) (state, message string) {
	for _, pod := range pods {
		if _, ok := answer.Nodes[pod.Name]; !ok && pod.Spec.NodeName == "" {
			message = cmp.Or(answer.Message, "the pods have no room")
			return kueue.CheckRetry, brief.Message(message)
		}
	}
	return kueue.CheckReady, "the scheduler has room for it"
}

// admitted puts the pods of a workload into a cluster as they will be once Kueue has admitted it, and returns them.
func admitted(cluster *inventory.Inventory, workload *kueue.Workload) (pods []*corev1.Pod) {
	for i, pod := range cluster.Pods {
		if pod.Namespace != workload.Namespace || pod.Labels[kueue.LabelGroup] != workload.Name ||
			pod.DeletionTimestamp != nil {
			continue
		}
		free := *pod
		free.Spec.SchedulingGates = nil
		cluster.Pods[i] = &free
		pods = append(pods, &free)
	}
	return pods
}
