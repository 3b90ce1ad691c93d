package controller_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lag is a transport to the API server that can delay events and changes of one kind of objects, while all others pass.
type lag struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// through is a configuration that reaches the API server this way.
func (l *lag) through(config *rest.Config) *rest.Config {
	slow := rest.CopyConfig(config)
	slow.Wrap(func(next http.RoundTripper) http.RoundTripper { return lagging{l, next} })
	return slow
}

// watched and changed name the requests of a resource that can be delayed.
func watched(resource string) string { return "WATCH " + resource }
func changed(resource string) string { return http.MethodPatch + " " + resource }

// hold delays requests until release is called, which may be twice.
func (l *lag) hold(what string) (release func()) {
	until := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	l.held[what] = until
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, what)
		close(until)
	})
}

// wait returns when nothing is delayed, or the waiting request was cancelled.
func (l *lag) wait(what string, givenUp <-chan struct{}) {
	l.mu.Lock()
	until := l.held[what]
	l.mu.Unlock()
	if until == nil {
		return
	}
	select {
	case <-until:
	case <-givenUp:
	}
}

// sees waits until the operator's view of objects is theirs.
func sees(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Eventually(func(g Gomega) {
			live, seen := object.DeepCopyObject().(client.Object), object.DeepCopyObject().(client.Object)
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(object), live)).To(Succeed())
			g.Expect(cached.Get(ctx, client.ObjectKeyFromObject(object), seen)).To(Succeed())
			g.Expect(seen.GetResourceVersion()).To(Equal(live.GetResourceVersion()))
		}).Should(Succeed())
	}
}

type lagging struct {
	*lag

	next http.RoundTripper
}

func (l lagging) RoundTrip(request *http.Request) (*http.Response, error) {
	parts := strings.Split(request.URL.Path, "/")
	if request.URL.Query().Get("watch") == "true" {
		response, err := l.next.RoundTrip(request)
		if err == nil {
			response.Body = lateNews{response.Body,
				func() { l.wait(watched(parts[len(parts)-1]), request.Context().Done()) }}
		}
		return response, err
	}
	if at := slices.Index(parts, "namespaces"); at >= 0 && len(parts) == at+4 { // Statuses pass.
		l.wait(request.Method+" "+parts[at+2], request.Context().Done())
	}
	return l.next.RoundTrip(request)
}

// lateNews is the body of a watch. What it has read when events are delayed is delayed as well: a read can wait for a
// long time.
type lateNews struct {
	io.ReadCloser

	wait func()
}

func (n lateNews) Read(into []byte) (int, error) {
	count, err := n.ReadCloser.Read(into)
	n.wait()
	return count, err
}
