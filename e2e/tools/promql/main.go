// Command promql reads the dashboards and alerts of the charts with Prometheus's own parser. It is a module by itself
// because that parser needs versions of libraries that the other modules do not use.
//
//	go run . <folder of charts>
//
// It prints as JSON the queries of each chart, and which metrics they use.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: promql <folder of charts>")
		os.Exit(2)
	}
	queries, err := queriesOf(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(queries)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}
