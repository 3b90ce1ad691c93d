// Package rights compares what programs are allowed to do with what they did: the rules of roles with the API server's
// audit log. A rule without which no request would have been refused is one too many.
package rights
