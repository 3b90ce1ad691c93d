package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// proxy is between a program and the API server, and simulates an API server that is away or has lost its watch cache.
type proxy struct {
	*httptest.Server
	away atomic.Bool
	// refused counts the refused requests.
	refused atomic.Int64
	// expire is how many of the next watches get the error that their resource version is too old.
	expire atomic.Int64
}

func startProxy() *proxy {
	GinkgoHelper()
	address, err := url.Parse(rcfg.Host)
	Expect(err).NotTo(HaveOccurred())
	authority := x509.NewCertPool()
	Expect(authority.AppendCertsFromPEM(rcfg.CAData)).To(BeTrue())
	forward := httputil.NewSingleHostReverseProxy(address)
	forward.FlushInterval = -1 // A watch sends its events one by one.
	forward.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}, ForceAttemptHTTP2: true}
	forward.ErrorLog = nil
	made := &proxy{}
	made.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case made.away.Load():
			made.refused.Add(1)
			panic(http.ErrAbortHandler)
		case r.URL.Query().Get("watch") != "" && made.expire.Add(-1) >= 0:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(
				`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}` +
					"\n"))
		default:
			forward.ServeHTTP(w, r)
		}
	}))
	made.EnableHTTP2 = true
	made.StartTLS()
	DeferCleanup(func() {
		made.CloseClientConnections() // Close waits for watches otherwise.
		made.Close()
	})
	return made
}

// authority is the proxy's own certificate.
func (p *proxy) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
}

// leave cuts every connection and refuses new ones.
func (p *proxy) leave() {
	p.away.Store(true)
	p.CloseClientConnections()
}
