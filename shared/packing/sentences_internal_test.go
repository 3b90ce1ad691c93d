package packing

import "testing"

func TestAmountsAreInTheUnitsOfPeople(t *testing.T) {
	for want, short := range map[string]Shortage{
		"3 example.com/gpu":                          {Resource: "example.com/gpu", Amount: 3},
		"27408 cpu (the rest needs 27840, 432 free)": {Resource: "cpu", Amount: 27_408_000, Needed: 27_840_000, Free: 432_000},
		"0.25 cpu":              {Resource: "cpu", Amount: 250},
		"1.5Gi memory":          {Resource: "memory", Amount: 3 << 29},
		"512 ephemeral-storage": {Resource: "ephemeral-storage", Amount: 512},
		"2Mi hugepages-2Mi":     {Resource: "hugepages-2Mi", Amount: 2 << 20},
		"2048Ti memory":         {Resource: "memory", Amount: 1 << 51},
		"1 pod slot":            {Resource: "pods", Amount: 1},
	} {
		if got := amountText(short); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
