package occupancy

import (
	"cmp"
	"strings"
)

// naturally compares names as people number them: rack-2 comes before rack-10.
func naturally(a, b string) int {
	for x, y := a, b; x != "" && y != ""; {
		digitsX, digitsY := leadingDigits(x), leadingDigits(y)
		if digitsX == "" || digitsY == "" {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		numberX, numberY := strings.TrimLeft(digitsX, "0"), strings.TrimLeft(digitsY, "0")
		if order := cmp.Or(cmp.Compare(len(numberX), len(numberY)), strings.Compare(numberX, numberY)); order != 0 {
			return order
		}
		x, y = x[len(digitsX):], y[len(digitsY):]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func leadingDigits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
