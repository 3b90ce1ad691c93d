package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// restless is a proxy for the server of a page. It makes the cluster change all the time, and delays answers for longer
// than the cluster stays unchanged.
func restless(t *testing.T, address string) (page string) {
	t.Helper()
	behind, err := url.Parse(address)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: asOfACluster,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case behind.Path + "events":
			w.Header().Set("Content-Type", "text/event-stream")
			for revision := 1; r.Context().Err() == nil; revision++ {
				fmt.Fprintf(w, "event: overview\ndata: %d\n\n", revision)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		case behind.Path + "history", behind.Path + "explain":
			time.Sleep(500 * time.Millisecond)
			proxy.ServeHTTP(w, r)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + behind.Path
}

// asOfACluster makes the overview of a dump, with its events and remedies, look like that of a cluster.
func asOfACluster(response *http.Response) error {
	var overview map[string]any
	content, err := io.ReadAll(response.Body)
	if err == nil && json.Unmarshal(content, &overview) == nil && overview["histories"] != nil {
		delete(overview, "histories")
		for _, gang := range overview["gangs"].([]any) {
			delete(gang.(map[string]any), "remedies")
		}
		content, err = json.Marshal(overview)
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	response.ContentLength = int64(len(content))
	response.Header.Set("Content-Length", strconv.Itoa(len(content)))
	return err
}

// served is a page of a small cluster that changes all the time.
func served(t *testing.T) (browser chromium, address string) {
	t.Helper()
	browser = startChromium(t)
	return browser, restless(t, serve(t, "-f", small().write(t)))
}

func TestAHistoryIsShownThoughTheClusterChangesAllTheTime(t *testing.T) {
	browser, address := served(t)
	began := time.Now()
	page := browser.open(t, address+"#gang=team/runs", "light")
	page.says("assigned to r1-n0")
	asked := 0
	for _, request := range page.requests() {
		if parsed, err := url.Parse(request); err == nil && parsed.Query().Get("name") == "runs" {
			asked++
		}
	}
	if took := time.Since(began); asked > 2+int(took/(2*time.Second)) {
		t.Errorf("the history was asked for %d times in %s, and should be every two seconds at most", asked, took)
	}
}

func TestWhatWouldHelpIsShownThoughTheClusterChangesAllTheTime(t *testing.T) {
	browser, address := served(t)
	page := browser.open(t, address+"#gang=team/wide", "light")
	page.says("lower the minimum of the gang from 4 to 1")
}
