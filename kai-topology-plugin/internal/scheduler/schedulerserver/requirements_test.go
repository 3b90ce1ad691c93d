package schedulerserver

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestAPIThatIsNotServedIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		serves []string
		fails  bool
		want   string
	}{
		"all that is needed": {serves: []string{"v1", "resource.k8s.io/v1"}},
		"devices of another version": {serves: []string{"v1", "resource.k8s.io/v1beta2"},
			want: "the API server (Kubernetes 1.33.9) does not serve resource.k8s.io/v1, where the scheduler finds " +
				"devices: it needs Kubernetes 1.34 or later, without resource.k8s.io/v1=false in the API server's " +
				"--runtime-config"},
		"an API server that does not answer yet": {fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &fake.FakeDiscovery{Fake: &clienttesting.Fake{}}
			for _, served := range c.serves {
				server.Resources = append(server.Resources, &metav1.APIResourceList{GroupVersion: served})
			}
			if c.fails {
				server.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, errors.New("connection refused")
				})
			}
			var got string
			if err := checkAPI(server, version.MustParse("1.33.9")); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("said:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
