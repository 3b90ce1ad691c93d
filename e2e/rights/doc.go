// Package rights holds what programs are allowed to do against what they did: the rules of roles against the API server's audit log. A rule
// without which nothing that was done would have been refused is one too many.
package rights
