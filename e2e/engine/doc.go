// Package engine is an inference engine in miniature: no GPU, no model. What it does of an engine is what Kubernetes and the operators have a
// part in: workers register themselves, the frontend finds them by EndpointSlices, all say how they are, and a request goes from the frontend
// over a prefill worker to a decode worker. The answer names the hosts that it passed, so that a test sees that a deployment serves.
package engine
