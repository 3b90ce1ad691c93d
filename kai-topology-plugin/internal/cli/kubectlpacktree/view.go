package kubectlpacktree

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/kai-topology-plugin/internal/cli/view"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
)

// deciding is how long gangs of a dump that wait are decided before the page is shown.
const deciding = 10 * time.Second

// viewOptions are the flags of view.
type viewOptions struct {
	from      *source
	asked     overview.Question
	export    string
	port      int
	noBrowser bool
}

func (p *plugin) viewCommand() *cobra.Command {
	options := &viewOptions{from: &source{plugin: p}}
	command := &cobra.Command{
		Use:   "view [-f BUNDLE] [--export FILE]",
		Short: "Show every domain, node and gang on a page: live, of a dump, or as one file",
		Long: `view opens a page in the browser: a map of the domains of each Topology, as large as their devices are
many, with a colour for each gang; what waits, why, and what would help; and all of it in tables. It follows the cluster
by watches as long as it runs.

The page is served on this machine only, at an address with a secret that view prints. Keep the
address to yourself: the page shows all that you may see. Nothing is installed in the cluster, and nothing is asked of
any other host.

--export writes one file instead, which needs neither a server nor a network. Gangs that wait are decided for it, as
explain does, for up to 10 seconds; so they are for a page of a dump.

Keys: / search, t map or tables, c colours, esc back; on the map the arrows, page up and down, enter, + - and 0.`,
		Example: `  kubectl packtree view
  kubectl packtree view -f bundle.yaml
  kubectl packtree view --export page.html
  kubectl packtree support-bundle | kubectl packtree view -f - --export - > page.html`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if name, given, err := p.namespace(); err == nil && given {
				options.asked.Namespace = name
			}
			ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			command.SetContext(ctx)
			if options.export != "" {
				return p.exportView(command, options)
			}
			return p.serveView(command, options)
		},
	}
	options.from.bind(command)
	flags := command.Flags()
	flags.StringVar(&options.export, "export", "", "write the page to this file, - for standard output, and quit")
	flags.StringVar(&options.asked.Topology, "topology", "", "show this Topology only")
	flags.StringVar(&options.asked.Resource, "resource", "", "the resource to show; GPUs if any node has them, else cpu")
	flags.IntVar(&options.port, "port", 0, "the port to listen on; a free one unless given")
	flags.BoolVar(&options.noBrowser, "no-browser", false, "print the address and open nothing")
	return command
}

// exportView writes the page of a cluster or a dump to a file.
func (p *plugin) exportView(command *cobra.Command, options *viewOptions) error {
	read, err := options.from.read(command, live.Wanted{Events: true})
	if err != nil {
		return err
	}
	seen, err := p.decided(command.Context(), read, options.asked)
	if err != nil {
		return err
	}
	content, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := view.Export(&page, content, p.taken(options)); err != nil {
		return err
	}
	return writePage(command, options.export, &page)
}

// writePage writes a page to a file, which has its name only once it is whole.
func writePage(command *cobra.Command, file string, page *bytes.Buffer) error {
	if file == "-" {
		_, err := page.WriteTo(command.OutOrStdout())
		return err
	}
	unfinished := file + ".part"
	if err := os.WriteFile(unfinished, page.Bytes(), 0o600); err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	if err := os.Rename(unfinished, file); err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	fmt.Fprintln(command.ErrOrStderr(), file+" is the page: open it in a browser")
	return nil
}

func (p *plugin) taken(options *viewOptions) string {
	if len(options.from.files) > 0 {
		return "of a dump, made into a page " + p.minute()
	}
	return "as it was " + p.minute()
}

func (p *plugin) minute() string { return p.now().Format("2006-01-02 15:04 MST") }

// decided is an overview with decisions about the waiting gangs, as far as the time suffices.
func (p *plugin) decided(ctx context.Context, read *live.Cluster, asked overview.Question) (*overview.Overview, error) {
	seen, err := overview.Of(ctx, read.Inventory, asked)
	if err != nil {
		return nil, err
	}
	if err := p.decide(ctx, read.Inventory, seen, p.now().Add(deciding)); err != nil {
		return nil, err
	}
	seen.Notes = append(append([]string{}, read.Notes...), seen.Notes...)
	return seen, nil
}

// decide decides the gangs of an overview that wait, until a time. A note says how many are left then.
func (p *plugin) decide(
	ctx context.Context, cluster *inventory.Inventory, seen *overview.Overview, until time.Time,
) error {
	left, err := explanation.Decide(ctx, cluster, seen.Gangs, func() bool { return p.now().After(until) })
	if left > 0 {
		seen.Notes = append(seen.Notes,
			fmt.Sprintf("%d gangs that wait were not decided again: there are too many of them", left))
	}
	return err
}

// serveView serves the page until the command is interrupted.
func (p *plugin) serveView(command *cobra.Command, options *viewOptions) error {
	running, ctx := errgroup.WithContext(command.Context())
	feed := view.NewFeed()
	follow, answers, err := p.shown(command, options, feed)
	if err != nil {
		return err
	}
	server, err := view.Listen(feed, answers, options.port)
	if err != nil {
		return fmt.Errorf("opening a port: %w", err)
	}
	fmt.Fprintf(command.OutOrStdout(), "%s\n", server.Address())
	fmt.Fprintln(command.ErrOrStderr(),
		"Keep the address to yourself: the page shows all that you may see. Ctrl-C ends it.")
	running.Go(func() error { return follow(ctx) }) // It only ends by itself if the cluster cannot be read.
	running.Go(func() error { return server.Serve(ctx) })
	if !options.noBrowser {
		open(ctx, command.ErrOrStderr(), server.Address())
	}
	return running.Wait()
}

// shown returns what feeds the page until its context is done, and what answers its questions.
func (p *plugin) shown(
	command *cobra.Command, options *viewOptions, feed *view.Feed,
) (follow func(context.Context) error, answers view.Answers, err error) {
	publish := func(see func() (*overview.Overview, error)) {
		feed.Publish(func() ([]byte, error) {
			seen, err := see()
			if err != nil {
				return nil, err
			}
			return json.Marshal(seen)
		})
	}
	shown := &showing{plugin: p, asked: options.asked, trouble: feed.Trouble, seen: publish}
	follow, err = shown.follow(command, options.from)
	return follow, shown.answers(), err
}

// open shows an address in the browser, if there is one.
func open(ctx context.Context, said io.Writer, address string) {
	command := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", address}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	if err := exec.CommandContext(ctx, command[0], command[1:]...).Start(); err != nil {
		fmt.Fprintf(said, "No browser could be opened (%v): open the address above.\n", err)
	}
}
