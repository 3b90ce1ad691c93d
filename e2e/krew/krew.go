// Package krew makes the files from which Krew installs a kubectl plugin: an archive for each platform, and the
// manifest that names them with their checksums.
package krew

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	apiVersion = "krew.googlecontainertools.github.com/v1alpha2"
	kind       = "Plugin"
)

// Plugin is a manifest in Krew's format.
type Plugin struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata has the name by which kubectl calls the plugin.
type Metadata struct {
	Name string `json:"name"`
}

// Spec has the description, and the platforms.
type Spec struct {
	Version          string     `json:"version,omitempty"`
	Homepage         string     `json:"homepage,omitempty"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description,omitempty"`
	Caveats          string     `json:"caveats,omitempty"`
	Platforms        []Platform `json:"platforms,omitempty"`
}

// Platform is the archive for one system.
type Platform struct {
	Selector metav1.LabelSelector `json:"selector"`
	URI      string               `json:"uri"`
	Sha256   string               `json:"sha256"`
	// Bin is the program in the archive.
	Bin string `json:"bin"`
}

// Build is a program for one system.
type Build struct {
	// OS and Arch in the words of Go, and of Krew.
	OS, Arch string
	// File is the program on this machine.
	File string
}

// Release is a version of a plugin.
type Release struct {
	// About is the manifest without version and platforms.
	About Plugin
	// Version of the plugin, with a v in front.
	Version string
	// Downloads is the URL of the directory with the archives.
	Downloads string
	// License is a file that is put into each archive: Krew's index requires it.
	License string
	Builds  []Build
}

// Read reads a manifest without version and platforms, or a whole one.
func Read(file string) (Plugin, error) {
	var read Plugin
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(content, &read)
	}
	if err != nil {
		return read, fmt.Errorf("reading the manifest of a plugin: %w", err)
	}
	return read, nil
}

// Write makes the archives and the manifest, <name>.yaml, in a directory. The same programs give the same bytes.
func (r Release) Write(directory string) error {
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	manifest := r.About
	manifest.Spec.Version, manifest.Spec.Platforms = r.Version, nil
	program := "kubectl-" + strings.ReplaceAll(manifest.Metadata.Name, "-", "_")
	for _, build := range r.Builds {
		packed, err := pack([]entry{{program, build.File, 0o755}, {"LICENSE", r.License, 0o644}})
		if err != nil {
			return fmt.Errorf("packing the plugin for %s/%s: %w", build.OS, build.Arch, err)
		}
		name := fmt.Sprintf("%s-%s-%s.tar.gz", program, build.OS, build.Arch)
		if err := os.WriteFile(filepath.Join(directory, name), packed, 0o600); err != nil {
			return err
		}
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, Platform{
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"os": build.OS, "arch": build.Arch}},
			URI:      strings.TrimSuffix(r.Downloads, "/") + "/" + name,
			Sha256:   fmt.Sprintf("%x", sha256.Sum256(packed)),
			Bin:      program,
		})
	}
	if err := manifest.Check(); err != nil {
		return err
	}
	written, err := yaml.Marshal(manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, manifest.Metadata.Name+".yaml"), written, 0o600)
}

// entry is a file of an archive.
type entry struct {
	name, file string
	mode       int64
}

// pack makes an archive, without times and owners of this machine.
func pack(entries []entry) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, entry := range entries {
		if err := add(archive, entry); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return packed.Bytes(), err
}

func add(archive *tar.Writer, entry entry) error {
	file, err := os.Open(entry.file)
	if err != nil {
		return err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: entry.name, Mode: entry.mode, Size: about.Size(), Typeflag: tar.TypeReg}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

var (
	safeName = regexp.MustCompile(`^[a-z0-9-]+$`)
	checksum = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// longest is the maximum length of a short description in Krew's index, in bytes.
const longest = 50

// Check returns all errors for which Krew, or the maintainers of its index, would refuse a whole manifest.
func (p Plugin) Check() error {
	var wrong []error
	refuse := func(is bool, format string, values ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, values...))
		}
	}
	refuse(p.APIVersion != apiVersion, "apiVersion: is %q, and Krew reads %s", p.APIVersion, apiVersion)
	refuse(p.Kind != kind, "kind: is %q, and Krew reads %s", p.Kind, kind)
	name := p.Metadata.Name
	refuse(!safeName.MatchString(name), "metadata.name: %q has more than small letters, digits and dashes", name)
	short := p.Spec.ShortDescription
	refuse(short == "" || strings.ContainsAny(short, "\r\n") || len(short) > longest,
		"spec.shortDescription: needs one line of at most %d bytes, not %q", longest, short)
	refuse(!semver.IsValid(p.Spec.Version) || semver.Canonical(p.Spec.Version) != p.Spec.Version,
		"spec.version: %q is not vX.Y.Z", p.Spec.Version)
	refuse(len(p.Spec.Platforms) == 0, "spec.platforms: there is none")
	seen := map[string]bool{}
	for i, platform := range p.Spec.Platforms {
		at := fmt.Sprintf("spec.platforms[%d]", i)
		address, err := url.Parse(platform.URI)
		refuse(err != nil || address.Scheme != "https" || address.Host == "",
			"%s.uri: %q is no https address", at, platform.URI)
		refuse(!checksum.MatchString(platform.Sha256), "%s.sha256: %q is no checksum", at, platform.Sha256)
		refuse(platform.Bin == "", "%s.bin: is not set", at)
		system := platform.Selector.MatchLabels["os"] + "/" + platform.Selector.MatchLabels["arch"]
		refuse(len(platform.Selector.MatchLabels) != 2 || strings.HasPrefix(system, "/") ||
			strings.HasSuffix(system, "/"), "%s.selector: needs the labels os and arch, and no other", at)
		refuse(seen[system], "%s.selector: %s is there already", at, system)
		seen[system] = true
	}
	return errors.Join(wrong...)
}
