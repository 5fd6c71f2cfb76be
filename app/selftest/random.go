package selftest

// random is a small generator (splitmix64) that gives the same order, ways and
// delays for the same seed.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// below returns a number from 0 to n-1.
func (r *random) below(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return r.next() % n
}

// shuffle puts items in an order of the seed's.
func shuffle[T any](r *random, items []T) {
	for i := len(items) - 1; i > 0; i-- {
		j := int(r.below(uint64(i + 1)))
		items[i], items[j] = items[j], items[i]
	}
}
