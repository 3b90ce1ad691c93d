package devcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Store writes a value under a key into etcd, past the API server, as a restored backup would. Objects that a client
// creates would get other UIDs and generations.
func (c *Cluster) Store(ctx context.Context, key string, value []byte) error {
	// etcd trusts the same authority as the API server, and its JSON gateway takes bytes as Go's JSON writes them.
	trust, err := rest.TLSConfigFor(c.plane.config)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": value})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.plane.layout.Storage()+"/v3/kv/put",
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("storing %s: %w", key, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(response.Body)
		return fmt.Errorf("storing %s: etcd answers %s: %s", key, response.Status, answer)
	}
	return nil
}
