// Package nearest finds what somebody may have meant who mistyped a short name.
package nearest

// Distance is the number of single-character edits between two short names.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// Close says whether a name of this length is likely to be the other one mistyped:
// a third of it may be wrong, and one character always.
func Close(typed, name string) bool {
	return Distance(typed, name) <= max(1, (len(typed)+2)/3)
}
