package load

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	large      = "large"
	standing   = "standing"
	ofReplica  = 2
	ofStanding = 20
)

// scale creates the large set, scales it to zero and back.
func (b *setsBench) scale(ctx context.Context, report *SetsReport) error {
	for _, step := range []struct {
		name string
		pods int
		do   func() error
	}{
		{"created", b.options.Replicas * ofReplica, func() error { return b.createSet(ctx, setOf(large, b.options.Replicas, ofReplica)) }},
		{"scaled to zero", 0, func() error { return b.scaleSet(ctx, large, 0) }},
		{"scaled back", b.options.Replicas * ofReplica, func() error { return b.scaleSet(ctx, large, b.options.Replicas) }},
	} {
		measured, err := b.step(ctx, step.name, step.pods, step.do)
		if err != nil {
			return err
		}
		report.Steps = append(report.Steps, measured)
	}
	return b.checkStatus(ctx, large, b.options.Replicas)
}

// checkStatus makes sure that what was measured came to the right end.
func (b *setsBench) checkStatus(ctx context.Context, name string, replicas int) error {
	set, err := b.kai.GroveV1alpha1().PodCliqueSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if int(set.Status.Replicas) != replicas || len(set.Status.LastErrors) > 0 {
		return fmt.Errorf("set %s at rest has %d replicas in its status, not %d, and errors %v", name, set.Status.Replicas, replicas, set.Status.LastErrors)
	}
	return nil
}

// Rest is what the operator did while nothing happened.
type Rest struct {
	Seconds    float64        `json:"seconds"`
	Writes     map[string]int `json:"writes"`
	CPUPercent float64        `json:"cpuPercentOfOneCore"`
}

func (b *setsBench) steady(ctx context.Context, report *SetsReport) (err error) {
	report.Rest, err = b.rest(ctx, b.options.Quiet)
	return err
}

// Restarted is a start of the operator beside many pods.
type Restarted struct {
	Pods    int `json:"pods"`
	Foreign int `json:"foreignPods"`
	// Seconds is the time from the start of the process until it has looked at everything and rests.
	Seconds    float64        `json:"seconds"`
	CPUSeconds float64        `json:"cpuSeconds"`
	Writes     map[string]int `json:"writes"`
	// MiB is its resident memory at rest, MostMiB the most that it ever was.
	MiB     float64 `json:"mib"`
	MostMiB float64 `json:"mostMiB"`
}

// restart makes pods up to the number that is asked for, and starts the operator anew: once with these pods, and once with
// as many more of nobody's.
func (b *setsBench) restart(ctx context.Context, report *SetsReport) error {
	exist, _, _ := b.pods.count()
	replicas := (b.options.Pods - exist) / ofStanding
	made, err := b.step(ctx, "standing", exist+replicas*ofStanding, func() error { return b.createSet(ctx, setOf(standing, replicas, ofStanding)) })
	if err != nil {
		return err
	}
	report.Steps = append(report.Steps, made)
	for _, foreign := range []int{0, b.options.Foreign} {
		if err := b.createForeign(ctx, foreign); err != nil {
			return err
		}
		restarted, err := b.startAnew(ctx, b.lookedAtAll)
		if err != nil {
			return err
		}
		restarted.Pods, restarted.Foreign = made.Pods, foreign
		b.say("beside %d pods of nobody's", foreign)
		report.Restarts = append(report.Restarts, restarted)
		if b.options.Foreign == 0 {
			break
		}
	}
	return nil
}

func (b *setsBench) createForeign(ctx context.Context, count int) error {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = podOf("foreign", fmt.Sprintf("foreign-%05d", i), "nobody")
	}
	return b.create(ctx, nil, pods)
}

// startAnew starts the operator anew and measures until it has looked at everything and rests.
func (b *setsBench) startAnew(ctx context.Context, looked func(context.Context) error) (Restarted, error) {
	if err := b.cluster.Stop(ctx, b.measured.program); err != nil {
		return Restarted{}, err
	}
	before, err := b.apiServerMetrics(ctx)
	if err != nil {
		return Restarted{}, err
	}
	began := time.Now()
	if err := b.cluster.Start(ctx, b.measured.program); err != nil {
		return Restarted{}, err
	}
	if err := looked(ctx); err != nil {
		return Restarted{}, err
	}
	settled, err := b.settle(ctx)
	if err != nil {
		return Restarted{}, err
	}
	after, err := b.read(ctx)
	if err != nil {
		return Restarted{}, err
	}
	now, most, err := memoryOf(b.cluster.PID(b.measured.program))
	if err != nil {
		return Restarted{}, err
	}
	r := Restarted{
		Seconds: settled.Sub(began).Seconds(), CPUSeconds: after.operatorCPU.Seconds(),
		Writes: writes(reading{apiServer: before}, after), MiB: mebibytes(now), MostMiB: mebibytes(most),
	}
	b.say("restart: at rest after %.1f s, %v written, %.0f MiB, at most %.0f", r.Seconds, r.Writes, r.MiB, r.MostMiB)
	return r, nil
}

// lookedAtAll waits until every PodClique has been looked at, which comes after the leader's election and the caches.
func (b *setsBench) lookedAtAll(ctx context.Context) error {
	list, err := b.kai.GroveV1alpha1().PodCliques(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	return b.lookedAt(ctx, "podclique", len(list.Items))
}

// lookedAt waits until a controller of the operator has made so many passes since its start.
func (b *setsBench) lookedAt(ctx context.Context, controller string, count int) error {
	return b.until(ctx, fmt.Sprintf("the operator has looked at %d of %s", count, controller), func(ctx context.Context) (bool, string, error) {
		counted, err := b.measured.read(ctx)
		if err != nil {
			return false, "", err
		}
		seen := counted.sum("controller_runtime_reconcile_total", `controller="`+controller+`"`)
		return int(seen) >= count, fmt.Sprintf("%.0f of %d", seen, count), nil
	})
}
