// Command promql reads the dashboards and alerts of the charts with Prometheus's own parser. It is a module by itself because
// that parser brings versions of libraries along that the rest does not use.
//
//	go run . <folder of charts>
//
// prints as JSON which metrics each chart's dashboard and alerts ask for.
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
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run(charts string) error {
	queries, err := queriesOf(charts)
	if err != nil {
		return err
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
