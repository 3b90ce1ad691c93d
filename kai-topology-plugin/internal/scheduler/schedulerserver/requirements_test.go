package schedulerserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

func TestFeaturesAreThoseOfTheAPIServer(t *testing.T) {
	devices := `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "resource.k8s.io/v1", "resources": []}`
	for name, c := range map[string]struct {
		server, serves string
		flags          []string
		refusals       int
		emulates       string
		fails          string
	}{
		"an older API server": {server: "v1.34.9", serves: devices, emulates: "[1.34]"},
		"an older API server that refuses while it starts": {server: "v1.34.9", serves: devices, refusals: 1,
			emulates: "[1.34]"},
		"a provider's name for its version": {server: "v1.35.2-gke.1000", serves: devices,
			emulates: "[1.35]"},
		"an older API server, but the flag says what is emulated": {server: "v1.34.9", serves: devices,
			flags: []string{"--emulated-version=1.36"}, emulates: "[1.36]"},
		"an API server of the same version":    {server: "v1.36.0", serves: devices},
		"a newer API server":                   {server: "v1.38.0", serves: devices},
		"an API server that hides its version": {},
		"an API server without devices": {server: "v1.33.9",
			fails: "the API server (Kubernetes 1.33.9) does not serve resource.k8s.io/v1, where the scheduler finds " +
				"devices: it needs Kubernetes 1.34 or later, without resource.k8s.io/v1=false in the API server's " +
				"--runtime-config"},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path == "/version" && c.refusals > 0 {
					c.refusals--
					w.WriteHeader(http.StatusForbidden)
					fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
					return
				}
				answers := map[string]string{"/apis/resource.k8s.io/v1": c.serves}
				if c.server != "" {
					answers["/version"] = fmt.Sprintf(`{"gitVersion": %q}`, c.server)
				}
				answer := answers[r.URL.Path]
				if answer == "" {
					w.WriteHeader(http.StatusNotFound)
					answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
				}
				fmt.Fprint(w, answer)
			}))
			defer api.Close()
			opts, flags := options.NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
			for _, some := range opts.Flags.FlagSets {
				flags.AddFlagSet(some)
			}
			require.NoError(t, flags.Parse(append(c.flags, "--master="+api.URL)))
			var said string
			if err := suitAPIServer(t.Context(), opts, flags); err != nil {
				said = err.Error()
			}
			assert.Equal(t, c.fails, said, "said:\n%s\nwant:\n%s", said, c.fails)
			emulates := ""
			if flag := flags.Lookup(emulatedVersion); flag.Changed {
				emulates = flag.Value.String()
			}
			assert.Equal(t, c.emulates, emulates)
		})
	}
}
