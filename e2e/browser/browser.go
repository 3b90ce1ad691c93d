// Package browser runs a real Chromium for tests of pages.
package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/util/wait"
)

// patience bounds each action, on a busy machine.
const patience = 2 * time.Minute

// names of programs that are a Chromium.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Ensure returns the path of a Chromium. If there is none, it is installed for root on Debian; elsewhere the error says
// what to do.
func Ensure(ctx context.Context) (string, error) {
	if found := find(); found != "" {
		return found, nil
	}
	if os.Geteuid() != 0 {
		return "", errors.New("there is no Chromium: install Debian's package chromium, or run this as root on Debian")
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", errors.New("there is no Chromium, and no apt-get to install it with")
	}
	if err := retried(ctx, func() error { return install(ctx) }); err != nil {
		return "", err
	}
	if found := find(); found != "" {
		return found, nil
	}
	return "", errors.New("no program chromium in Debian's package of that name")
}

// install gets Chromium from Debian.
func install(ctx context.Context) error {
	for _, arguments := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "chromium",
		"fonts-dejavu-core"}} {
		command := exec.CommandContext(ctx, "apt-get", append([]string{"-o", "DPkg::Lock::Timeout=300"},
			arguments...)...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("installing Chromium: apt-get %s: %w: %s", arguments[0], err, strings.TrimSpace(string(said)))
		}
	}
	return nil
}

// retried calls again what failed, up to a few times and ever later: mirrors and locks of package lists pass.
func retried(ctx context.Context, do func() error) (err error) {
	later := wait.Backoff{Duration: 5 * time.Second, Factor: 2, Steps: 5}
	failed := wait.ExponentialBackoffWithContext(ctx, later, func(context.Context) (bool, error) {
		err = do()
		return err == nil, nil
	})
	return cmp.Or(err, failed)
}

func find() string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Browser is a Chromium, for as many pages as tests open.
type Browser struct{ ctx context.Context }

// Start runs a Chromium without a window until the test ends. If none can be had it skips the test with the reason,
// except in CI, where the test fails.
func Start(t *testing.T) *Browser {
	t.Helper()
	path, err := Ensure(t.Context())
	switch {
	case err != nil && os.Getenv("CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		// Root has no sandbox, and only our own pages are opened here.
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1440, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(patience))
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancelBrowser := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		cancelBrowser()
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return &Browser{ctx}
}

// Page is an open page. Its methods fail the test if they fail.
type Page struct {
	t *testing.T
	// ctx is for actions of the test, open lasts as long as the page, which may be longer.
	ctx, open context.Context
	// requests of the page, and complaints: its errors.
	requests, complaints *recorder
}

// Open opens an address, in the dark color scheme if dark is set.
func (b *Browser) Open(t *testing.T, address string, dark bool) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	open := ctx
	ctx, cancelTime := context.WithTimeout(open, patience)
	t.Cleanup(cancelTime)
	p := &Page{t: t, ctx: ctx, open: open, requests: &recorder{}, complaints: &recorder{}}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}}}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatalf("listening to requests: %v", err)
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatalf("choosing between light and dark: %v", err)
	}
	p.do("opening "+address, chromedp.Navigate(address))
	return p
}

// hear records those events of the browser that tests ask about.
func (p *Page) hear(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests.add(e.Request.URL)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.complaints.add(text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			p.complaints.add("the console has an error")
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			p.complaints.add(e.Entry.Text + " " + e.Entry.URL)
		}
	}
}

func (p *Page) do(what string, action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, action); err != nil {
		p.fail(what, err)
	}
}

func (p *Page) fail(what string, err error) {
	p.t.Helper()
	p.t.Fatalf("%s: %v; the page says: %.2000s; it complained of %q", what, err, p.said(), p.Complaints())
}

func (p *Page) said() string {
	// The test's own context may have ended.
	ctx, cancel := context.WithTimeout(p.open, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body ? document.body.innerText : ''"))
	if err != nil {
		return err.Error()
	}
	return text
}

// Requests returns the addresses that the page has requested.
func (p *Page) Requests() []string { return p.requests.all() }

// Complaints returns the page's errors: exceptions, errors of its console, requests that its policy refused.
func (p *Page) Complaints() []string { return p.complaints.all() }

// Evaluate runs a script in the page and returns its result.
func Evaluate[T any](p *Page, script string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.fail(fmt.Sprintf("evaluating %.300s", script), err)
	}
	return value
}

// Until waits until a script returns true.
func (p *Page) Until(what, script string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool](script, chromedp.WithPollingInterval(20*time.Millisecond),
		chromedp.WithPollingTimeout(patience)))
	if err != nil {
		p.fail("waiting for "+what, err)
	}
}

// Says waits until a text is visible on the page.
func (p *Page) Says(text string) {
	p.t.Helper()
	p.Until(fmt.Sprintf("%q", text), fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// Shortcut presses a key that types nothing, by its name, on the focused element. Press would also type it, even if the
// page prevents that.
func (p *Page) Shortcut(key string) {
	p.t.Helper()
	Evaluate[bool](
		p, fmt.Sprintf("(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', {key: "+
			"%q, bubbles: true, cancelable: true})) || true", key))
}

// Press presses keys, on the focused element.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do(fmt.Sprintf("pressing %q", keys), chromedp.KeyEvent(keys))
}

// Click clicks the element of a selector.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do("clicking "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// ClickAt clicks a point of the window, in pixels.
func (p *Page) ClickAt(x, y float64) {
	p.t.Helper()
	p.do("clicking", chromedp.MouseClickXY(x, y))
}

// Scroll turns the wheel at a point of the window, in pixels; up is negative.
func (p *Page) Scroll(x, y, by float64) {
	p.t.Helper()
	// Both directions have to be sent, and the library omits one that is 0.
	turn := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: x, Y: y,
		DeltaX: 0.001, DeltaY: by}
	_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, turn)
	if err != nil {
		p.fail("scrolling", err)
	}
}

// Screenshot writes a picture of the window, as PNG, for people.
func (p *Page) Screenshot(file string) {
	p.t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.fail("taking a picture", err)
	}
	if err := os.WriteFile(file, picture, 0o600); err != nil {
		p.t.Fatal(err)
	}
}
