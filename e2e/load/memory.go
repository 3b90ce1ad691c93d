package load

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resident is the memory of a scheduler beside the running pods.
type Resident struct {
	Scheduler string `json:"scheduler"`
	// MiB are what was resident, one for each repeat, after some hundred pods were bound and the scheduler had come to rest.
	MiB []float64 `json:"mib"`
	// Most are the most that was ever resident.
	Most []float64 `json:"mostMiB"`
}

const (
	// bindings is how many pods a scheduler binds before its memory is looked at.
	bindings = 512
	// looks is how often it is looked at, once a second.
	looks = 10
)

// fill has gangs stand on all nodes evenly, without a scheduler.
func (b *bench) fill(ctx context.Context) error {
	b.say("creating %d running pods", b.Running)
	name := b.next()
	groups, pods := gangs(4, b.Running).objects(name, ours.takes)
	for i, pod := range pods {
		// Four pods of a gang on one node, and the next gang on the next.
		pod.Spec.NodeName = fmt.Sprintf("node-%05d", i/4%b.Nodes)
	}
	if err := b.create(ctx, groups, pods); err != nil {
		return err
	}
	return b.until(ctx, "the pods run", func(ctx context.Context) (bool, string, error) {
		list, err := b.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, "", err
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == len(pods), fmt.Sprintf("%d of %d run", running, len(pods)), nil
	})
}

// memory has the schedulers take turns beside the pods that run.
func (b *bench) memory(ctx context.Context) ([]*Resident, error) {
	var found []*Resident
	for _, s := range both {
		found = append(found, &Resident{Scheduler: s.program})
	}
	for range b.Repeats {
		for i, s := range both {
			now, most, err := b.resident(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("memory of %s: %w", s.program, err)
			}
			found[i].MiB, found[i].Most = append(found[i].MiB, now), append(found[i].Most, most)
			b.say("%s beside %d running pods: %.0f MiB, at most %.0f MiB", s.program, b.Running, now, most)
		}
	}
	return found, nil
}

func (b *bench) resident(ctx context.Context, s scheduler) (now, most float64, err error) {
	t, err := b.start(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = t.end(err) }()
	w := plain(bindings)
	if s == ours {
		w = gangs(bindings/8, bindings)
	}
	name := b.next()
	groups, pods := w.objects(name, s.takes)
	watched, err := b.watchBindings(ctx, name, len(pods))
	if err != nil {
		return 0, 0, err
	}
	if err := b.create(ctx, groups, pods); err != nil {
		return 0, 0, err
	}
	waiting, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	if _, err := watched.all(waiting, t.ended); err != nil {
		return 0, 0, err
	}
	now, most, err = t.settled(ctx)
	if err != nil {
		return 0, 0, err
	}
	return now, most, b.remove(ctx, groups, pods)
}

// settled is the median of some seconds at rest, and the most that there ever was, in MiB.
func (t *turn) settled(ctx context.Context) (float64, float64, error) {
	var seen []float64
	var most int64
	for range looks {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		}
		now, peak, err := memoryOf(t.pid)
		if err != nil {
			return 0, 0, err
		}
		seen, most = append(seen, mebibytes(now)), peak
	}
	slices.Sort(seen)
	return seen[len(seen)/2], mebibytes(most), nil
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
