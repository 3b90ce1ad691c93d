package scheduler_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/apiproxy"
)

// bindings decides about the scheduler's bindings: the scheduler reaches the API server through a proxy, which asks it.
var bindings = &judge{denials: map[types.NamespacedName]*denial{}, wanted: map[types.NamespacedName]string{}}

// judge decides which bindings fail.
type judge struct {
	mu      sync.Mutex
	denials map[types.NamespacedName]*denial
	// wanted are the nodes of the last denied bindings of pods.
	wanted map[types.NamespacedName]string
	// otherwise is the fate of a binding that no scenario denies; it is made if nil.
	otherwise func(apiproxy.Binding) apiproxy.Fate
}

func (j *judge) otherwiseBy(fate func(apiproxy.Binding) apiproxy.Fate) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.otherwise = fate
}

func (j *judge) fate(binding apiproxy.Binding) apiproxy.Fate {
	j.mu.Lock()
	defer j.mu.Unlock()
	denied := j.denials[binding.Pod]
	if denied == nil || denied.times == 0 {
		if j.otherwise != nil {
			return j.otherwise(binding)
		}
		return apiproxy.Made
	}
	denied.times--
	j.wanted[binding.Pod] = binding.Node
	return denied.fate
}

// denial makes bindings of pods fail while it exists.
type denial struct {
	world *world
	pods  []types.NamespacedName
	fate  apiproxy.Fate
	// times is how many bindings are still to fail.
	times int
}

// denial refuses to bind pods of the world, each time.
func (w *world) denial(pods ...string) *denial {
	d := &denial{world: w, fate: apiproxy.Refused, times: math.MaxInt}
	for _, pod := range pods {
		d.pods = append(d.pods, types.NamespacedName{Namespace: w.Name, Name: pod})
	}
	return d
}

// once is a denial of the next binding only.
func (d *denial) once(fate apiproxy.Fate) *denial {
	d.fate, d.times = fate, 1
	return d
}

func (d *denial) begins(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
	bindings.mu.Lock()
	defer bindings.mu.Unlock()
	for _, pod := range d.pods {
		bindings.denials[pod] = d
	}
	return ctx
}

func (d *denial) ends(ctx context.Context, _ *testing.T, _ *envconf.Config) context.Context {
	bindings.mu.Lock()
	defer bindings.mu.Unlock()
	for _, pod := range d.pods {
		delete(bindings.denials, pod)
	}
	return ctx
}

// wanted returns the node of the last denied binding of a pod, once that is another one than before; none if that is "".
func (d *denial) wanted(ctx context.Context, t *testing.T, pod, before string) string {
	t.Helper()
	node := ""
	d.world.Until(ctx, t, "the binding of pod "+pod+" fails", func(context.Context) (bool, string, error) {
		bindings.mu.Lock()
		defer bindings.mu.Unlock()
		node = bindings.wanted[types.NamespacedName{Namespace: d.world.Name, Name: pod}]
		return node != before, fmt.Sprintf("those of %d pods have", len(bindings.wanted)), nil
	})
	return node
}

// denied waits until a pod's binding has failed.
func (d *denial) denied(pod string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		d.wanted(ctx, t, pod, "")
		return ctx
	}
}
