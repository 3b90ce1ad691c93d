package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// Cluster is a cluster that the calling process has started.
type Cluster struct {
	// Dir is the state directory, absolute.
	Dir string
	// Kubeconfig is a file that makes its bearer an administrator.
	Kubeconfig string

	running []*processes.Process
}

// Up starts a cluster and returns when its nodes are ready and its components work. The cluster outlives the calling
// process, until somebody calls Down. When Up fails, or the context ends, nothing is left.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	plan, err := options.plan()
	if err != nil {
		return nil, err
	}
	dir, err := claim(plan)
	if err != nil {
		return nil, err
	}
	l := &launch{plan: plan, dir: dir, begin: time.Now()}
	l.state = statedir.State{Started: l.begin, Owner: processes.Self("up")}
	if err := l.run(ctx); err != nil {
		return nil, errors.Join(err, l.undo())
	}
	dir.Release()
	return &Cluster{Dir: dir.Path(), Kubeconfig: dir.Path(kubeconfigFile), running: l.running}, nil
}

// claim takes the state directory, and cleans up after a cluster whose processes are gone.
func claim(plan plan) (*statedir.Dir, error) {
	dir, err := statedir.Claim(plan.dir)
	if errors.Is(err, statedir.ErrBusy) {
		return nil, fmt.Errorf("another process is bringing a dev cluster up or down in %s", plan.dir)
	}
	if err != nil {
		return nil, err
	}
	records, err := statedir.Records(dir.Path())
	if err == nil && slices.ContainsFunc(records, processes.Record.Alive) {
		err = fmt.Errorf("a dev cluster runs in %s already: `devcluster down` ends it, --dir makes another one elsewhere", plan.dir)
	}
	if err == nil {
		err = dir.Clear()
	}
	if err != nil {
		dir.Release()
		return nil, err
	}
	return dir, nil
}

// launch is a start under way.
type launch struct {
	plan
	dir   *statedir.Dir
	begin time.Time

	mu      sync.Mutex
	state   statedir.State
	running []*processes.Process
}

// run has the order of things: who needs whom.
func (l *launch) run(ctx context.Context) error {
	if err := l.dir.Save(l.state); err != nil {
		return err
	}
	for _, name := range []string{"processes", "logs", "pki", "tmp"} {
		if err := os.Mkdir(l.dir.Path(name), 0o700); err != nil {
			return err
		}
	}
	control, err := l.newControlPlane()
	if err != nil {
		return err
	}
	if err := control.serve(ctx); err != nil {
		return err
	}
	err = together(ctx,
		control.control,
		control.simulate,
		control.createNodes,
		control.installComponents,
	)
	if err != nil {
		return err
	}
	if err := together(ctx, control.awaitNodes, control.awaitServiceAccount); err != nil {
		return err
	}
	l.state.Ready = true
	return l.dir.Save(l.state)
}

// start runs a program and returns at once.
func (l *launch) start(spec processes.Spec, about statedir.Process) (*processes.Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	spec.Name, spec.Log = about.Name, l.dir.Path("logs", about.Name+".log")
	spec.Env = append(spec.Env, "TMPDIR="+l.dir.Path("tmp"))
	about.Version = versionOf(spec.Program)
	l.state.Processes = append(l.state.Processes, about)
	if err := l.dir.Save(l.state); err != nil {
		return nil, err
	}
	process, err := processes.Start(spec, l.dir.Processes(), l.dir.Lock())
	if err != nil {
		return nil, err
	}
	l.running = append(l.running, process)
	return process, nil
}

// undo ends what was started, recorded or not, and removes the directory.
func (l *launch) undo() error {
	for _, process := range l.running {
		process.Kill()
	}
	return l.dir.Remove()
}

func (l *launch) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.progress, "%6.1fs  %s\n", time.Since(l.begin).Seconds(), fmt.Sprintf(format, args...))
}

// write puts a file below the state directory.
func (l *launch) write(name string, content []byte) error {
	path := l.dir.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
