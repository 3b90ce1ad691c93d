//go:build unix

// Command hostilesearch looks for the gang that takes longest to decide, or most
// memory, by changing one here and there for a stated time. It prints the worst
// and writes them to a file.
//
//	go run ./shared/packing/internal/hostilesearch --for 1h --out worst.json
//
// On a machine that has other work to do, blocks that are executed say more than the time. They are counted by the
// coverage of Go, and the lines that were executed most often are named:
//
//	go run -cover -covermode=atomic -coverpkg=./shared/packing/... ./shared/packing/internal/hostilesearch --by blocks
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"syscall"
	"time"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/hostile"
)

func main() {
	duration := flag.Duration("for", time.Minute, "how long to search")
	seed := flag.Uint64("seed", 1, "where to begin")
	by := flag.String("by", "time", "what to make large: time, in ms of computing, memory, in MB allocated, or blocks, "+
		"in millions executed")
	from := flag.String("from", "", "a file of cases that are to be judged, instead of a search")
	out := flag.String("out", "", "a file for the worst cases")
	keep := flag.Int("keep", 10, "how many to print and write")
	flag.Parse()
	judge, describe := milliseconds, describe
	switch *by {
	case "time":
	case "memory":
		judge = megabytes
	case "blocks":
		counter, err := newCounter()
		must(err)
		defer func() { must(counter.close()) }()
		judge, describe = counter.millions, counter.describe
	default:
		must(fmt.Errorf("--by is time, memory or blocks, not %q", *by))
	}
	if *from != "" {
		cases, err := read(*from)
		must(err)
		for _, c := range cases {
			fmt.Fprintln(os.Stdout, describe(c))
		}
		return
	}
	finds := search(*seed, time.Now().Add(*duration), judge)
	finds = finds[:min(*keep, len(finds))]
	for _, find := range finds {
		fmt.Fprintln(os.Stdout, describe(find.Case))
	}
	if *out != "" {
		must(write(*out, finds))
	}
}

// search climbs again and again until some time.
func search(seed uint64, end time.Time, judge func(hostile.Case) float64) []hostile.Find {
	judged, worst := 0, 0.0
	s := &hostile.Search{Random: rand.New(rand.NewPCG(seed, 1)), Judge: func(c hostile.Case) float64 {
		judged++
		score := judge(c)
		if score > worst {
			worst = score
			fmt.Fprintf(os.Stderr, "%.1f: %s\n", score, text(c))
		}
		return score
	}}
	for time.Now().Before(end) {
		s.Climb(func() bool { return time.Now().Before(end) })
	}
	fmt.Fprintf(os.Stdout, "%d cases judged in %d climbs\n", judged, len(s.Finds))
	return s.Finds
}

// read reads what write has written.
func read(path string) ([]hostile.Case, error) {
	written, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var finds []hostile.Find
	if err := json.Unmarshal(written, &finds); err != nil {
		return nil, fmt.Errorf("reading the cases of %s: %w", path, err)
	}
	cases := make([]hostile.Case, len(finds))
	for i, find := range finds {
		cases[i] = find.Case
	}
	return cases, nil
}

func write(path string, finds []hostile.Find) error {
	written, err := json.MarshalIndent(finds, "", "\t")
	if err != nil {
		return fmt.Errorf("writing the worst cases: %w", err)
	}
	return os.WriteFile(path, append(written, '\n'), 0o600)
}

// ground is the cluster that was made last.
var ground struct {
	of      hostile.Case
	cluster *packing.Cluster
}

// question makes a cluster that knows no shape, and the gang.
func question(c hostile.Case) (*packing.Cluster, *packing.Gang) {
	if ground.cluster == nil || ground.of != c.Ground() {
		ground.of, ground.cluster = c.Ground(), c.Cluster()
	}
	for _, key := range ground.cluster.Shapes() {
		ground.cluster.Forget(key)
	}
	return ground.cluster, c.Gang()
}

// milliseconds is what the decision computes, the less of two times.
func milliseconds(c hostile.Case) float64 {
	took := []time.Duration{0, 0}
	for i := range took {
		cluster, gang := question(c)
		runtime.GC()
		began := computed()
		cluster.Decide(gang, packing.Options{})
		took[i] = computed() - began
	}
	return float64(min(took[0], took[1]).Microseconds()) / 1000
}

func megabytes(c hostile.Case) float64 {
	cluster, gang := question(c)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cluster.Decide(gang, packing.Options{})
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / 1e6
}

// computed is the time that this process has computed.
func computed() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// describe decides a case once more and says what came out.
func describe(c hostile.Case) string {
	cluster, gang := question(c)
	d := cluster.Decide(gang, packing.Options{})
	return fmt.Sprintf("%.1f ms, %.1f MB, %s after %d steps, %d placed: %s",
		milliseconds(c), megabytes(c), d.Verdict, d.Steps, d.Groups[0].Placed, text(c))
}

func text(c hostile.Case) string {
	written, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(written)
}
