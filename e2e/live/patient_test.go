package live

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestUnanswered(t *testing.T) {
	for said, want := range map[string]bool{
		`Error from server (InternalError): failed calling webhook "x.grove.io": connection refused`:              true,
		`conversion webhook for nvidia.com/v1alpha1 failed`:                                                       true,
		`Error from server (Timeout): Timeout: request did not complete within requested timeout - context dead…`: true,
		`error validating data: Get "https://host/openapi/v2?timeout=32s": context deadline exceeded`:             true,
		`net/http: request canceled (Client.Timeout exceeded while awaiting headers)`:                             true,
		`pods "a-0" is forbidden: no PriorityClass with name inference was found`:                                 true,
		`admission webhook "x.grove.io" denied the request: spec.replicas: Invalid value`:                         false,
		`error: timed out waiting for the condition on deployments/web`:                                           false,
		`Error from server (NotFound): pods "web" not found`:                                                      false,
	} {
		if got := Unanswered(said); got != want {
			t.Errorf("Unanswered(%q) = %t", said, got)
		}
	}
}

func TestWhichRequestsAreRepeated(t *testing.T) {
	const noWebhook, late = `failed calling webhook "x.grove.io"`, "request did not complete within requested timeout"
	named := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for name, test := range map[string]struct {
		first    string
		second   int
		verb     func(kubernetes.Interface) error
		requests int
		succeeds bool
	}{
		"a read that was late": {late, 200, func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("n").Get(t.Context(), "a", metav1.GetOptions{})
			return err
		}, 2, true},
		"an application that was late": {late, 200, func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("n").Patch(t.Context(), "a", types.ApplyYAMLPatchType, []byte("{}"),
				metav1.PatchOptions{FieldManager: "test"})
			return err
		}, 2, true},
		"a deletion that was late and is done": {late, 404, func(c kubernetes.Interface) error {
			return c.CoreV1().ConfigMaps("n").Delete(t.Context(), "a", metav1.DeleteOptions{})
		}, 2, true},
		"a creation without a webhook": {noWebhook, 200, func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("n").Create(t.Context(), named, metav1.CreateOptions{})
			return err
		}, 2, true},
		"not a creation that may have been done": {late, 200, func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("n").Create(t.Context(), named, metav1.CreateOptions{})
			return err
		}, 1, false},
		"not an update that may have been done": {late, 200, func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("n").Update(t.Context(), named, metav1.UpdateOptions{})
			return err
		}, 1, false},
		"not what is refused": {"no", 200, func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("n").Get(t.Context(), "a", metav1.GetOptions{})
			return err
		}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if requests++; requests == 1 {
					http.Error(w, test.first, http.StatusInternalServerError)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.second)
				_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`))
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return patient{transport} })
			err := test.verb(kubernetes.NewForConfigOrDie(config))
			require.Equal(t, test.requests, requests)
			require.Equal(t, test.succeeds, err == nil, "%v", err)
		})
	}
}
