package host

// NewLocksWith calls made between the making of each file and its lock.
func NewLocksWith(dir string, made func()) *Locks { return &Locks{dir: dir, made: made} }
