package simulate

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

func twoNodes(t *testing.T) *inventory.Inventory {
	t.Helper()
	return testsupport.Inventory(t, nodesOfTwo)
}

func drawnBy(t *testing.T, load Load) ([]Event, string) {
	t.Helper()
	var text bytes.Buffer
	if err := load.Write(&text, twoNodes(t)); err != nil {
		t.Fatal(err)
	}
	stream, err := Read("drawn", bytes.NewReader(text.Bytes()), twoNodes(t))
	if err != nil {
		t.Fatal(err)
	}
	return stream, text.String()
}

// Two nodes of eight devices are sixteen pods of one.
func TestADrawnStreamIsAsItWasAskedFor(t *testing.T) {
	load := Load{
		Seconds: 10 * 86400, Share: 0.8, Duration: 600, Diurnal: 0.6, Seed: 3,
		Sizes: map[int32]float64{1: 3, 4: 1}, Requests: map[string]string{"example.com/gpu": "1"},
	}
	stream, text := drawnBy(t, load)
	asked, large, byDay := 0.0, 0.0, [2]float64{}
	for _, event := range stream {
		asked += float64(event.Job.shape.count) * event.Job.Duration
		if event.Job.shape.count == 4 {
			large++
		}
		byDay[int(event.At/43200)%2]++
	}
	within := func(what string, got, want, by float64) {
		t.Helper()
		if math.Abs(got-want) > by {
			t.Errorf("%s: %.3f, want %.3f ± %v", what, got, want, by)
		}
	}
	within("the load", asked/(16*load.Seconds), 0.8, 0.03)
	within("the share of large gangs", large/float64(len(stream)), 0.25, 0.02)
	// The mean of 1 + 0.6 sin over the first half of a day is 1 + 1.2/π.
	within("arrivals in the first half of the days", byDay[0]/float64(len(stream)), 0.5+0.6/math.Pi, 0.02)
	if _, again := drawnBy(t, load); again != text {
		t.Error("the same seed drew another stream")
	}
	load.Seed++
	if _, other := drawnBy(t, load); other == text {
		t.Error("another seed drew the same stream")
	}
}

func TestGenerate(t *testing.T) {
	good := []string{"generate", "--requests", "example.com/gpu=8", "--sizes", "1=1,2=1", "--seconds", "1e5", "--seed", "1"}
	stdout, _, err := simulateWith(t, "", good...)
	if err != nil || !strings.HasPrefix(stdout, `{"at":`) || !strings.Contains(stdout, `"name":"gang-2"`) {
		t.Errorf("%v: %.300s", err, stdout)
	}
	for _, test := range []struct{ flag, value, want string }{
		{"--sizes", "0=1", "--sizes: 0=1 is no number of pods"},
		{"--sizes", "3=none", "--sizes: 3=none is no number of pods"},
		{"--load", "0", "--load must be above 0"},
		{"--seconds", "-1", "--seconds must be above 0"},
		{"--seconds", "1e300", "--seconds must be above 0 and at most 1e+11, and is 1e+300"},
		{"--duration", "NaN", "--duration must be above 0"},
		{"--diurnal", "2", "--diurnal must be from 0 to 1"},
		{"--requests", "example.com/gpu=x", "example.com/gpu=x is no amount"},
		{"--required", "l/rack", "--topology is missing: a level needs the name of the Topology that it belongs to"},
		{"--topology", "nit", `--topology: there is no Topology "nit"`},
		{"--requests", "example.com/none=1", "no node has all of example.com/gpu, example.com/none"},
	} {
		stdout, _, err := simulateWith(t, "", append(good, test.flag, test.value)...)
		if err == nil || !strings.Contains(err.Error(), test.want) || stdout != "" {
			t.Errorf("%s %s: printed %.100q, error %v", test.flag, test.value, stdout, err)
		}
	}
}
