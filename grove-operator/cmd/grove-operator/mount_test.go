package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mount does the kubelet's work: it keeps the files of the Secret where the programs expect them, until the test ends.
func (c *cluster) mount(ctx context.Context) {
	var mounted map[string][]byte
	for version := 0; ctx.Err() == nil; {
		secret := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: secretName}, secret)
		if err == nil && !maps.EqualFunc(secret.Data, mounted,
			func(a, b []byte) bool { return string(a) == string(b) }) {
			version++
			if project(c.certDir, fmt.Sprintf("..version-%d", version), secret.Data) == nil {
				mounted = secret.Data
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// project replaces all files of a mounted Secret at once, as the kubelet does: they are links into ..data, which is a
// link to the folder of the present version.
func project(dir, version string, files map[string][]byte) error {
	before, _ := os.Readlink(filepath.Join(dir, "..data"))
	if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
		return err
	}
	var errs []error
	for name, content := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, version, name), content, 0o600))
	}
	aside := filepath.Join(dir, "..data_tmp")
	errs = append(errs, os.Symlink(version, aside), os.Rename(aside, filepath.Join(dir, "..data")))
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
		}
	}
	if before != "" {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, before)))
	}
	return errors.Join(errs...)
}
