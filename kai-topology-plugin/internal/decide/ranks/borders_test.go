package ranks

// Borders returns how many borders of domains a ring of the pods, by their indices, crosses at each level, that of
// nodes at last. All paths have the same length.
func Borders(pods []Pod) []int {
	if len(pods) == 0 {
		return nil
	}
	ring := byIndex(pods)
	crossed := make([]int, len(ring[0].Path))
	for i, pod := range ring {
		next := ring[(i+1)%len(ring)].Path
		for level := common(pod.Path, next); level < len(crossed); level++ {
			crossed[level]++
		}
	}
	return crossed
}
