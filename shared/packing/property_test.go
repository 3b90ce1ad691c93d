package packing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/oracle"
)

// numbers draws an instance from rapid, which makes it smaller when it fails.
type numbers struct{ *rapid.T }

func (n numbers) Int(label string, low, high int) int {
	return rapid.IntRange(low, high).Draw(n.T, label)
}

func drawScene(t *rapid.T) *oracle.Scene { return oracle.Draw(numbers{t}, oracle.Small) }

func drawNode(t *rapid.T, i int) packing.Node { return oracle.DrawNode(numbers{t}, i) }

// checkAgainst wants a decision to be as good as any placement, and to say so.
func checkAgainst(t *rapid.T, s *oracle.Scene, d packing.Decision) {
	fault, err := oracle.Check(s, &d)
	require.Empty(t, fault, "%s", err)
}

func TestDecisionsAreAsGoodAsTheOracles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		checkAgainst(t, s, s.Build().Decide(&s.Gang, packing.Options{}))
	})
}

// Spreading chooses other domains, and decides no less.
func TestSpreadDecisionsAreAsGoodAsTheOracles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		checkAgainst(t, s, s.Build().Decide(&s.Gang, packing.Options{Placement: packing.Spread}))
	})
}

func score(t *rapid.T, s *oracle.Scene, d packing.Decision) oracle.Quality {
	quality, err := oracle.Score(s, &d)
	require.NoError(t, err)
	return quality
}
