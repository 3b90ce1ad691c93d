package certificate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// maxSize bounds the bytes of a certificate that is read.
const maxSize = 1 << 22

// Decode reads a proof from JSON, and nothing else.
func Decode(written []byte) (*Proof, error) {
	if len(written) > maxSize {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(written), maxSize)
	}
	decoder := json.NewDecoder(bytes.NewReader(written))
	decoder.DisallowUnknownFields()
	proof := &Proof{}
	if err := decoder.Decode(proof); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("it cannot be read: something follows it")
	}
	return proof, nil
}
