package load

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Part is one of the measurements.
type Part string

const (
	// Throughput is pods bound a second.
	Throughput Part = "throughput"
	// Start is the time from the creation of a gang's last pod until all are bound.
	Start Part = "start"
	// Memory of the scheduler beside many running pods.
	Memory Part = "memory"
	// Refusal is the cost of a gang that cannot fit.
	Refusal Part = "refusal"
)

// Parts are all parts in their order.
var Parts = []Part{Throughput, Start, Memory, Refusal}

// Common are the options that every measurement has.
type Common struct {
	// Dir is the state directory of the dev cluster that is brought up, and taken down at the end.
	Dir string
	// Parts to measure.
	Parts []Part
	// Program is the binary of the component that is measured; the one in bin if empty.
	Program string
	// Profile, unless empty, is a directory for profiles of the component.
	Profile string
	// Patience bounds each wait.
	Patience time.Duration
	// Progress receives lines that say what happens.
	Progress io.Writer
}

// Options choose the measurements of the schedulers.
type Options struct {
	Common
	// Nodes is how many nodes there are, of 8 GPUs each, 16 to a rack.
	Nodes int
	// Pods is how many pods one run of the throughput part binds.
	Pods int
	// Gangs are the sizes of gangs of the throughput part.
	Gangs []int
	// Gang is the size of the gang of the part start.
	Gang int
	// Running is how many pods run while memory and refusals are measured.
	Running int
	// Repeats is how often each thing is measured; the report has medians.
	Repeats int
	// QPS and Burst are the clientConnection of both schedulers.
	QPS, Burst int
	// FlowControl reports whether our chart's FlowSchemas are installed.
	FlowControl bool
	// Kubelets reports whether KWOK's kubelets work while pods are bound: they set the status of each bound pod.
	Kubelets bool
}

// part is one of the measurements, with its function.
type part struct {
	name Part
	take func(context.Context) error
}

// takeParts runs the wanted parts, in their order.
func (c Common) takeParts(ctx context.Context, parts ...part) error {
	for _, part := range parts {
		if !slices.Contains(c.Parts, part.name) {
			continue
		}
		if err := part.take(ctx); err != nil {
			return fmt.Errorf("part %s: %w", part.name, err)
		}
	}
	return nil
}
