package live

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// undone are messages about requests that have certainly changed nothing: no operator was there for a webhook, or none
// was fast enough on a busy machine.
var undone = []string{
	"failed calling webhook", "conversion webhook for",
	"no PriorityClass with name", // The API server hears of those later than of pods that were made after them.
}

// silences are messages of kubectl, the client and the API server about requests without an answer: requests that
// were not done, and requests that may have been.
var silences = append([]string{
	"request did not complete within requested timeout", "context deadline exceeded", "Client.Timeout exceeded",
	"stream error", // The API server ends a request after a minute, such as one that deletes thousands of objects.
}, undone...)

// Unanswered reports whether a command may be repeated after this output, as a user would.
func Unanswered(said string) bool { return says(said, silences) }

func says(said string, some []string) bool {
	return slices.ContainsFunc(some, func(one string) bool { return strings.Contains(said, one) })
}

// repetition is how often a request without an answer is repeated.
const repetition = time.Second

// patient repeats requests without an answer for some minutes, as a user would. What may have been done is repeated
// only if that changes nothing: a creation, an update or a patch is not.
type patient struct{ http.RoundTripper }

func (p patient) RoundTrip(request *http.Request) (response *http.Response, err error) {
	if request.URL.Query().Has("watch") {
		return p.RoundTripper.RoundTrip(request)
	}
	ctx, deletes, again := request.Context(), request.Method == http.MethodDelete, false
	some, applies := undone, request.Header.Get("Content-Type") == string(types.ApplyYAMLPatchType)
	if applies || deletes || request.Method == http.MethodGet {
		some = silences
	}
	ended := wait.PollUntilContextTimeout(ctx, repetition, patience, true, func(context.Context) (bool, error) {
		var problem string
		if response, problem, err = p.send(request); again && deletes && err == nil &&
			response.StatusCode == http.StatusNotFound { // It was done the first time.
			response.StatusCode, response.Body = http.StatusOK, http.NoBody
			return true, nil
		}
		again = true
		return !says(problem, some), nil
	})
	if response == nil && err == nil {
		err = ended
	}
	return response, err
}

// send reads the whole answer, and returns what is said if it is an error.
func (p patient) send(request *http.Request) (response *http.Response, problem string, err error) {
	sent := request.Clone(request.Context())
	if request.GetBody != nil {
		if sent.Body, err = request.GetBody(); err != nil {
			return nil, "", err
		}
	}
	if response, err = p.RoundTripper.RoundTrip(sent); err != nil {
		return nil, err.Error(), err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err.Error(), err
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	if response.StatusCode >= http.StatusBadRequest {
		problem = string(content)
	}
	return response, problem, nil
}
