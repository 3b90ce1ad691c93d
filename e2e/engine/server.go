package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Work is a request, and at the end its answer.
type Work struct {
	Prompt string `json:"prompt"`
	// Hosts are the pods on its way so far, the frontend first, and Components their components.
	Hosts      []string `json:"hosts"`
	Components []string `json:"components"`
	// Next are the addresses that are still ahead.
	Next []string `json:"next,omitempty"`
}

// patience is how long a hop may take.
const patience = 10 * time.Second

// Engine is one pod's part.
type Engine struct {
	Identity Identity
	// Workers returns the instances that are ready.
	Workers func(ctx context.Context) ([]Instance, error)

	requests atomic.Int64
	// registered reports whether others can find it. Frontends need not be found.
	registered atomic.Bool
}

// Handler answers /live and /health and, depending on the component, requests of users or of other pods.
func (e *Engine) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"status":"live"}`) })
	mux.HandleFunc("GET /health", e.health)
	if e.Identity.Component == Frontend {
		mux.HandleFunc("POST /v1/completions", e.complete)
	} else {
		mux.HandleFunc("POST /generate", e.generate)
	}
	return mux
}

// health is good for a registered worker, and always for a frontend: that answers that no worker is there rather than
// not at all.
func (e *Engine) health(w http.ResponseWriter, _ *http.Request) {
	if e.Identity.Component != Frontend && !e.registered.Load() {
		http.Error(w, `{"status":"notready"}`, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, `{"status":"healthy"}`)
}

// complete takes a user's request: {"prompt": "…"}.
func (e *Engine) complete(w http.ResponseWriter, r *http.Request) {
	work := Work{}
	if err := json.NewDecoder(r.Body).Decode(&work); err != nil {
		http.Error(w, "the request is no JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	found, err := e.Workers(r.Context())
	if err != nil {
		http.Error(w, "looking for workers: "+err.Error(), http.StatusInternalServerError)
		return
	}
	route := Route(found, int(e.requests.Add(1)-1))
	if len(route) == 0 {
		http.Error(w, fmt.Sprintf("none of %d workers decodes", len(found)), http.StatusServiceUnavailable)
		return
	}
	work.Hosts, work.Components, work.Next = nil, nil, nil
	for _, instance := range route {
		work.Next = append(work.Next, instance.Address)
	}
	e.pass(w, r, work)
}

// generate takes another pod's request.
func (e *Engine) generate(w http.ResponseWriter, r *http.Request) {
	work := Work{}
	if err := json.NewDecoder(r.Body).Decode(&work); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.pass(w, r, work)
}

// pass adds this host to a request and passes it on, or answers it.
func (e *Engine) pass(w http.ResponseWriter, r *http.Request, work Work) {
	work.Hosts, work.Components = append(work.Hosts, e.Identity.Pod), append(work.Components, e.Identity.Component)
	if len(work.Next) > 0 {
		next := work.Next[0]
		work.Next = work.Next[1:]
		answer, err := Post(r.Context(), "http://"+next+"/generate", work)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		work = *answer
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(work); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Post sends a request to a URL and returns the answer. A status other than 200 is an error with the answer's text.
func Post(ctx context.Context, url string, work Work) (*Work, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := json.Marshal(work)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", url, err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %s", url, response.Status, bytes.TrimSpace(said))
	}
	answer := &Work{}
	if err := json.Unmarshal(said, answer); err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	return answer, nil
}
