package cli

// nearest returns the candidate that a mistyped word most likely meant, "" when
// none is close. Candidates must be sorted: ties go to the first.
func nearest(word string, candidates []string) string {
	best, limit := "", 1+len(word)/4
	for _, c := range candidates {
		if d := editDistance(word, c, limit+1); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// editDistance counts the insertions, deletions and substitutions between two
// words, and gives up (returning the bound) once there are at least bound.
func editDistance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], bound)
}
