package rights

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Call is one request of a service account, from the API server's audit log.
type Call struct {
	// Account is the service account as namespace/name.
	Account string
	Verb    string
	// Group and Resource in the words of roles; Resource includes the subresource, as in pods/binding.
	Group, Resource string
	// Namespace and Name are empty if the request has none.
	Namespace, Name string
	// Code is the HTTP status of the answer.
	Code int
	// Message says why a request was refused.
	Message string

	// forbidden reports whether the authorizer refused it, before anything was read.
	forbidden bool
	body      []byte
}

// accountPrefix is the prefix of the user names of service accounts.
const accountPrefix = "system:serviceaccount:"

// ReadCalls reads an audit log, a JSON event a line. It leaves out other users than service accounts, and requests
// about no resource. An unfinished last line is being written, and left out too.
func ReadCalls(log io.Reader) ([]Call, error) {
	var calls []Call
	lines := bufio.NewReader(log)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("reading line %d of the audit log: %w", number, err)
		}
		if call, is := callOf(&event); is {
			calls = append(calls, call)
		}
	}
}

func callOf(event *auditv1.Event) (Call, bool) {
	account, is := strings.CutPrefix(event.User.Username, accountPrefix)
	if !is || event.ObjectRef == nil || event.ResponseStatus == nil {
		return Call{}, false
	}
	about := event.ObjectRef
	call := Call{
		Account: strings.Replace(account, ":", "/", 1), Verb: event.Verb,
		Group: about.APIGroup, Resource: about.Resource, Namespace: about.Namespace, Name: about.Name,
		Code: int(event.ResponseStatus.Code), Message: event.ResponseStatus.Message,
		forbidden: event.Annotations["authorization.k8s.io/decision"] == "forbid",
	}
	if about.Subresource != "" {
		call.Resource += "/" + about.Subresource
	}
	if event.RequestObject != nil {
		call.body = event.RequestObject.Raw
	}
	return call, true
}

// Succeeded reports whether the request was allowed and done.
func (c Call) Succeeded() bool { return c.Code < http.StatusBadRequest }

// RightsMissed reports whether the request was refused because a right was missing: the right to do it, or one that the
// API server requires in addition. Other refusals have the same status and are not about rights: those of webhooks, of
// namespaces that are being deleted, and of an API server that does not know a new kind everywhere yet.
func (c Call) RightsMissed() bool {
	if c.forbidden {
		return true
	}
	if c.Code != http.StatusForbidden {
		return false
	}
	for _, other := range []string{"admission webhook", "cannot find RESTMapping", "being terminated", "exceeded quota",
		"violates PodSecurity"} {
		if strings.Contains(c.Message, other) {
			return false
		}
	}
	return true
}

func (c Call) String() string {
	what := c.Resource
	if c.Group != "" {
		what += "." + c.Group
	}
	where := strings.Trim(c.Namespace+"/"+c.Name, "/")
	if where != "" {
		where = " " + where
	}
	said := ""
	if c.Message != "" {
		said = ": " + c.Message
	}
	return fmt.Sprintf("%s: %s %s%s (%d%s)", c.Account, c.Verb, what, where, c.Code, said)
}
