package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/replacement"
	"packtree.dev/kai-topology-plugin/internal/turns"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

const (
	// answerShare is how much of one core the answers to new questions may take: a half. Whoever asked waits.
	answerShare = 2
	// reviewShare is how much it may take to answer questions again because the cluster has changed, at most once in
	// reviewApart: a tenth.
	reviewShare = 10
	reviewApart = time.Second
)

// questions are when those of PodGroups are to be answered about successors of their pods.
type questions struct {
	// any is set if the last look found a question, or one has come since.
	any atomic.Bool
	// fresh is set if one has come since the last answers were begun, and changed if the cluster has changed since.
	fresh, changed atomic.Bool
	wake           chan struct{}
	// ended is when the last answers were given, and took how long they took. They belong to who answers.
	ended time.Time
	took  time.Duration
}

func newQuestions() *questions { return &questions{wake: make(chan struct{}, 1)} }

// podGroupSeen records what a PodGroup asks. Old is nil if it is new.
func (q *questions) podGroupSeen(old, podGroup *scheduling.PodGroup) {
	question, _ := successors.Parse(podGroup.Annotations)
	if question == nil {
		return
	}
	q.any.Store(true)
	var before *successors.Question
	if old != nil {
		before, _ = successors.Parse(old.Annotations)
	}
	if before == nil || before.ID != question.ID {
		q.fresh.Store(true)
		q.wakeUp()
	}
}

// clusterChanged records that another answer may be right than before.
func (q *questions) clusterChanged() {
	if q.any.Load() && !q.changed.Swap(true) {
		q.wakeUp()
	}
}

func (q *questions) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default: // It is awake.
	}
}

// due returns how long it is until the questions are to be answered; false if they are not.
func (q *questions) due(now time.Time) (time.Duration, bool) {
	var rest time.Duration
	switch {
	case q.fresh.Load():
		rest = q.took * (answerShare - 1)
	case q.changed.Load():
		rest = max(reviewApart, q.took*(reviewShare-1))
	default:
		return 0, false
	}
	return max(0, q.ended.Add(rest).Sub(now)), true
}

// asked is a question of a gang, and why it cannot be read; nil if it can.
type asked struct {
	*successors.Question
	unread error
}

// begin returns the questions that are to be answered now, of the PodGroups that there are. The cluster is to be read
// after that.
func (q *questions) begin(list func() ([]*scheduling.PodGroup, error)) (map[gang.Key]asked, error) {
	q.fresh.Store(false)
	q.changed.Store(false)
	q.any.Store(false)
	podGroups, err := list()
	if err != nil {
		return nil, fmt.Errorf("reading PodGroups: %w", err)
	}
	all := map[gang.Key]asked{}
	for _, podGroup := range podGroups {
		if question, err := successors.Parse(podGroup.Annotations); question != nil {
			all[gang.KeyOfPodGroup(podGroup)] = asked{question, err}
			q.any.Store(true)
		}
	}
	return all, nil
}

// end records that they were answered; those that were not are answered later.
func (q *questions) end(began, now time.Time, failed bool) {
	q.ended, q.took = now, now.Sub(began)
	if failed {
		q.any.Store(true)
		q.changed.Store(true)
	}
}

// answerer answers questions about successors.
type answerer struct {
	beside
	*questions
}

// run answers questions about successors, on a copy of the cluster and beside the scheduling loop, until ctx is
// done. They are answered again when the cluster has changed.
func (a *answerer) run(ctx context.Context) {
	for {
		var timer <-chan time.Time
		if wait, due := a.due(a.clock.Now()); due {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
			continue
		case <-timer:
		}
		began := a.clock.Now()
		err := a.once(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Answering whether successors of pods would have room")
		}
		a.end(began, a.clock.Now(), err != nil)
	}
}

func (a *answerer) once(ctx context.Context) error {
	all, err := a.begin(func() ([]*scheduling.PodGroup, error) { return a.lister.PodGroups.List(labels.Everything()) })
	if err != nil {
		return err
	}
	answers := map[gang.Key]successors.Answer{}
	var open []replacement.Asked
	for key, question := range all {
		last := a.gangs.SuccessorsAnswer(key)
		answered := last.ID == question.ID && last.Fits != ""
		switch {
		case !a.speaksFor(key):
		case question.unread != nil:
			answers[key] = successors.Answer{
				ID: question.ID, Fits: metav1.ConditionUnknown, Reason: scheduling.ReasonNotAnswered,
				Sentence: question.unread.Error(),
			}
		case !answered || question.Adds() || a.anyStands(key.Namespace, question.Question):
			granted := answered && last.Fits == metav1.ConditionTrue
			open = append(open, replacement.Asked{Gang: key, Question: question.Question, Granted: granted})
		}
	}
	if len(open) > 0 {
		cluster, err := a.shownAndAssumed()
		if err != nil {
			return err
		}
		var found []successors.Answer
		err = a.profiles.copied.On(ctx, cluster, func(table *turns.Table) error {
			found, err = replacement.Answers(ctx, table, a.gangs.Reserved, open)
			return err
		})
		if err != nil {
			return fmt.Errorf("deciding on a copy of the cluster: %w", err)
		}
		for i, answer := range found {
			answers[open[i].Gang] = answer
		}
	}
	for _, key := range a.gangs.SuccessorsAnswered(answers).WriteStatus {
		a.effects.status.EnqueueAfter(key, 0)
	}
	return nil
}

// anyStands reports whether a pod that a question has leave is still there. Without any, nothing depends on the answer.
func (a *answerer) anyStands(namespace string, question *successors.Question) bool {
	return slices.ContainsFunc(question.Groups, func(group successors.Group) bool {
		return slices.ContainsFunc(group.Pods, func(name string) bool {
			pod, err := a.lister.Pods.Pods(namespace).Get(name)
			return err == nil && pod.DeletionTimestamp == nil
		})
	})
}
