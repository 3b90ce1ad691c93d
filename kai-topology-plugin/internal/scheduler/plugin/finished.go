package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// finishedHandler tells gangs about completed pods, and about completed pods that are deleted.
func (p *Plugin) finishedHandler() cache.ResourceEventHandler {
	finished := func(object any) { p.effects.do(p.gangs.PodFinished(object.(*corev1.Pod), false, p.clock.Now())) }
	return cache.ResourceEventHandlerFuncs{
		AddFunc: finished, UpdateFunc: func(_, after any) { finished(after) },
		DeleteFunc: func(object any) {
			if pod, ok := objectOf[*corev1.Pod](object); ok {
				p.effects.do(p.gangs.PodFinished(pod, true, p.clock.Now()))
			}
		},
	}
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
