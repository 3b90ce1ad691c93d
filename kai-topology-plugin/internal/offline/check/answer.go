package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/shared/packing/certificate"
)

// answer is what place printed, with certificates as they are written.
type answer struct {
	PodGroups *[]podGroup `json:"podGroups"`
}

type podGroup struct {
	place.PodGroupResult
	Certificate json.RawMessage `json:"certificate"`
}

// certified reports whether there is a certificate.
func (p *podGroup) certified() bool { return len(p.Certificate) > 0 && string(p.Certificate) != "null" }

// proof reads the certificate: the room that it takes for reserved, and the rest.
func (p *podGroup) proof() (map[string]string, *certificate.Proof, error) {
	var written map[string]json.RawMessage
	if err := json.Unmarshal(p.Certificate, &written); err != nil {
		return nil, nil, fmt.Errorf("it cannot be read: %w", err)
	}
	var reserved map[string]string
	if room, has := written["reserved"]; has {
		if err := json.Unmarshal(room, &reserved); err != nil {
			return nil, nil, fmt.Errorf("its reserved cannot be read: %w", err)
		}
		delete(written, "reserved")
	}
	rest, err := json.Marshal(written)
	if err != nil {
		return nil, nil, err
	}
	proof, err := certificate.Decode(rest)
	return reserved, proof, err
}

func (p *podGroup) key() gang.Key { return gang.Key{Namespace: p.Namespace, Name: p.Name} }

// maxAnswer bounds the bytes that are read.
const maxAnswer = 1 << 28

// readAnswer reads what place -o json printed; - is stdin.
func readAnswer(file string, stdin io.Reader) ([]podGroup, error) {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		from = opened
	}
	written, err := io.ReadAll(io.LimitReader(from, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(written) > maxAnswer {
		return nil, fmt.Errorf("%s: it has more than %d bytes", file, maxAnswer)
	}
	var read answer
	decoder := json.NewDecoder(bytes.NewReader(written))
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("%s: it is not what place -o json prints: %w", file, err)
	}
	if read.PodGroups == nil {
		return nil, fmt.Errorf("%s: it is not what place -o json prints: there is no podGroups", file)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: it is not what place -o json prints: something follows the answer", file)
	}
	return *read.PodGroups, nil
}
