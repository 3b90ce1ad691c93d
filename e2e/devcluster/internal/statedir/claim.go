// Package statedir keeps all files of a dev cluster in one directory, which one process at a time fills or removes.
package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	lockFile  = "lock"
	stateFile = "state.json"
)

// ErrBusy is returned while another process brings a cluster up or down in the directory.
var ErrBusy = errors.New("busy")

// Dir is a directory that is locked by the calling process.
type Dir struct {
	path string
	lock *os.File
}

// Claim creates the directory, unless it exists, and takes its lock. It refuses a directory with other content: a
// claimed directory may be removed.
func Claim(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		if !ours(path) {
			return nil, fmt.Errorf("%s is not the directory of a dev cluster: it holds other things", path)
		}
		dir, err := take(path)
		// The directory was removed between those two steps.
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		return dir, err
	}
}

// Existing takes the lock of a directory that has a cluster, or the rest of one; os.ErrNotExist means that there is
// none.
func Existing(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, os.ErrNotExist
	}
	if !ours(path) {
		return nil, fmt.Errorf("%s is not the directory of a dev cluster: it holds other things", path)
	}
	return take(path)
}

// ours reports whether the directory has a lock or nothing at all: the lock is written first.
func ours(path string) bool {
	if _, err := os.Lstat(filepath.Join(path, lockFile)); err == nil {
		return true
	}
	entries, err := os.ReadDir(path)
	return errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0
}

// take opens and locks the lock file. The kernel releases the lock when the last process that inherited it ends.
func take(path string) (*Dir, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrBusy
	case err == nil:
		err = stillThere(lock)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Dir{path: path, lock: lock}, nil
}

// stillThere reports whether the locked file is still the one at that path.
func stillThere(lock *os.File) error {
	mine, err := lock.Stat()
	if err != nil {
		return err
	}
	theirs, err := os.Stat(lock.Name())
	if err != nil || !os.SameFile(mine, theirs) {
		return os.ErrNotExist
	}
	return nil
}

// Path joins the directory, which is absolute, and the names.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Lock is the open lock file, for processes to inherit.
func (d *Dir) Lock() *os.File {
	return d.lock
}

// Release releases the lock and leaves the directory.
func (d *Dir) Release() {
	d.lock.Close()
}

// Clear removes everything except the lock.
func (d *Dir) Clear() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if entry.Name() != lockFile {
			errs = append(errs, os.RemoveAll(d.Path(entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// Remove removes the directory and releases the lock. The lock is removed last: without it the rest could not be
// recognized.
func (d *Dir) Remove() error {
	defer d.lock.Close()
	if err := d.Clear(); err != nil {
		return err
	}
	return os.RemoveAll(d.path)
}
