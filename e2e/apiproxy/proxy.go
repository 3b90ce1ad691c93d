// Package apiproxy is a proxy between a program and the API server that makes bindings of pods fail.
package apiproxy

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// Fate is what happens to a binding.
type Fate int

const (
	// Made bindings succeed.
	Made Fate = iota
	// Refused bindings are answered with status 500, and do not reach the API server.
	Refused
	// Unanswered bindings are made, but the client gets a timeout (status 504).
	Unanswered
)

// host is the address of proxies: on this machine only.
const host = "127.0.0.1"

// Binding is a scheduler's request.
type Binding struct {
	Pod  types.NamespacedName
	Node string
}

// Proxy passes requests on with their credentials.
type Proxy struct {
	// URL is its address, on this machine only, and Authority the signer of its certificate, as PEM.
	URL       string
	Authority []byte

	server *http.Server
	target *httputil.ReverseProxy
	fate   func(Binding) Fate
}

// Listen starts a proxy in front of an API server. Of the configuration it uses the address and the authority. The fate
// of each binding is asked for before the API server gets the binding, by several requests at once.
func Listen(server *rest.Config, fate func(Binding) Fate) (*Proxy, error) {
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
			FlushInterval: -1,
			// Programs that are killed break off their requests: that is not worth a log line.
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, err.Error(), http.StatusBadGateway)
			},
		}}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

// Close ends the proxy and all its requests.
func (p *Proxy) Close() error { return p.server.Close() }

// ServeHTTP makes a Proxy a handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	pod, is := podOf(request)
	if !is {
		p.target.ServeHTTP(w, request)
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	binding := &corev1.Binding{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, binding); err != nil {
		http.Error(w, "the proxy does not understand this binding: "+err.Error(), http.StatusBadRequest)
		return
	}
	switch p.fate(Binding{Pod: pod, Node: binding.Target.Name}) {
	case Refused:
		http.Error(w, "the proxy refuses to bind to "+binding.Target.Name, http.StatusInternalServerError)
	case Unanswered:
		p.target.ServeHTTP(unanswered{header: http.Header{}}, request)
		http.Error(w, "the proxy loses the answer", http.StatusGatewayTimeout)
	default:
		p.target.ServeHTTP(w, request)
	}
}

// podOf returns the pod that a request binds, and false for other requests.
func podOf(request *http.Request) (types.NamespacedName, bool) {
	path := strings.Split(strings.TrimPrefix(request.URL.Path, "/api/v1/namespaces/"), "/")
	if request.Method != http.MethodPost || len(path) != 4 || path[1] != "pods" || path[3] != "binding" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: path[0], Name: path[2]}, true
}

// unanswered drops an answer.
type unanswered struct{ header http.Header }

func (u unanswered) Header() http.Header             { return u.header }
func (unanswered) Write(content []byte) (int, error) { return len(content), nil }
func (unanswered) WriteHeader(int)                   {}
