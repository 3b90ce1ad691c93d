package inventory

import (
	"fmt"
	"slices"

	"packtree.dev/shared/manifests"
)

// named returns the documents with a name for each object that leaves its name to the API server. Answers go by names,
// so two pods without one would be taken for the same. A generated name has no zeros, so these names do not collide.
func named(documents []manifests.Document) []manifests.Document {
	documents = slices.Clone(documents)
	count := 0
	for i, document := range documents {
		if document.Object.GetName() != "" || document.Object.GetGenerateName() == "" {
			continue
		}
		count++
		documents[i].Object = document.Object.DeepCopy()
		documents[i].Object.SetName(fmt.Sprintf("%s%05d", document.Object.GetGenerateName(), count))
	}
	return documents
}
