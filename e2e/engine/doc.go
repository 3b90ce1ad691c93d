// Package engine is an inference engine in miniature: no GPU, no model. It does those parts of an engine that involve
// Kubernetes and the operators: workers register themselves, the frontend finds them by EndpointSlices, all report
// their health, and a request goes from the frontend through a prefill worker to a decode worker. The answer names the
// hosts on its way, so that a test sees that a deployment serves.
package engine
