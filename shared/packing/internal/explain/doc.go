// Package explain says what a search has found.
//
//	decision.go    what is answered: a verdict, assignments, domains, reasons
//	answer.go      assignments and domains
//	certify.go     the certificate, which package refute looks for
//	proved.go      a certificate in sentences; messages.go has their parts
//	explain.go     why further pods have no node; sentences.go says it
package explain
