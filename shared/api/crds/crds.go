// Package crds holds the CustomResourceDefinitions of every kind, as generated from the API types. Charts, tests and
// the offline commands read these bytes.
package crds

import "embed"

// Files has one file a kind, named <group>_<plural>.yaml.
//
//go:embed *.yaml
var Files embed.FS
