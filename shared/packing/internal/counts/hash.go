package counts

// Mix hashes a few words; equal words give equal hashes on every machine.
func Mix(words ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range words {
		h ^= w
		h *= 0xbf58476d1ce4e5b9
		h ^= h >> 29
	}
	return h
}

func hashOf(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = Mix(h, uint64(text[i]))
	}
	return h
}
