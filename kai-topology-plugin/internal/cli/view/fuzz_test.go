package view

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzPage: without the token, from another host or origin, or to change something, no request is answered.
func FuzzPage(f *testing.F) {
	server, err := Listen(NewFeed(), Answers{"explain": func(_ context.Context, asked url.Values) (any, error) {
		return "secret of " + asked.Get("name"), nil
	}}, 0)
	require.NoError(f, err)
	f.Cleanup(func() { _ = server.listener.Close() })
	server.Feed.Publish(says(`"secret"`))
	page, own := server.guarded(server.page()), server.listener.Addr().String()
	for _, path := range []string{"", "overview", "explain", "events", "page.js", "../overview", "none"} {
		f.Add("GET", own, "/TOKEN/"+path, "name=x&name=%zz", "http://"+own, "same-origin")
		f.Add("HEAD", "localhost", "//"+path, "", "null", "cross-site")
	}
	f.Fuzz(func(t *testing.T, method, host, path, query, origin, site string) {
		ended, end := context.WithCancel(t.Context())
		end() // Events have an end.
		request := (&http.Request{Method: method, Host: host, Header: http.Header{}, Body: http.NoBody,
			URL: &url.URL{Path: strings.ReplaceAll(path, "TOKEN", server.token), RawQuery: query}}).WithContext(ended)
		request.Header.Set("Origin", origin)
		request.Header.Set("Sec-Fetch-Site", site)
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, request)
		mine := strings.HasPrefix(strings.TrimPrefix(path, "/"), "TOKEN/") && server.mine(host) &&
			(origin == "" || origin == "http://"+host) && (method == http.MethodGet || method == http.MethodHead)
		if !mine && (answer.Code < 400 || strings.Contains(answer.Body.String(), "secret")) {
			t.Fatalf("%d: %s", answer.Code, answer.Body)
		}
	})
}
