package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// finishedHandler has the status of a gang looked at when pods of it have done their work, or are removed after that.
// No seats are held for them.
func (p *Plugin) finishedHandler() cache.ResourceEventHandler {
	changed := func(object any) {
		pod, ok := objectOf[*corev1.Pod](object)
		if !ok {
			return
		}
		p.effects.do(p.gangs.PodFinished(pod))
		if key, member := gang.KeyOf(pod); member {
			p.effects.writeStatus(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, after any) { changed(after) }, DeleteFunc: changed,
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
