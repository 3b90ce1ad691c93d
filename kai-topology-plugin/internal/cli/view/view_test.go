package view

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const hostile = `{"nodes":[{"name":"</script><script>alert(1)</script><img src=x onerror=alert(2)> &amp;\u2028"}]}`

func TestTheBundleEndsNoElementThatItIsPutInto(t *testing.T) {
	for name, end := range map[string]string{"page.js": "</script", "page.css": "</style"} {
		assert.NotContains(t, strings.ToLower(string(asset(name))), end, "%s has %s> in it", name, end)
	}
}

func TestAnExportHasTheOverviewAsTextAndAllowsNothingElse(t *testing.T) {
	var page bytes.Buffer
	require.NoError(t, Export(&page, []byte(hostile), `<b>"now"</b>`))
	text := page.String()
	assert.Equal(t, 2, strings.Count(text, "</script"), "ends of scripts, want those of the data and of the page")
	data := regexp.MustCompile(`(?s)id="overview" data-taken="&lt;b&gt;&#34;now&#34;&lt;/b&gt;">(.*?)</script>`).FindStringSubmatch(text)
	require.NotNil(t, data, "the page has no overview")
	var want, got any
	if json.Unmarshal([]byte(hostile), &want) != nil || json.Unmarshal([]byte(data[1]), &got) != nil || mustMarshal(t, want) != mustMarshal(t, got) {
		t.Errorf("the overview is %s", data[1])
	}
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(text)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src 'none'; script-src 'sha256-") || strings.Contains(policy[1], "unsafe") {
		t.Errorf("policy %q", policy)
	}
	if regexp.MustCompile(`(?i)<(link|img|iframe)\b|\bsrc=|https?://`).MatchString(regexp.MustCompile(`(?s)<script.*?</script>|<style.*?</style>`).ReplaceAllString(text, "")) {
		t.Error("the frame of the page asks for something")
	}
	assert.LessOrEqual(t, strings.Index(text, "Content-Security-Policy"), strings.Index(text, "<style>"),
		"the policy comes after what it is about")
}

func mustMarshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// serve runs a server until the test is over.
func serve(t *testing.T) *Server {
	t.Helper()
	about := func(what string) Answer {
		return func(_ context.Context, asked url.Values) (any, error) {
			if asked.Get("name") == "gone" {
				return nil, errors.New("there is no gang gone")
			}
			return map[string]string{"what": what, "namespace": asked.Get("namespace"), "name": asked.Get("name")}, nil
		}
	}
	server, err := Listen(NewFeed(), Answers{"explain": about("explain"), "history": about("history")}, 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	return server
}

// says is an overview.
func says(text string) Overview { return func() ([]byte, error) { return []byte(text), nil } }

// ask sends one request and follows no redirect.
func ask(t *testing.T, address string, adjust func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	adjust(request)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(body)
}

func plain(*http.Request) {}

func TestThePageAndWhatItIsMadeOf(t *testing.T) {
	server := serve(t)
	for path, want := range map[string]string{
		"":                              `<script src="page.js"></script>`,
		"page.js":                       "EventSource",
		"page.css":                      "prefers-color-scheme",
		"explain?namespace=d&name=gang": `{"name":"gang","namespace":"d","what":"explain"}`,
		"history?namespace=d&name=gang": `{"name":"gang","namespace":"d","what":"history"}`,
	} {
		status, header, body := ask(t, server.Address()+path, plain)
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%q: %d, %.200s", path, status, body)
		}
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		} {
			assert.Equal(t, value, header.Get(name), "%q: %s", path, name)
		}
	}
	status, _, body := ask(t, server.Address()+"overview", plain)
	assert.Equal(t, http.StatusServiceUnavailable, status, "nothing has been read, %s", body)
	server.Feed.Publish(says(`{"nodes":[]}`))
	if status, _, body := ask(t, server.Address()+"overview", plain); status != http.StatusOK || body != `{"nodes":[]}` {
		t.Errorf("overview: %d, %s", status, body)
	}
	for _, path := range []string{"explain?name=gone", "history?name=gone"} {
		status, _, body := ask(t, server.Address()+path, plain)
		assert.Equal(t, http.StatusNotFound, status, path)
		assert.Contains(t, body, "there is no gang gone", path)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	server := serve(t)
	server.Feed.Publish(says(`{"secret":true}`))
	address, err := url.Parse(server.Address())
	require.NoError(t, err)
	root := "http://" + address.Host
	for name, test := range map[string]struct {
		address string
		adjust  func(*http.Request)
		want    int
	}{
		"no token":                         {root + "/overview", plain, http.StatusForbidden},
		"nothing at all":                   {root + "/", plain, http.StatusForbidden},
		"another token":                    {root + "/" + strings.Repeat("A", len(server.token)) + "/overview", plain, http.StatusForbidden},
		"a part of the token":              {root + "/" + server.token[:10] + "/overview", plain, http.StatusForbidden},
		"the token without what follows":   {root + "/" + server.token, plain, http.StatusForbidden},
		"the token as a query":             {root + "/overview?token=" + server.token, plain, http.StatusForbidden},
		"a name that leads here":           {server.Address() + "overview", func(r *http.Request) { r.Host = "evil.example:" + address.Port() }, http.StatusForbidden},
		"the right name with another port": {server.Address() + "overview", func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusForbidden},
		"a page of another origin":         {server.Address() + "overview", with("Origin", "http://evil.example"), http.StatusForbidden},
		"a page without an origin":         {server.Address() + "events", with("Origin", "null"), http.StatusForbidden},
		"another server of this machine":   {server.Address() + "overview", with("Origin", "http://127.0.0.1:1"), http.StatusForbidden},
		"a frame of another site":          {server.Address(), with("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"another port of this site":        {server.Address() + "overview", with("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"a way out":                        {server.Address() + "../../etc/passwd", plain, http.StatusNotFound},
		"a way out, encoded":               {server.Address() + "..%2f..%2fetc%2fpasswd", plain, http.StatusNotFound},
		"a way out from a folder":          {server.Address() + "bundle/../server.go", plain, http.StatusNotFound},
		"an absolute path":                 {server.Address() + "/etc/passwd", plain, http.StatusNotFound},
		"a change":                         {server.Address() + "overview", func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		"the page itself":                  {server.Address() + "overview", with("Origin", root), http.StatusOK},
		"a person with the name localhost": {server.Address() + "overview", func(r *http.Request) { r.Host = "localhost:" + address.Port() }, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := ask(t, test.address, test.adjust)
			assert.Equal(t, test.want, status, body)
			assert.Equal(t, strings.Contains(body, "secret"), status == http.StatusOK, body)
		})
	}
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestEventsTellOfOverviewsAndOfTrouble(t *testing.T) {
	server := serve(t)
	server.Feed.Publish(says(`{}`))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.Address()+"events", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	expect := func(want ...string) {
		t.Helper()
		for _, line := range append(want, "") {
			require.True(t, lines.Scan(), "told %q, want %q (%v)", lines.Text(), line, lines.Err())
			require.Equal(t, line, lines.Text(), "told %q, want %q (%v)", lines.Text(), line, lines.Err())
		}
	}
	expect("event: overview", "data: 1")
	server.Feed.Publish(says(`{}`))
	expect("event: overview", "data: 2")
	server.Feed.Trouble("you may not\nwatch")
	expect("event: trouble", "data: you may not watch")
	server.Feed.Publish(says(`{}`))
	expect("event: overview", "data: 3")
}

func TestTheServerEndsDespiteOpenStreams(t *testing.T) {
	server, err := Listen(NewFeed(), Answers{}, 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.Address()+"events", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	cancel()
	require.NoError(t, <-done, "it ended")
	_, err = io.ReadAll(response.Body)
	require.NoError(t, err, "the answer was cut off")
	_, err = http.Get(server.Address())
	assert.Error(t, err, "it still answers")
}

// An overview is made only when a viewer asks, however often the cluster changes, and once for several viewers.
func TestAnOverviewIsMadeOnlyForViewers(t *testing.T) {
	server := serve(t)
	made := 0
	for range 3 {
		server.Feed.Publish(func() ([]byte, error) { made++; return []byte(`{}`), nil })
	}
	assert.Zero(t, made, "%d are made for nobody", made)
	for range 2 {
		if status, _, body := ask(t, server.Address()+"overview", plain); status != http.StatusOK || body != `{}` {
			t.Errorf("%d, %s", status, body)
		}
	}
	assert.Equal(t, 1, made, "%d are made for two who look at one", made)
	server.Feed.Publish(func() ([]byte, error) { return nil, errors.New("there is no Topology t") })
	if status, _, body := ask(t, server.Address()+"overview", plain); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "no Topology t") || server.Feed.latest().trouble != "there is no Topology t" {
		t.Errorf("%d, %s", status, body)
	}
}
