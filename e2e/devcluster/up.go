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
	"packtree.dev/e2e/devcluster/internal/programs"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// Cluster is a cluster that the calling process has started.
type Cluster struct {
	// Dir is the state directory, absolute.
	Dir string
	// Kubeconfig is the file of an administrator.
	Kubeconfig string

	plane *controlPlane
}

// limit bounds a whole start, in case a request is never answered.
const limit = 10 * time.Minute

// Up starts a cluster and returns when its nodes are ready and its components work. The cluster outlives the calling
// process, until Down is called. If Up fails, or the context ends, nothing is left.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	dir, err := claim(options.Dir)
	if err != nil {
		return nil, err
	}
	s := &start{Options: options, dir: dir, begin: time.Now(), ended: make(chan *processes.Process),
		releasePorts: func() {}}
	defer func() { s.releasePorts() }()
	s.state = statedir.State{Owner: processes.Self("up")}
	bounded, cancel := context.WithTimeout(ctx, limit+options.perNodes())
	defer cancel()
	if err := s.run(bounded); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if left := s.undo(); left != nil {
			return nil, fmt.Errorf("%w; and cleaning up: %w", err, left)
		}
		return nil, err
	}
	dir.Release()
	return &Cluster{Dir: dir.Path(), Kubeconfig: dir.Path(programs.AdministratorFile), plane: s.plane}, nil
}

// claim takes the state directory, and cleans up after a cluster without processes.
func claim(path string) (*statedir.Dir, error) {
	dir, err := statedir.Claim(path)
	if errors.Is(err, statedir.ErrBusy) {
		return nil, fmt.Errorf("another process is bringing a dev cluster up or down in %s", path)
	}
	if err != nil {
		return nil, err
	}
	records, err := statedir.Records(dir.Path())
	if err == nil && slices.ContainsFunc(records, processes.Record.Alive) {
		err = fmt.Errorf(
			"a dev cluster runs in %s already: `devcluster down` ends it, --dir makes another one elsewhere", path)
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

// start is a cluster that is coming up.
type start struct {
	Options
	dir   *statedir.Dir
	begin time.Time
	// releasePorts is called when the programs listen.
	releasePorts func()

	mu      sync.Mutex
	state   statedir.State
	running []*processes.Process
	// ended receives each lasting program that has ended, for Supervise.
	ended chan *processes.Process
	plane *controlPlane
}

// run has the order of the steps, by their dependencies.
func (s *start) run(ctx context.Context) error {
	if err := s.dir.Save(s.state); err != nil {
		return err
	}
	for _, name := range []string{"processes", "logs", "pki", "tmp"} {
		if err := os.Mkdir(s.dir.Path(name), 0o700); err != nil {
			return err
		}
	}
	control, err := s.newControlPlane()
	if err != nil {
		return err
	}
	s.plane = control
	if err := control.serve(ctx); err != nil {
		return err
	}
	err = together(ctx,
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
	s.state.Ready = true
	return s.dir.Save(s.state)
}

// keep starts a program that goes on running, and returns at once.
func (s *start) keep(spec processes.Spec, about statedir.Process) (*processes.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec.Name = about.Name
	s.state.Processes = append(s.state.Processes, about)
	if err := s.dir.Save(s.state); err != nil {
		return nil, err
	}
	process, err := s.launch(spec)
	if err != nil {
		return nil, err
	}
	s.running = append(s.running, process)
	go func() {
		<-process.Ended()
		s.ended <- process
	}()
	return process, nil
}

// process is the last run of a program, with its entry in the state; nil if there is no such program.
func (s *start) process(name string) (*processes.Process, statedir.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := slices.IndexFunc(s.running, func(p *processes.Process) bool { return p.Spec.Name == name })
	about := slices.IndexFunc(s.state.Processes, func(p statedir.Process) bool { return p.Name == name })
	if run < 0 || about < 0 {
		return nil, statedir.Process{}
	}
	return s.running[run], s.state.Processes[about]
}

// forget drops programs that have ended.
func (s *start) forget(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named := func(name string) bool { return slices.Contains(names, name) }
	s.running = slices.DeleteFunc(s.running, func(p *processes.Process) bool { return named(p.Spec.Name) })
	s.state.Processes = slices.DeleteFunc(s.state.Processes, func(p statedir.Process) bool { return named(p.Name) })
}

// finish runs a program that ends by itself. It is recorded like the others, in case of a crash while it runs.
func (s *start) finish(ctx context.Context, spec processes.Spec) error {
	process, err := s.launch(spec)
	if err != nil {
		return err
	}
	select {
	case <-process.Ended():
	case <-ctx.Done():
		process.Kill()
		return context.Cause(ctx)
	}
	if process.Err != nil {
		return process.Failure()
	}
	return nil
}

func (s *start) launch(spec processes.Spec) (*processes.Process, error) {
	spec.Log = s.dir.Path("logs", spec.Name+".log")
	spec.Env = append(spec.Env, "TMPDIR="+s.dir.Path("tmp"))
	return processes.Start(spec, s.dir.Processes(), s.dir.Lock())
}

// undo ends all started processes, recorded or not, and removes the directory.
func (s *start) undo() error {
	for _, process := range s.running {
		process.Kill()
	}
	return s.dir.Remove()
}

func (s *start) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.Progress, "%6.1fs  %s\n", time.Since(s.begin).Seconds(), fmt.Sprintf(format, args...))
}

// write writes a file below the state directory.
func (s *start) write(name string, content []byte) error {
	path := s.dir.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
