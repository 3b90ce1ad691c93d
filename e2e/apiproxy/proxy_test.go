package apiproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"packtree.dev/e2e/apiproxy"
)

// behind starts an API server that counts what reaches it, and a proxy in front of it.
func behind(
	t *testing.T, fate func(apiproxy.Binding) apiproxy.Fate, serve http.HandlerFunc,
) (*rest.Config, chan string) {
	t.Helper()
	reached := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		reached <- request.Method + " " + request.URL.Path + " as " + request.Header.Get("Authorization")
		serve(w, request)
	}))
	t.Cleanup(server.Close)
	proxy, err := apiproxy.Listen(&rest.Config{Host: server.URL, BearerToken: "the proxy's own"}, fate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rest.Config{Host: proxy.URL, BearerToken: "scheduler",
		TLSClientConfig: rest.TLSClientConfig{CAData: proxy.Authority}}, reached
}

func created(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
}

func TestBindingsMeetTheirFate(t *testing.T) {
	for name, test := range map[string]struct {
		fate    apiproxy.Fate
		reaches bool
		failed  func(error) bool
	}{
		"made":       {fate: apiproxy.Made, reaches: true, failed: func(err error) bool { return err == nil }},
		"refused":    {fate: apiproxy.Refused, failed: apierrors.IsInternalError},
		"unanswered": {fate: apiproxy.Unanswered, reaches: true, failed: apierrors.IsTimeout},
	} {
		for _, encoding := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
			t.Run(name+" as "+encoding, func(t *testing.T) {
				asked := make(chan apiproxy.Binding, 1)
				config, reached := behind(t, func(b apiproxy.Binding) apiproxy.Fate { asked <- b; return test.fate },
					created)
				config.ContentType = encoding
				client := kubernetes.NewForConfigOrDie(config)
				err := client.CoreV1().Pods("ns").Bind(t.Context(), &corev1.Binding{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"},
					Target:     corev1.ObjectReference{Kind: "Node", Name: "there"},
				}, metav1.CreateOptions{})
				if !test.failed(err) {
					t.Errorf("the scheduler gets: %v", err)
				}
				want := apiproxy.Binding{Pod: types.NamespacedName{Namespace: "ns", Name: "pod"}, Node: "there"}
				if got := <-asked; got != want {
					t.Errorf("fate is asked of %v, not of %v", got, want)
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
}

func TestABindingThatIsNoneGoesNowhere(t *testing.T) {
	config, reached := behind(t, func(apiproxy.Binding) apiproxy.Fate { return apiproxy.Made }, created)
	client := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient()
	err := client.Post().AbsPath("/api/v1/namespaces/ns/pods/pod/binding").Body([]byte("nonsense")).Do(
		t.Context()).Error()
	if !apierrors.IsBadRequest(err) || len(reached) > 0 {
		t.Errorf("it is answered with %v, and the API server heard %d requests", err, len(reached))
	}
}

func TestEventsOfAWatchPassAtOnce(t *testing.T) {
	over := make(chan struct{})
	config, _ := behind(t, func(apiproxy.Binding) apiproxy.Fate { return apiproxy.Refused },
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(
				w, `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"first"}}}`)
			w.(http.Flusher).Flush()
			<-over
		})
	defer close(over)
	client := kubernetes.NewForConfigOrDie(config)
	watch, err := client.CoreV1().Pods("ns").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	select {
	case event := <-watch.ResultChan():
		if pod, is := event.Object.(*corev1.Pod); !is || pod.Name != "first" {
			t.Errorf("the watch has %v", event.Object)
		}
	case <-time.After(time.Minute):
		t.Fatal("the first event waits for a second one")
	}
}
