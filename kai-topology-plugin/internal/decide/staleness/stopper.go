package staleness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/podgrouptree"
)

// Second look, and pace of attempts that fail.
const (
	mending  = time.Second
	slowest  = time.Minute
	stopping = "ran below its minimum for longer than stalenessGracePeriod: its pods are stopped, " +
		"so that all of them can start together"
)

// Stopper stops gangs at their deadline.
type Stopper struct {
	// Pods deletes pods.
	Pods coreclient.PodsGetter
	// Observe reads a gang, with assumed pods among the running ones. It returns nil if the gang does not exist any
	// more, or cannot be judged.
	Observe func(key gang.Key) (*gang.Gang, error)
	// Report is called for each gang that is stopped, with the reason.
	Report func(key gang.Key, reason string)
	clock  clock.PassiveClock
	queue  workqueue.TypedRateLimitingInterface[gang.Key]
}

// NewStopper returns a stopper that stops nothing until Run.
func NewStopper(
	pods coreclient.PodsGetter, observe func(gang.Key) (*gang.Gang, error), report func(gang.Key, string),
) *Stopper {
	return &Stopper{
		Pods: pods, Observe: observe, Report: report,
		clock: clock.RealClock{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[gang.Key](mending, slowest)),
	}
}

// Enqueue has a gang looked at. It is to be called whenever its PodGroup is new or changed.
func (s *Stopper) Enqueue(key gang.Key) { s.queue.Add(key) }

// Run stops gangs until ctx is done.
func (s *Stopper) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.queue.ShutDown)
	defer stop()
	for {
		key, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		if err := s.look(ctx, key); err != nil {
			klog.FromContext(ctx).Error(err, "Stopping a gang that runs below its minimum", "podGroup", key)
			s.queue.AddRateLimited(key)
		} else {
			s.queue.Forget(key)
		}
		s.queue.Done(key)
	}
}

// look stops a gang, or groups of it, after their deadline, and comes back at a deadline to come. The status can be
// older than the pods, so the pods decide.
func (s *Stopper) look(ctx context.Context, key gang.Key) error {
	observed, err := s.Observe(key)
	if err != nil || observed == nil {
		return err
	}
	var errs []error
	for group, deadline := range Leftovers(observed.PodGroup) {
		errs = append(errs, s.stopAt(ctx, key, deadline, func() []*corev1.Pod { return leftovers(observed, group) }))
	}
	if deadline, stops := Deadline(observed.PodGroup); stops {
		errs = append(errs, s.stopAt(ctx, key, deadline, func() []*corev1.Pod {
			if observed.Satisfied(gang.NoPending) || len(observed.Done) > 0 {
				return nil
			}
			return observed.Standing
		}))
	}
	return errors.Join(errs...)
}

// leftovers returns the pods of a group if they are of no use still.
func leftovers(observed *gang.Gang, group string) (pods []*corev1.Pod) {
	if !slices.ContainsFunc(observed.Leftovers(), func(left *podgrouptree.Group) bool { return left.Name == group }) {
		return nil
	}
	for _, pod := range observed.Standing {
		if gang.Within(observed.Tree, group, gang.LeafOf(pod)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// stopAt stops pods at a deadline, or comes back for it. If there are none, it comes back until the status says so too,
// or the last pods turn out not to stand.
func (s *Stopper) stopAt(ctx context.Context, key gang.Key, deadline time.Time, which func() []*corev1.Pod) error {
	if left := deadline.Sub(s.clock.Now()); left > 0 {
		s.queue.AddAfter(key, left)
		return nil
	}
	pods := which()
	if len(pods) == 0 {
		s.queue.AddAfter(key, mending)
	}
	return s.stop(ctx, key, pods)
}

func (s *Stopper) stop(ctx context.Context, key gang.Key, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	klog.FromContext(ctx).Info("Gang stopped: it ran below its minimum for longer than its stalenessGracePeriod",
		"podGroup", key, "pods", len(pods))
	s.Report(key, stopping)
	var errs []error
	for _, pod := range pods {
		err := s.Pods.Pods(pod.Namespace).Delete(ctx, pod.Name,
			metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("deleting pod %s: %w", pod.Name, err))
		}
	}
	return errors.Join(errs...)
}
