// Package apiproxy is a proxy between a program and the API server that makes its requests fail, and ends its watches.
package apiproxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// Fate is what happens to a request.
type Fate int

const (
	// Made requests are passed on.
	Made Fate = iota
	// Refused requests are answered with status 500, and do not reach the API server.
	Refused
	// Unanswered requests are passed on, but the client gets a timeout (status 504).
	Unanswered
	// Silent requests are passed on, and the connection breaks without an answer. Such watches break after Delay.
	Silent
	// Delayed requests are passed on after Delay. The events of a delayed watch come late until it ends.
	Delayed
	// Expired watches are refused: events since their version are not known any more.
	Expired
)

// Delay is how long a delayed request waits and a silent watch lasts, and Lag how long each piece of a delayed watch
// does.
const (
	Delay = 3 * time.Second
	Lag   = 200 * time.Millisecond
)

// host is the address of proxies: on this machine only.
const host = "127.0.0.1"

// Proxy passes requests on with their credentials.
type Proxy struct {
	// URL is its address, on this machine only, and Authority the signer of its certificate, as PEM.
	URL       string
	Authority []byte

	server *http.Server
	target *httputil.ReverseProxy
	fate   func(*http.Request) Fate

	mu sync.Mutex
	// watches lives as long as the present watches may.
	watches context.Context
	drop    context.CancelFunc
	open    int
}

// Listen starts a proxy in front of an API server. Of the configuration it uses the address and the authority. The fate
// of each request is asked for before the API server gets it, by several requests at once.
func Listen(server *rest.Config, fate func(*http.Request) Fate) (*Proxy, error) {
	address, err := url.Parse(server.Host)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(server))
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	authority, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(authority, key)
	if err != nil {
		return nil, err
	}
	p := &Proxy{URL: "https://" + listener.Addr().String(), Authority: authority, fate: fate,
		target: &httputil.ReverseProxy{
			Rewrite:   func(request *httputil.ProxyRequest) { request.SetURL(address) },
			Transport: transport,
			// Events of a watch must not wait for the next ones.
			FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
			// Programs that are killed break off their requests: that is not worth a log line.
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, err.Error(), http.StatusBadGateway)
			},
		}}
	p.watches, p.drop = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

// Close ends the proxy and all its requests.
func (p *Proxy) Close() error {
	p.DropWatches()
	return p.server.Close()
}

// DropWatches breaks all present watches off, and returns how many there were.
func (p *Proxy) DropWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
	p.watches, p.drop = context.WithCancel(context.Background())
	dropped := p.open
	p.open = 0
	return dropped
}

// ServeHTTP makes a Proxy a handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	fate := p.fate(request)
	if IsWatch(request) {
		p.serveWatch(w, request, fate)
		return
	}
	switch fate {
	case Refused:
		http.Error(w, "the proxy refuses", http.StatusInternalServerError)
	case Unanswered:
		p.target.ServeHTTP(unanswered{header: http.Header{}}, request)
		http.Error(w, "the proxy loses the answer", http.StatusGatewayTimeout)
	case Silent:
		p.target.ServeHTTP(unanswered{header: http.Header{}}, request)
		panic(http.ErrAbortHandler)
	case Delayed:
		select {
		case <-request.Context().Done():
		case <-time.After(Delay):
		}
		p.target.ServeHTTP(w, request)
	default:
		p.target.ServeHTTP(w, request)
	}
}

// IsWatch reports whether a request is for a watch.
func IsWatch(request *http.Request) bool { return request.URL.Query().Has("watch") }

func (p *Proxy) serveWatch(w http.ResponseWriter, request *http.Request, fate Fate) {
	p.mu.Lock()
	until := p.watches
	p.open++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if until.Err() == nil {
			p.open--
		}
	}()
	watching, end := context.WithCancel(request.Context())
	defer end()
	defer context.AfterFunc(until, end)()
	switch fate {
	case Refused:
		http.Error(w, "the proxy refuses", http.StatusInternalServerError)
		return
	case Expired:
		http.Error(w, "the proxy has forgotten that version", http.StatusGone)
		return
	case Silent:
		defer time.AfterFunc(Delay, end).Stop()
	case Delayed:
		w = late{w, watching}
	case Made, Unanswered: // A watch has no other effect than its answer.
	}
	p.target.ServeHTTP(w, request.WithContext(watching))
}

// late passes an answer on piece by piece, each after Lag.
type late struct {
	http.ResponseWriter
	until context.Context
}

// Unwrap lets each piece be sent at once.
func (l late) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l late) Write(content []byte) (int, error) {
	select {
	case <-l.until.Done():
	case <-time.After(Lag):
	}
	return l.ResponseWriter.Write(content)
}

// unanswered drops an answer.
type unanswered struct{ header http.Header }

func (u unanswered) Header() http.Header             { return u.header }
func (unanswered) Write(content []byte) (int, error) { return len(content), nil }
func (unanswered) WriteHeader(int)                   {}
