package view

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Watches of several kinds may fail at the same moment, and each says so.
func TestAFeedIsChangedByManyAtOnce(t *testing.T) {
	const many, changes = 8, 1000
	feed := NewFeed()
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			for range changes {
				feed.Trouble("nobody may watch")
				feed.Publish(nil)
			}
		})
	}
	all.Wait()
	got := feed.latest().revision
	assert.Equal(t, many*changes, got, "%d overviews are counted, and %d were published", got, many*changes)
}
