package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangevents"
	"packtree.dev/kai-topology-plugin/internal/staleness"
)

// newStopper returns what stops gangs that run below their minimum for too long.
func (p *Plugin) newStopper() *staleness.Stopper {
	return staleness.NewStopper(p.handle.ClientSet().CoreV1(), p.current, func(key gang.Key, reason string) {
		p.announce(key, gangevents.News{Type: corev1.EventTypeWarning, Reason: gangevents.Stopped, Note: reason})
	})
}

// current reads a gang as it is or is about to be; nil if there is none, or nothing can be said about it.
func (p *Plugin) current(key gang.Key) (*gang.Gang, error) {
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading PodGroup: %w", err)
	}
	pods, err := p.podsOf(key)
	if err != nil {
		return nil, err
	}
	if pods, err = p.withFinished(key, pods); err != nil {
		return nil, err
	}
	assembled, _ := gang.AssembleFor(p.profiles.have, podGroup, pods, p.levels)
	if assembled.Tree == nil {
		return nil, nil
	}
	return assembled, nil
}
