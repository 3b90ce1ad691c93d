package apiservertest

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// stopOnInterrupt stops what a test has started when the test is interrupted, and then lets the signal end the test. An
// API server and its etcd are in process groups of their own, so that Ctrl-C does not reach them.
func stopOnInterrupt(stop func() error) (release func()) {
	signals, released := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-released:
		case interrupt := <-signals:
			if err := stop(); err != nil {
				fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			}
			signal.Reset(interrupt)
			if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(interrupt) != nil {
				os.Exit(1)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(released)
	}
}
