// Package faults fails each API call of the operator's reconciles once, and checks that the end is the same.
package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fault is what happens to one call.
type fault string

const (
	// conflict, timeout and internal are errors of calls that had no effect.
	conflict fault = "conflict"
	timeout  fault = "timeout"
	internal fault = "internal error"
	// lost is an error of a call that had its effect.
	lost fault = "lost answer"
)

// ways are all of them.
var ways = []fault{conflict, timeout, internal, lost}

var answers = map[fault]metav1.Status{
	conflict: {Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Message: "the object has been modified (injected)"},
	timeout: {Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout,
		Message: "the request timed out (injected)"},
	internal: {Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: "internal error (injected)"},
}

var errLost = errors.New("the connection broke (injected)")

// call names one call of a reconcile: the nth of its kind in a namespace.
type call struct {
	kind string
	nth  int
}

// ways are those in which a call can fail: a read cannot conflict, and can be repeated after a lost answer.
func (c call) ways() []fault {
	if strings.HasPrefix(c.kind, http.MethodGet) {
		return []fault{timeout, internal}
	}
	return ways
}

// byChance reports whether calls of a kind are made only if the cache happens to be behind, so that not every run has
// one: a finalizer that met a conflict is written with a fresh object, and missing objects are read live. Only pods are
// always read before they are deleted.
func byChance(kind string) bool { return strings.HasPrefix(kind, "GET ") && kind != "GET pods" }

// worlds is how many runs there are of each story. In run n the nth call of every kind fails, and the call so many
// calls later, and so on, so that there is time for recovery in between.
const worlds = 4

// plan has the faults of one namespace, and the calls that were made there.
type plan struct {
	// faulty is false in a run without faults.
	faulty bool
	nth    int
	// first is the index of the way in which the first of the calls fails. The next call fails in the next way.
	first int
	made  map[string]int
	fired map[call]bool
}

// way is how a call fails; empty if it does not.
func (p *plan) way(c call) fault {
	if !p.faulty || c.nth%worlds != p.nth {
		return ""
	}
	possible := c.ways()
	return possible[(p.first+c.nth/worlds)%len(possible)]
}

// injector makes a call fail in each of many namespaces, so that one operator meets all faults at the same time.
type injector struct {
	next http.RoundTripper

	mu    *sync.Mutex
	plans map[string]*plan
}

func (i injector) RoundTrip(request *http.Request) (*http.Response, error) {
	how := i.judge(request)
	if how == "" {
		return i.next.RoundTrip(request)
	}
	if how == lost {
		response, err := i.next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(errLost, response.Body.Close())
	}
	if request.Body != nil {
		if err := request.Body.Close(); err != nil {
			return nil, err
		}
	}
	return answer(request, answers[how])
}

// judge counts a call and returns its fault; none for most calls.
func (i injector) judge(request *http.Request) fault {
	namespace, kind := kindOf(request)
	i.mu.Lock()
	defer i.mu.Unlock()
	plan := i.plans[namespace]
	if plan == nil || kind == "" {
		return ""
	}
	this := call{kind, plan.made[kind]}
	plan.made[kind]++
	how := plan.way(this)
	if how != "" {
		plan.fired[this] = true
	}
	return how
}

// kindOf returns the namespace of a call and its verb and resource; empty for calls outside of reconciles.
func kindOf(request *http.Request) (namespace, kind string) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	at := slices.Index(parts, "namespaces")
	if at < 0 || len(parts) < at+3 || parts[at+2] == "events" || parts[at+2] == "leases" {
		return "", ""
	}
	kind = request.Method + " " + parts[at+2]
	if len(parts) > at+4 {
		kind += "/" + parts[at+4]
	}
	return parts[at+1], kind
}

func answer(request *http.Request, status metav1.Status) (*http.Response, error) {
	status.Status, status.Kind, status.APIVersion = metav1.StatusFailure, "Status", "v1"
	content, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: int(status.Code), Proto: request.Proto, ProtoMajor: request.ProtoMajor,
		ProtoMinor: request.ProtoMinor,
		Header:     http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(content)),
		ContentLength: int64(len(content)), Request: request,
	}, nil
}
