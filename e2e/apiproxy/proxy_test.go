package apiproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"packtree.dev/e2e/apiproxy"
)

// behind starts an API server that counts what reaches it, and a proxy in front of it.
func behind(
	t *testing.T, fate func(*http.Request) apiproxy.Fate, serve http.HandlerFunc,
) (*rest.Config, chan string) {
	t.Helper()
	config, reached, _ := droppable(t, fate, serve)
	return config, reached
}

func droppable(
	t *testing.T, fate func(*http.Request) apiproxy.Fate, serve http.HandlerFunc,
) (*rest.Config, chan string, *apiproxy.Proxy) {
	t.Helper()
	reached := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		reached <- request.Method + " " + request.URL.Path + " as " + request.Header.Get("Authorization")
		serve(w, request)
	}))
	t.Cleanup(server.Close)
	proxy, err := apiproxy.Listen(&rest.Config{Host: server.URL, BearerToken: "the proxy's own"}, fate)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, proxy.Close())
	})
	return &rest.Config{Host: proxy.URL, BearerToken: "scheduler",
		TLSClientConfig: rest.TLSClientConfig{CAData: proxy.Authority}}, reached, proxy
}

func created(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
}

func TestRequestsMeetTheirFate(t *testing.T) {
	for name, test := range map[string]struct {
		fate    apiproxy.Fate
		reaches bool
		failed  func(error) bool
	}{
		"made":       {fate: apiproxy.Made, reaches: true, failed: func(err error) bool { return err == nil }},
		"refused":    {fate: apiproxy.Refused, failed: apierrors.IsInternalError},
		"unanswered": {fate: apiproxy.Unanswered, reaches: true, failed: apierrors.IsTimeout},
		"silent": {fate: apiproxy.Silent, reaches: true, failed: func(err error) bool {
			return err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
		}},
		"delayed": {fate: apiproxy.Delayed, reaches: true, failed: func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			config, reached := behind(t, func(*http.Request) apiproxy.Fate { return test.fate }, created)
			client := kubernetes.NewForConfigOrDie(config)
			err := client.CoreV1().Pods("ns").Bind(t.Context(), &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"},
				Target:     corev1.ObjectReference{Kind: "Node", Name: "there"},
			}, metav1.CreateOptions{})
			if !test.failed(err) {
				t.Errorf("the scheduler gets: %v", err)
			}
			if reaches := len(reached) == 1; reaches != test.reaches {
				t.Fatalf("the API server hears of it: %t", reaches)
			}
			if test.reaches {
				if got := <-reached; got != "POST /api/v1/namespaces/ns/pods/pod/binding as Bearer scheduler" {
					t.Errorf("the API server hears %s", got)
				}
			}
		})
	}
}

func TestWatchesMeetTheirFate(t *testing.T) {
	for name, test := range map[string]struct {
		fate   apiproxy.Fate
		failed func(error) bool
	}{
		"made":    {fate: apiproxy.Made},
		"delayed": {fate: apiproxy.Delayed},
		"silent":  {fate: apiproxy.Silent},
		"refused": {fate: apiproxy.Refused, failed: apierrors.IsInternalError},
		"expired": {fate: apiproxy.Expired, failed: apierrors.IsGone},
	} {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{})
			config, _, proxy := droppable(t, func(*http.Request) apiproxy.Fate { return test.fate },
				func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(
						w, `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"first"}}}`)
					w.(http.Flusher).Flush()
					<-over
				})
			defer close(over)
			watching, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("ns").Watch(t.Context(), metav1.ListOptions{})
			if test.failed != nil {
				if !test.failed(err) {
					t.Errorf("the client gets: %v", err)
				}
				return
			}
			require.NoError(t, err)
			defer watching.Stop()
			passesUntilItIsDropped(t, watching, func() {
				if test.fate == apiproxy.Silent {
					return // It ends by itself.
				}
				if dropped := proxy.DropWatches(); dropped != 1 {
					t.Errorf("%d watches are dropped", dropped)
				}
			})
		})
	}
}

func passesUntilItIsDropped(t *testing.T, watching watch.Interface, drop func()) {
	t.Helper()
	select {
	case event := <-watching.ResultChan():
		if pod, is := event.Object.(*corev1.Pod); !is || pod.Name != "first" {
			t.Errorf("the watch has %v", event.Object)
		}
	case <-time.After(time.Minute):
		t.Fatal("the first event waits for a second one")
	}
	drop()
	select {
	case event, more := <-watching.ResultChan():
		if more && event.Type != watch.Error {
			t.Errorf("a dropped watch has %v", event.Object)
		}
	case <-time.After(time.Minute):
		t.Fatal("a dropped watch goes on")
	}
}
