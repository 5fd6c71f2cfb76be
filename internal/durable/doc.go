// Package durable gives files names that last and that nobody had: a file has its name
// only when it is whole, replaces nothing, and keeps it when the machine stops.
package durable

import "os"

// byLink gives a file another name, which nothing may have, in two steps: there is no
// moment without a name.
func byLink(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	_ = os.Remove(from) // it has its name; the other one is the caller's to clear away
	return nil
}
