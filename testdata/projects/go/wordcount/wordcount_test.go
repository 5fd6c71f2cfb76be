package wordcount

import (
	"slices"
	"testing"
)

const rhyme = "The cat saw the dog; the dog didn't see the cat."

func TestTopOrdersByFrequencyThenByName(t *testing.T) {
	got := Top(rhyme, 3)
	want := []Count{{"the", 4}, {"cat", 2}, {"dog", 2}}
	if !slices.Equal(got, want) {
		t.Errorf("Top(rhyme, 3) = %v, want %v", got, want)
	}
}

func TestTopKeepsApostrophes(t *testing.T) {
	if got := Top("didn't", 1); !slices.Equal(got, []Count{{"didn't", 1}}) {
		t.Errorf("Top(didn't) = %v", got)
	}
}

func TestTopOfLittle(t *testing.T) {
	for _, n := range []int{-1, 0, 5} {
		if got := Top("", n); len(got) != 0 {
			t.Errorf("Top of nothing, %d = %v, want none", n, got)
		}
	}
}
