package view

import (
	"context"
	"net"
	"net/http"
)

// ServeHealth answers kubelets until ctx is done: /healthz as long as the program runs, and /readyz once there is an
// overview and nothing is in the way of the next. Whoever asks learns no more than that.
func ServeHealth(ctx context.Context, feed *Feed, listener net.Listener) error {
	paths := http.NewServeMux()
	paths.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		send(w, "text/plain", []byte("ok"))
	})
	paths.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if latest := feed.latest(); latest.overview == nil || latest.trouble != "" {
			http.Error(w, "the log says why the cluster is not seen", http.StatusServiceUnavailable)
			return
		}
		send(w, "text/plain", []byte("ok"))
	})
	return answerAt(ctx, listener, paths)
}
