package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// questions are those of PodGroups about successors of their pods, and when they are to be answered.
type questions struct {
	mu sync.Mutex
	// asked are the questions, by gang.
	asked map[gang.Key]*successors.Question
	// unread are those that cannot be read, and why.
	unread map[gang.Key]error
	// fresh is set if one has come since the last answers were begun, and changed if the cluster has changed since.
	fresh, changed bool
	// ended is when the last answers were given, and took how long they took.
	ended time.Time
	took  time.Duration
	wake  chan struct{}
}

func newQuestions() *questions {
	return &questions{
		asked: map[gang.Key]*successors.Question{}, unread: map[gang.Key]error{}, wake: make(chan struct{}, 1),
	}
}

// podGroupSeen records what a PodGroup asks; it is nil if the PodGroup is gone.
func (q *questions) podGroupSeen(key gang.Key, podGroup *scheduling.PodGroup) {
	var question *successors.Question
	var err error
	if podGroup != nil {
		question, err = successors.Parse(podGroup.Annotations)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.asked[key]
	if question == nil {
		delete(q.asked, key)
		delete(q.unread, key)
		return
	}
	q.asked[key], q.unread[key] = question, err
	if before == nil || before.ID != question.ID {
		q.fresh = true
		q.wakeUp()
	}
}

// clusterChanged records that another answer may be right than before.
func (q *questions) clusterChanged() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.asked) > 0 && !q.changed {
		q.changed = true
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
	q.mu.Lock()
	defer q.mu.Unlock()
	var rest time.Duration
	switch {
	case q.fresh:
		rest = q.took * (answerShare - 1)
	case q.changed:
		rest = max(reviewApart, q.took*(reviewShare-1))
	default:
		return 0, false
	}
	return max(0, q.ended.Add(rest).Sub(now)), true
}

// begin returns the questions that are to be answered now.
func (q *questions) begin() (asked map[gang.Key]*successors.Question, unread map[gang.Key]error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fresh, q.changed = false, false
	asked, unread = map[gang.Key]*successors.Question{}, map[gang.Key]error{}
	for key, question := range q.asked {
		asked[key] = question
		if err := q.unread[key]; err != nil {
			unread[key] = err
		}
	}
	return asked, unread
}

// end records that they were answered; those that were not are answered later.
func (q *questions) end(began, now time.Time, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.took = now, now.Sub(began)
	q.changed = q.changed || failed
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
	all, unread := a.begin()
	answers := map[gang.Key]successors.Answer{}
	var asked []replacement.Asked
	for key, question := range all {
		last := a.gangs.SuccessorsAnswer(key)
		answered := last.ID == question.ID && last.Fits != ""
		switch {
		case !a.speaksFor(key):
		case unread[key] != nil:
			answers[key] = successors.Answer{
				ID: question.ID, Fits: metav1.ConditionUnknown, Reason: scheduling.ReasonNotAnswered,
				Sentence: unread[key].Error(),
			}
		case !answered || question.Adds() || a.anyStands(key.Namespace, question):
			granted := answered && last.Fits == metav1.ConditionTrue
			asked = append(asked, replacement.Asked{Gang: key, Question: question, Granted: granted})
		}
	}
	if len(asked) > 0 {
		cluster, err := a.shownAndAssumed()
		if err != nil {
			return err
		}
		var found []successors.Answer
		err = a.profiles.copied.On(ctx, cluster, func(table *turns.Table) error {
			found, err = replacement.Answers(ctx, table, a.gangs.Reserved, asked)
			return err
		})
		if err != nil {
			return fmt.Errorf("deciding on a copy of the cluster: %w", err)
		}
		for i, answer := range found {
			answers[asked[i].Gang] = answer
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
