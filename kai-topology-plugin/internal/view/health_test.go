package view

import (
	"context"
	"net"
	"net/http"
	"testing"
)

func TestKubeletsAreToldWhetherTheClusterIsSeen(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	feed, ended := NewFeed(), make(chan error, 1)
	go func() { ended <- ServeHealth(ctx, feed, listener) }()
	asked := func(want map[string]int) {
		t.Helper()
		for path, status := range want {
			response, err := http.Get("http://" + listener.Addr().String() + path)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != status {
				t.Errorf("%s: %d, want %d", path, response.StatusCode, status)
			}
		}
	}
	asked(map[string]int{"/healthz": 200, "/readyz": 503, "/": 404, "/overview": 404})
	feed.Publish([]byte("{}"))
	asked(map[string]int{"/healthz": 200, "/readyz": 200})
	feed.Trouble("you may not list nodes")
	asked(map[string]int{"/healthz": 200, "/readyz": 503})
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
