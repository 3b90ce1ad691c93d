package manifests

import "go.yaml.in/yaml/v3"

// onlyMergedTwice reports whether a document has mappings merged into others (<<) and no key that is written twice. The
// strict reader reports a key that overrides a merged one as repeated; kubectl does not.
func onlyMergedTwice(chunk []byte) bool {
	var document yaml.Node
	if err := yaml.Unmarshal(chunk, &document); err != nil {
		return false
	}
	merges, unique := keysOf(&document)
	return merges && unique
}

// keysOf reports whether there is a merge below a node, and whether no mapping has a repeated key.
func keysOf(node *yaml.Node) (merges, unique bool) {
	unique = true
	seen := map[string]bool{}
	for i, inner := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			merges = merges || inner.Tag == "!!merge"
			unique = unique && !seen[inner.Value]
			seen[inner.Value] = true
		}
		innerMerges, innerUnique := keysOf(inner)
		merges, unique = merges || innerMerges, unique && innerUnique
	}
	return merges, unique
}
