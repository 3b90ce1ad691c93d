package kubectlpacktree

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/kai-topology-plugin/internal/cli/view"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// showing is a cluster that is followed, as it was read last.
type showing struct {
	plugin *plugin
	asked  overview.Question
	// seen is called with what makes an overview, which may be made later or never.
	seen    func(see func() (*overview.Overview, error))
	trouble func(string)

	// reader is that of the cluster, nil for a dump.
	reader *live.Reader
	// read is the cluster as it was read last; nil before it was.
	read atomic.Pointer[live.Cluster]
	// searching is held while a gang is decided. There is one search at a time: people wait for one gang, and the
	// machine is theirs.
	searching sync.Mutex
}

// follow returns what keeps people up to date until its context is done. What cannot be read at all is an error at
// once.
func (s *showing) follow(command *cobra.Command, from *source) (func(context.Context) error, error) {
	if len(from.files) == 0 {
		reader, err := s.plugin.reader()
		if err != nil {
			return nil, err
		}
		s.reader = reader
		return func(ctx context.Context) error {
			return reader.Watch(ctx, func(read *live.Cluster) { s.show(ctx, read) },
				func(err error) { s.trouble(err.Error()) })
		}, nil
	}
	read, err := from.read(command, live.Wanted{})
	if err != nil {
		return nil, err
	}
	seen, err := s.plugin.decided(command.Context(), read, s.asked)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		s.read.Store(read)
		s.seen(func() (*overview.Overview, error) { return seen, nil })
		<-ctx.Done()
		return nil
	}, nil
}

func (s *showing) show(ctx context.Context, read *live.Cluster) {
	s.read.Store(read)
	s.seen(func() (*overview.Overview, error) {
		seen, err := overview.Of(ctx, read.Inventory, s.asked)
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "--"))
		}
		seen.Notes = append(append([]string{}, read.Notes...), seen.Notes...)
		return seen, nil
	})
}

// answers are those to the questions of a page.
func (s *showing) answers() view.Answers {
	return view.Answers{
		"explain": func(ctx context.Context, asked url.Values) (any, error) {
			return s.explain(ctx, asked.Get("namespace"), asked.Get("name"))
		},
		"history": func(ctx context.Context, asked url.Values) (any, error) {
			return s.history(ctx, asked.Get("namespace"), asked.Get("name"))
		},
	}
}

// history returns what events say of a gang. Those of a cluster are read now, those of a dump are in it.
func (s *showing) history(ctx context.Context, namespace, name string) (*overview.History, error) {
	read, err := s.cluster()
	if err != nil {
		return nil, err
	}
	events := read.Events
	if s.reader != nil {
		if events, err = s.reader.Events(ctx, namespace); err != nil {
			return nil, fmt.Errorf("reading the events of namespace %s: %w", namespace, err)
		}
	}
	history := overview.HistoryOf(read.Inventory, events, gang.Key{Namespace: namespace, Name: name})
	if history == nil {
		return nil, fmt.Errorf("there is no PodGroup %s/%s", namespace, name)
	}
	return history, nil
}

func (s *showing) cluster() (*live.Cluster, error) {
	read := s.read.Load()
	if read == nil {
		return nil, errors.New("the cluster has not been read yet")
	}
	return read, nil
}

// explain decides a gang on the cluster as it was read last.
func (s *showing) explain(ctx context.Context, namespace, name string) (*explanation.Gang, error) {
	s.searching.Lock()
	defer s.searching.Unlock()
	read, err := s.cluster()
	if err != nil {
		return nil, err
	}
	target := explanation.Target{Kind: explanation.KindPodGroup, Name: name}
	report, err := explanation.Of(ctx, read.Inventory, namespace, target)
	if err != nil {
		return nil, err
	}
	return report.Gangs[0], nil
}
