package engine_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/e2e/engine"
	dynamov1alpha1 "packtree.dev/shared/api/dynamo/v1alpha1"
)

func environment(changes ...string) func(string) string {
	all := map[string]string{
		"DYN_COMPONENT": "decode", "DYN_NAMESPACE": "ns-d", "POD_NAMESPACE": "ns", "POD_NAME": "p", "POD_UID": "u",
		"POD_IP":          "10.0.0.7",
		"DYN_SYSTEM_PORT": "9090", "DYN_HTTP_PORT": "8000", "DYN_DISCOVERY_BACKEND": "kubernetes",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

func TestIdentityFrom(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		listen  string
		address string
		wrong   string
	}{
		"a worker answers at its system port": {listen: ":9090", address: "10.0.0.7:9090"},
		"a frontend at that of users": {changes: []string{"DYN_COMPONENT=frontend"}, listen: ":8000",
			address: "10.0.0.7:8000"},
		"one beside the cluster if it is configured": {
			changes: []string{"ENGINE_ADDRESS=127.0.0.1:4711"}, listen: "127.0.0.1:4711", address: "127.0.0.1:4711",
		},
		"an environment that lacks something": {changes: []string{"POD_UID="},
			wrong: "the environment has no POD_UID: dynamo-operator sets it"},
		"discovery by etcd": {
			changes: []string{"DYN_DISCOVERY_BACKEND=etcd"},
			wrong:   `DYN_DISCOVERY_BACKEND is "etcd": only kubernetes is known here`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			identity, err := engine.IdentityFrom(environment(c.changes...))
			if c.wrong != "" {
				assert.EqualError(t, err, c.wrong)
				return
			}
			if err != nil || identity.Listen != c.listen || identity.Address != c.address {
				t.Errorf("got %+v, %v", identity, err)
			}
		})
	}
}

func slice(discoverable bool, ready bool, pods ...string) discoveryv1.EndpointSlice {
	made := discoveryv1.EndpointSlice{}
	made.Labels = map[string]string{"nvidia.com/dynamo-discovery-backend": "kubernetes"}
	if discoverable {
		made.Labels["nvidia.com/dynamo-discovery-enabled"] = "true"
	}
	for _, pod := range pods {
		made.Endpoints = append(made.Endpoints, discoveryv1.Endpoint{
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Name: pod},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	return made
}

func metadata(data string) dynamov1alpha1.DynamoWorkerMetadata {
	return dynamov1alpha1.DynamoWorkerMetadata{
		Spec: dynamov1alpha1.DynamoWorkerMetadataSpec{Data: &runtime.RawExtension{Raw: []byte(data)}},
	}
}

func of(pod, component string) dynamov1alpha1.DynamoWorkerMetadata {
	return metadata(
		`{"pod":"` + pod + `","component":"` + component + `","dynamoNamespace":"ns-d","address":"` + pod + `:1"}`)
}

func TestOnlyThoseCountThatAreReadyAndRegistered(t *testing.T) {
	found := engine.Find("ns-d", []discoveryv1.EndpointSlice{
		slice(true, true, "b", "a", "unregistered", "of-others"), slice(true, false, "not-ready"),
		slice(false, true, "not-discoverable"),
	}, []dynamov1alpha1.DynamoWorkerMetadata{
		of("b", "decode"), of("a", "prefill"), of("not-ready", "decode"), of("not-discoverable", "decode"),
		of("gone", "decode"),
		metadata(`{"pod":"of-others","component":"decode","dynamoNamespace":"ns-e"}`), metadata(`"text"`), {},
	})
	want := []engine.Instance{
		{Pod: "a", Component: "prefill", DynamoNamespace: "ns-d", Address: "a:1"},
		{Pod: "b", Component: "decode", DynamoNamespace: "ns-d", Address: "b:1"},
	}
	assert.Empty(t, cmp.Diff(want, found), "found (-want +got)")
}

func TestRequestsGoRoundAllWorkers(t *testing.T) {
	all := []engine.Instance{{Pod: "d0", Component: "decode"}, {Pod: "d1", Component: "decode"},
		{Pod: "p0", Component: "prefill"}, {Pod: "f", Component: "frontend"}}
	var passed []string
	for request := range 3 {
		for _, instance := range engine.Route(all, request) {
			passed = append(passed, instance.Pod)
		}
	}
	assert.Empty(t, cmp.Diff("p0 d0 p0 d1 p0 d0", strings.Join(passed, " ")), "passed (-want +got)")
	if alone := engine.Route([]engine.Instance{{Pod: "w", Component: "worker"}}, 5); len(alone) != 1 ||
		alone[0].Pod != "w" {
		t.Errorf("one that does both: %v", alone)
	}
	if none := engine.Route([]engine.Instance{{Pod: "p", Component: "prefill"}}, 0); none != nil {
		t.Errorf("nobody decodes: %v", none)
	}
}

// serve starts an engine with these workers.
func serve(t *testing.T, pod, component string, workers func() ([]engine.Instance, error)) string {
	t.Helper()
	made := &engine.Engine{
		Identity: engine.Identity{Pod: pod, Component: component},
		Workers:  func(context.Context) ([]engine.Instance, error) { return workers() },
	}
	server := httptest.NewServer(made.Handler())
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestARequestPassesAllHosts(t *testing.T) {
	nobody := func() ([]engine.Instance, error) { return nil, nil }
	prefill, decode := serve(t, "p", "prefill", nobody), serve(t, "d", "decode", nobody)
	frontend := serve(t, "f", "frontend", func() ([]engine.Instance, error) {
		return []engine.Instance{{Component: "prefill", Address: prefill}, {Component: "decode", Address: decode}}, nil
	})
	answer, err := engine.Post(t.Context(), "http://"+frontend+"/v1/completions",
		engine.Work{Prompt: "why", Hosts: []string{"forged"}})
	require.NoError(t, err)
	want := &engine.Work{Prompt: "why", Hosts: []string{"f", "p", "d"},
		Components: []string{"frontend", "prefill", "decode"}}
	assert.Empty(t, cmp.Diff(want, answer), "answer (-want +got)")
}

func TestWhatIsSaidWhereNobodyServes(t *testing.T) {
	for name, c := range map[string]struct {
		workers func() ([]engine.Instance, error)
		want    string
	}{
		"nobody decodes": {func() ([]engine.Instance, error) { return []engine.Instance{{Component: "prefill"}}, nil },
			"503 Service Unavailable: none of 1 workers decodes"},
		"a worker that is gone": {
			func() ([]engine.Instance, error) {
				return []engine.Instance{{Component: "decode", Address: "127.0.0.1:1"}}, nil
			}, "502 Bad Gateway: asking http://127.0.0.1:1/generate",
		},
		"the cluster does not say": {func() ([]engine.Instance, error) { return nil, errors.New("forbidden") },
			"500 Internal Server Error: looking for workers: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			frontend := serve(t, "f", "frontend", c.workers)
			_, err := engine.Post(t.Context(), "http://"+frontend+"/v1/completions", engine.Work{})
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestHealth(t *testing.T) {
	nobody := func() ([]engine.Instance, error) { return nil, nil }
	for at, want := range map[string]int{
		serve(t, "f", "frontend", nobody) + "/health": http.StatusOK,
		serve(t, "w", "worker", nobody) + "/live":     http.StatusOK,
		serve(t, "w", "worker", nobody) + "/health":   http.StatusServiceUnavailable, // It has not registered.
		serve(t, "w", "worker", nobody) + "/other":    http.StatusNotFound,
	} {
		response, err := http.Get("http://" + at)
		require.NoError(t, err)
		said, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s answers %s: %s", at, response.Status, said)
		}
	}
}
