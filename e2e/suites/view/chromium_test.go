package view_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// chromium is a Chromium without a window, for as many tabs as tests open.
type chromium struct{ ctx context.Context }

// startChromium runs one until the test ends. If none can be had it skips the test with the reason, except in CI, where
// the test fails.
func startChromium(t *testing.T) chromium {
	t.Helper()
	path, err := findChromium(t.Context())
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		// Root has no sandbox, and only our own pages are opened here.
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1440, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(patience))
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancelBrowser := chromedp.NewContext(allocated)
	t.Cleanup(cancelBrowser)
	require.NoError(t, chromedp.Do(ctx), "starting %s", path)
	return chromium{ctx}
}

// install gets Chromium for root on Debian.
const install = `export DEBIAN_FRONTEND=noninteractive
apt-get -o Acquire::Retries=5 update >/dev/null
apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5 install -y --no-install-recommends chromium fonts-dejavu-core`

func findChromium(ctx context.Context) (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if said, err := exec.CommandContext(ctx, "sh", "-ec", install).CombinedOutput(); err != nil {
		return "", fmt.Errorf("there is no Chromium, and only root on Debian can install it: %w: %s", err, said)
	}
	return exec.LookPath("chromium")
}

// tab is an open page. Its methods fail the test if they fail.
type tab struct {
	t *testing.T
	// ctx is for actions of the test, open lasts as long as the page, which may be longer.
	ctx, open context.Context

	mu sync.Mutex
	// asked are the addresses that the page has requested, and complained its errors: exceptions, errors of its console,
	// requests that its policy refused.
	asked, complained []string
}

// open opens an address in the color scheme light or dark.
func (c chromium) open(t *testing.T, address, scheme string) *tab {
	t.Helper()
	open, cancel := chromedp.NewContext(c.ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(open))
	ctx, cancelTime := context.WithTimeout(open, patience)
	t.Cleanup(cancelTime)
	p := &tab{t: t, ctx: ctx, open: open}
	require.NoError(t, chromedp.Listen(ctx, p.hear))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	require.NoError(t, err)
	p.do("opening "+address, chromedp.Navigate(address))
	return p
}

// hear records those events of the browser that tests ask about.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.complained = append(p.complained, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			p.complained = append(p.complained, "the console has an error")
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			p.complained = append(p.complained, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func (p *tab) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func (p *tab) complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.complained)
}

func (p *tab) do(what string, action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.must(what, chromedp.Do(p.ctx, action))
}

// must ends the test with what the page says if there is an error.
func (p *tab) must(what string, err error) {
	p.t.Helper()
	if err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.open, 5*time.Second)
	defer cancel()
	said, unread := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body ? document.body.innerText : ''"))
	p.t.Fatalf("%s: %v; the page says: %.2000s (%v); it complained of %q", what, err, said, unread, p.complaints())
}

// evaluate runs a script in the page and returns its result.
func evaluate[T any](p *tab, script string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	p.must(fmt.Sprintf("evaluating %.300s", script), err)
	return value
}

// until waits until a script returns true.
func (p *tab) until(what, script string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool](script, chromedp.WithPollingInterval(20*time.Millisecond),
		chromedp.WithPollingTimeout(patience)))
	p.must("waiting for "+what, err)
}

// says waits until a text is visible on the page.
func (p *tab) says(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q", text), fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// shortcut presses a key that types nothing, by its name, on the focused element. A real key would also type it, even
// if the page prevents that.
func (p *tab) shortcut(key string) {
	p.t.Helper()
	evaluate[bool](p, fmt.Sprintf("(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', "+
		"{key: %q, bubbles: true, cancelable: true})) || true", key))
}

func (p *tab) press(keys string) {
	p.t.Helper()
	p.do(fmt.Sprintf("pressing %q", keys), chromedp.KeyEvent(keys))
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do("clicking "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// scroll turns the wheel at a point of the window, in pixels; up is negative.
func (p *tab) scroll(x, y, by float64) {
	p.t.Helper()
	// Both directions have to be sent, and the library omits one that is 0.
	_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMouseWheel, X: x, Y: y, DeltaX: 0.001, DeltaY: by})
	p.must("scrolling", err)
}

// screenshot keeps a picture of the window, if PACKTREE_SCREENSHOTS names a directory.
func (p *tab) screenshot(name string) {
	p.t.Helper()
	if directory := os.Getenv("PACKTREE_SCREENSHOTS"); directory != "" {
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		p.must("taking a picture", err)
		require.NoError(p.t, os.WriteFile(directory+"/"+name+".png", picture, 0o600))
	}
}
