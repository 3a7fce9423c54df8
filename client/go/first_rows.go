package corank

// LimitedSegments finds the segments of the result of a sort with Segments and Limit: the results of segment i are
// [result[i], result[i+1]).
func LimitedSegments(offsets []int64, limit int) []int64 {
	limited := make([]int64, max(1, len(offsets)))
	for i := 1; i < len(offsets); i++ {
		limited[i] = limited[i-1] + max(0, min(offsets[i]-offsets[i-1], int64(limit)))
	}
	return limited
}

// firstRows is how many of so many rows a sort returns, and the most that it may; -1 is not known before the answer.
func (c *call) firstRows(rows int64) (count, most int64) {
	if rows < 0 {
		return rows, rows
	}
	rows = max(0, rows-max(0, c.offset))
	if c.limit == nil {
		return rows, rows
	}
	limit := max(0, min(*c.limit, rows))
	if c.segments == nil || limit == rows {
		return limit, limit
	}
	if c.segments.data != nil {
		if offsets, err := Slice[int64](c.segments); err == nil {
			limited := LimitedSegments(offsets, int(limit))
			count = min(rows, limited[len(limited)-1])
			return count, count
		}
	}
	segments := max(0, c.segments.count-1)
	if c.segments.count < 0 || limit > 0 && segments > rows/limit {
		return -1, rows
	}
	return -1, limit * segments
}

// oneMore is the number of offsets of so many strings; that of an unknown number, -1, is unknown.
func oneMore(rows int64) int64 {
	if rows < 0 {
		return -1
	}
	return rows + 1
}

// atMost says that the last result has at most so many elements, if only the answer tells how many.
func (t *task) atMost(most int64) {
	if last := t.outputs[len(t.outputs)-1]; last.array.count < 0 {
		last.most = most
	}
}
