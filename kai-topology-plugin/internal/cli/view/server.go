package view

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Answer is what is said to a question. It is sent as JSON; an error is for people.
type Answer func(ctx context.Context, asked url.Values) (any, error)

// Answers are what people can ask for beyond the overview, by the name of the question.
type Answers map[string]Answer

// Server shows the latest overview to users of this machine that know its address.
type Server struct {
	// Feed has the overviews.
	Feed    *Feed
	answers Answers

	token    string
	listener net.Listener
}

// goodbye is how long answers that are under way may take once the server is asked to end.
const goodbye = 3 * time.Second

// Listen opens the server on the loopback interface, on a free port if port is 0.
func Listen(feed *Feed, answers Answers, port int) (*Server, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	return &Server{Feed: feed, answers: answers, token: rand.Text(), listener: listener}, nil
}

// Address is the address of the page. It is a secret: the page shows all that the user may see.
func (s *Server) Address() string {
	return fmt.Sprintf("http://%s/%s/", s.listener.Addr(), s.token)
}

// Serve answers until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler:           s.guarded(s.page()),
		ReadHeaderTimeout: 10 * time.Second,
		// Requests that wait for events end when the server does.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(s.listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := server.Shutdown(end); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// policy lets the page load what it is made of from here, and nothing from anywhere else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guarded refuses requests that come neither from the page itself nor from a user with its address. A page of another
// site can make a browser ask here, also under a name of its own that leads to this machine, but it neither knows the
// token nor can it hide its origin.
func (s *Server) guarded(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		token, path, inside := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !s.mine(r.Host):
			http.Error(w, "this is not the host that the page was opened at", http.StatusForbidden)
		case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+r.Host:
			http.Error(w, "pages of other origins get no answer", http.StatusForbidden)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site", r.Header.Get("Sec-Fetch-Site") == "same-site":
			http.Error(w, "pages of other sites get no answer", http.StatusForbidden)
		case !inside || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
			http.Error(w, "the address lacks the token that kubectl packtree view has printed", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "there is nothing to be changed here", http.StatusMethodNotAllowed)
		default:
			r.URL.Path = path
			page.ServeHTTP(w, r)
		}
	})
}

// mine reports whether a host is the server, by its number or as localhost.
func (s *Server) mine(host string) bool {
	address := s.listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	return err == nil && (host == address || host == net.JoinHostPort("localhost", port))
}

// page answers by the name of what is asked for. There are no files behind it.
func (s *Server) page() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "":
			send(w, "text/html; charset=utf-8", []byte(served()))
		case "page.js":
			send(w, "text/javascript; charset=utf-8", asset("page.js"))
		case "page.css":
			send(w, "text/css; charset=utf-8", asset("page.css"))
		case "overview":
			s.overview(w)
		case "events":
			s.events(w, r)
		default:
			answer, known := s.answers[r.URL.Path]
			if !known {
				http.NotFound(w, r)
				return
			}
			said, err := answer(r.Context(), r.URL.Query())
			reply(w, said, err)
		}
	})
}

func send(w http.ResponseWriter, kind string, content []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content) // A closed connection needs no answer.
}

func (s *Server) overview(w http.ResponseWriter) {
	overview, err := s.Feed.read()
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case overview == nil:
		http.Error(w, "the cluster has not been read yet", http.StatusServiceUnavailable)
	default:
		send(w, "application/json", overview)
	}
}

// events reports each further overview, or a reason why there is none.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	answer := http.NewResponseController(w)
	sent := &moment{}
	for {
		latest := s.Feed.latest()
		if latest.overview != nil && latest.revision != sent.revision {
			fmt.Fprintf(w, "event: overview\ndata: %d\n\n", latest.revision)
		}
		if latest.trouble != "" && latest.trouble != sent.trouble {
			fmt.Fprintf(w, "event: trouble\ndata: %s\n\n", strings.ReplaceAll(latest.trouble, "\n", " "))
		}
		if answer.Flush() != nil {
			return
		}
		sent = latest
		select {
		case <-r.Context().Done():
			return
		case <-latest.over:
		}
	}
}

// reply sends an answer, or why there is none.
func reply(w http.ResponseWriter, said any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	content, err := json.Marshal(said)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, "application/json", content)
}
