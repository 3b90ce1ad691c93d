package certificate

import "encoding/binary"

// numbering gives equal texts equal numbers.
type numbering map[string]int

func (n numbering) of(text []byte) int {
	number, known := n[string(text)]
	if !known {
		number = len(n)
		n[string(text)] = number
	}
	return number
}

// rowOf numbers what is free on a node.
func (v *verifier) rowOf(node int) int32 {
	if v.rows == nil {
		v.rows = make([]int32, v.nodes.Len())
	}
	if v.rows[node] == 0 {
		var room [128]byte
		text := room[:0]
		for _, amount := range v.row(node) {
			text = binary.LittleEndian.AppendUint64(text, uint64(amount))
		}
		v.rows[node] = int32(v.rowNumbers.of(text)) + 1
	}
	return v.rows[node]
}
