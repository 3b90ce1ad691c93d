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

// Call is one request of a service account, as the API server noted it.
type Call struct {
	// Account is the service account as namespace/name.
	Account string
	Verb    string
	// Group and Resource are the kind as roles name it; Resource includes the subresource, as in pods/binding.
	Group, Resource string
	// Namespace and Name are empty where the request has none.
	Namespace, Name string
	// Code is the HTTP status of the answer.
	Code int
	// Message is why a request was turned down.
	Message string

	// forbidden is whether the authorizer turned it down, before anything was looked at.
	forbidden bool
	body      []byte
}

// accountPrefix begins the user names of service accounts.
const accountPrefix = "system:serviceaccount:"

// ReadCalls reads an audit log, a JSON event a line, and leaves out whoever is no service account and what is about no resource. A last line
// without its end is one that is being written, and left out too.
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

// Succeeded is whether the request was granted and done.
func (c Call) Succeeded() bool { return c.Code < http.StatusBadRequest }

// RightsMissed is whether the request was turned down because a right was missing: the right to do it, or one that the API server asks for
// beside it. Others answer with the same status and are no matter of rights: webhooks, namespaces that are going, and an API server that
// does not know a new kind in all places yet.
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
