// Package sbom lists the modules of Go programs, from their own build information, in the format of SPDX 2.3: no
// network, no database, no package manager. It does not say which of them are vulnerable.
package sbom

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Program is a Go program and its build information.
type Program struct {
	// Path in the image, with a slash in front.
	Path string
	Info *debug.BuildInfo
}

// Document is an SPDX 2.3 document; the fields are those of the format.
type Document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      Creation       `json:"creationInfo"`
	Packages      []Package      `json:"packages"`
	Relationships []Relationship `json:"relationships"`
}

// Creation has the time and the creator of a document.
type Creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// Package is a module, or Go's standard library.
type Package struct {
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo,omitempty"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	References       []Reference `json:"externalRefs"`
}

// Reference is a package URL.
type Reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// Relationship says that one package describes, or depends on, another.
type Relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const (
	document      = "SPDXRef-DOCUMENT"
	noAssertion   = "NOASSERTION"
	creator       = "Tool: packtree-sbom"
	namespaceRoot = "https://packtree.dev/spdx/"
)

// Describe makes the document of the programs of an image. The same programs at the same time give the same document.
func Describe(name string, programs []Program, now time.Time) Document {
	made := Document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: document, Name: name,
		Creation: Creation{Created: now.UTC().Format(time.RFC3339), Creators: []string{creator}},
		Packages: []Package{}, Relationships: []Relationship{},
	}
	digest := sha256.New()
	packages := map[string]Package{}
	relationships := map[Relationship]bool{}
	add := func(module, version string) string {
		found := packageOf(module, version)
		packages[found.ID] = found
		return found.ID
	}
	for _, program := range programs {
		fmt.Fprintf(digest, "%s\n%s\n", program.Path, program.Info)
		main := add(program.Info.Main.Path, program.Info.Main.Version)
		relationships[Relationship{document, "DESCRIBES", main}] = true
		relationships[Relationship{main, "DEPENDS_ON", add("stdlib", program.Info.GoVersion)}] = true
		for _, module := range program.Info.Deps {
			// A module that is replaced by a directory is from the same repository and keeps its name.
			if module.Replace != nil && module.Replace.Version != "" {
				module = module.Replace
			}
			relationships[Relationship{main, "DEPENDS_ON", add(module.Path, module.Version)}] = true
		}
	}
	made.Namespace = namespaceRoot + name + "-" + hex.EncodeToString(digest.Sum(nil)[:16])
	for _, one := range packages {
		made.Packages = append(made.Packages, one)
	}
	slices.SortFunc(made.Packages, func(a, b Package) int { return cmp.Compare(a.ID, b.ID) })
	for one := range relationships {
		made.Relationships = append(made.Relationships, one)
	}
	slices.SortFunc(made.Relationships, func(a, b Relationship) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Type, b.Type), cmp.Compare(a.To, b.To))
	})
	return made
}

// packageOf names a module. IDs may have only letters, digits, dots and dashes, so the digest of name and version makes
// them unique.
func packageOf(module, version string) Package {
	if version == "(devel)" {
		version = ""
	}
	digest := sha256.Sum256([]byte(module + "@" + version))
	locator := "pkg:golang/" + module
	if version != "" {
		locator += "@" + version
	}
	return Package{
		ID: "SPDXRef-" + hex.EncodeToString(digest[:8]), Name: module, Version: version, DownloadLocation: noAssertion,
		References: []Reference{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: locator}},
	}
}
