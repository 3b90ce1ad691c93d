// Command promql reads the dashboards and alerts of the charts with Prometheus's own parser. It is a module by itself
// because that parser needs versions of libraries that the other modules do not use.
//
//	go run . <folder of charts>
//
// It prints as JSON which metrics each chart's dashboard and alerts use, and with -queries the queries.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	whole := flag.Bool("queries", false, "print whole queries, not the metrics in them")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: promql [-queries] <folder of charts>")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *whole); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run(charts string, whole bool) error {
	queries, err := queriesOf(charts)
	if err != nil {
		return err
	}
	if whole {
		return json.NewEncoder(os.Stdout).Encode(queries)
	}
	var uses []use
	for _, query := range queries {
		found, err := usesOf(query)
		if err != nil {
			return err
		}
		uses = append(uses, found...)
	}
	return json.NewEncoder(os.Stdout).Encode(uses)
}
