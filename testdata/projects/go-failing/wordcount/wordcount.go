// Package wordcount counts the words of a text.
package wordcount

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// A Count is a word and how often it occurs.
type Count struct {
	Word  string
	Times int
}

// Top returns the n most frequent words of text in lower case, the most
// frequent first; words of equal frequency are in alphabetical order.
func Top(text string, n int) []Count {
	seen := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), notOfAWord) {
		seen[word]++
	}
	counts := make([]Count, 0, len(seen))
	for _, word := range slices.Sorted(maps.Keys(seen)) {
		counts = append(counts, Count{word, seen[word]})
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.Times, a.Times) })
	return counts[:min(max(n, 0), len(counts))]
}

func notOfAWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }
