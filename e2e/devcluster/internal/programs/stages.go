package programs

import _ "embed"

// Stages configures what KWOK does with nodes and pods.
//
//go:embed stages.yaml
var Stages []byte
