package corank

import "context"

// Sort sorts keys, alone or with values, whole or by segments. Stable in both directions. NaNs come last in ascending
// and first in descending order. Options: Descending, Limit, Segments, Values, WithIndices, Algorithm.
func (c *Client) Sort(ctx context.Context, keys *Array, options ...Option) (*SortResult, error) {
	return run(ctx, c, sorting(keys, nil, false, sortedKeys), options)
}

// Argsort finds the stable permutation that sorts keys. Options: Descending, Limit, Segments, Algorithm.
func (c *Client) Argsort(ctx context.Context, keys *Array, options ...Option) (*Array, error) {
	found, err := run(ctx, c, sorting(keys, nil, false, onlyIndices), options)
	if err != nil {
		return nil, err
	}
	return found.Indices, nil
}

// SortColumns sorts rows by 1 to 32 columns: by the first, equal rows by the second, and so on. Stable. Options: Limit,
// Segments, Values, WithIndices, Algorithm, Runs. For Into and Keep, a column of strings is two results.
func (c *Client) SortColumns(ctx context.Context, columns []Column, options ...Option) (*SortResult, error) {
	return run(ctx, c, sorting(nil, columns, true, sortedKeys), options)
}

// ArgsortColumns finds the stable permutation that sorts rows by columns. Options: Limit, Segments, Algorithm, Runs.
func (c *Client) ArgsortColumns(ctx context.Context, columns []Column, options ...Option) (*Array, error) {
	found, err := run(ctx, c, sorting(nil, columns, true, onlyIndices), options)
	if err != nil {
		return nil, err
	}
	return found.Indices, nil
}

// RankColumns finds the dense rank of each row, from 1, in the order of SortColumns. Equal rows have equal ranks, so
// ranks can be the keys of Join, Group, Merge and Search in place of several columns. Options: Algorithm, Runs.
func (c *Client) RankColumns(ctx context.Context, columns []Column, options ...Option) (*Array, error) {
	found, err := run(ctx, c, sorting(nil, columns, true, onlyRanks), options)
	if err != nil {
		return nil, err
	}
	return found.ranks, nil
}

// Merge merges 2 to 1024 sorted arrays of one type. Stable: equal keys of an earlier array come first. Options:
// Descending, Values, Algorithm, AssumeSorted.
func (c *Client) Merge(ctx context.Context, keys []*Array, options ...Option) (*MergeResult, error) {
	return run(ctx, c, merging(keys), options)
}

// Search finds the position of each needle in a sorted array. Options: Descending, UpperBound, AssumeSorted.
func (c *Client) Search(ctx context.Context, haystack, needles *Array, options ...Option) (*Array, error) {
	return run(ctx, c, searching(haystack, needles), options)
}

// SearchColumns finds where rows belong in a table that is sorted as by SortColumns. The needles are as many columns of
// the same types, with rows in any order; their Descending, NullsFirst and NaNs are those of the haystack. Options:
// UpperBound, AssumeSorted.
func (c *Client) SearchColumns(ctx context.Context, haystack, needles []Column, options ...Option) (*Array, error) {
	return run(ctx, c, searchingColumns(haystack, needles), options)
}

// Expand repeats values[i] counts[i] times. Counts are int64.
func (c *Client) Expand(ctx context.Context, values, counts *Array, options ...Option) (*Array, error) {
	return run(ctx, c, expanding(values, counts), options)
}

// Gather copies intervals of counts[i] elements from offsets[i] on, one after the other, into a dense result. Offsets
// and counts are int64.
func (c *Client) Gather(ctx context.Context, source, offsets, counts *Array, options ...Option) (*Array, error) {
	return run(ctx, c, gathering(source, offsets, counts), options)
}

// Move copies counts[i] elements from sourceOffsets[i] on to destinationOffsets[i] on, for each i. The destination is
// an array of the source's type, which does not change, or Zeros. The result is the destination after all copies.
// Offsets and counts are int64. Options: AllowOverlap.
func (c *Client) Move(ctx context.Context, source, sourceOffsets, destinationOffsets, counts, destination *Array,
	options ...Option) (*Array, error) {
	return run(ctx, c, moving(source, sourceOffsets, destinationOffsets, counts, destination), options)
}

// Scatter copies a dense source to intervals of counts[i] elements from offsets[i] on. The destination is as for Move.
// Offsets and counts are int64. Options: AllowOverlap.
func (c *Client) Scatter(ctx context.Context, source, offsets, counts, destination *Array, options ...Option) (
	*Array, error) {
	return run(ctx, c, scattering(source, offsets, counts, destination), options)
}

// LoadBalance finds, for each work item, the object that made it and the item's rank among that object's items. Object
// i makes counts[i] items; counts are int64.
func (c *Client) LoadBalance(ctx context.Context, counts *Array, options ...Option) (*LoadBalanceResult, error) {
	return run(ctx, c, balancing(counts), options)
}

// Group finds the groups of equal keys, and reduces the values of each. All NaNs are one key, and -0.0 equals +0.0.
// Groups come in the order of their keys, or of the array with GroupRuns. Sums of integers are exact; one that 64 bits
// cannot hold is an error. Options: Descending, Values, WithGroupInput, WithGroupOutputs.
func (c *Client) Group(ctx context.Context, keys *Array, options ...Option) (*GroupResult, error) {
	return run(ctx, c, grouping(keys), options)
}

// CombineSets combines two sorted arrays of one type as multisets into a sorted array. The server checks that they are
// sorted. All NaNs are one key, and -0.0 equals +0.0. Values takes one array for each side, whose values travel with its
// keys; for SetIntersection and SetDifference, it takes that of the left side alone. Options: Descending, Values.
func (c *Client) CombineSets(ctx context.Context, operation SetOperation, left, right *Array, options ...Option) (
	*SetResult, error) {
	return run(ctx, c, combining(operation, left, right), options)
}

// CountSets counts the keys that CombineSets would return: one int64. Option: Descending.
func (c *Client) CountSets(ctx context.Context, operation SetOperation, left, right *Array, options ...Option) (
	*Array, error) {
	return run(ctx, c, counting(operation, left, right), options)
}
