package servingcerts

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// narrowed is a manager for the rotator, which lists all Secrets of a namespace to read one. By its configuration only
// that one is listed, so that the program needs no right to read others.
type narrowed struct {
	ctrl.Manager
	secret types.NamespacedName
}

// GetConfig returns the configuration of clients that list the one Secret.
func (n narrowed) GetConfig() *rest.Config {
	config := rest.CopyConfig(n.Manager.GetConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return listOne{next, n.secret} })
	return config
}

// listOne selects the one Secret in requests for all of its namespace.
type listOne struct {
	next   http.RoundTripper
	secret types.NamespacedName
}

// RoundTrip sends a request.
func (l listOne) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/namespaces/"+l.secret.Namespace+"/secrets") {
		request = request.Clone(request.Context())
		query := request.URL.Query()
		query.Set("fieldSelector", fields.OneTermEqualSelector("metadata.name", l.secret.Name).String())
		request.URL.RawQuery = query.Encode()
	}
	return l.next.RoundTrip(request)
}
