package plugin

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
)

// finishedHandler tells gangs about completed pods, and about completed pods that are deleted.
func (p *Plugin) finishedHandler() cache.ResourceEventHandler {
	return ganglister.Handler(func(before, after *corev1.Pod, _ bool) {
		p.effects.do(p.gangs.PodFinished(cmp.Or(after, before), after == nil, p.clock.Now()))
	})
}

// watchFinished fills the cache of finished pods until ctx is done.
func (p *Plugin) watchFinished(ctx context.Context) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := p.lister.Finished.AddEventHandler(p.finishedHandler())
	if err != nil {
		return nil, fmt.Errorf("handling events: %w", err)
	}
	go p.lister.Finished.RunWithContext(ctx)
	return registration, nil
}
