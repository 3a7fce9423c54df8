// Package corank sorts, merges and moves slices on a corank server.
//
//	client, err := corank.Connect("gpu-host:50051")
//	sorted, err := corank.Sort(ctx, client, keys)
//
// The functions of this package take and return slices. The methods of Client do the same with Arrays, which may also
// hold records whose size is known at run time only, or be kept by the server. No call converts elements one by one.
//
// Arrays of a call travel in one message each way or, where they are large, in chunks and over several connections.
// This client does not register shared memory; clients in Python and C++ do.
package corank

import "context"

// Version is the version of this client.
const Version = "0.1.0"

// Sort sorts keys; see Client.Sort. It returns a new slice, unless Into names one.
func Sort[K Key](ctx context.Context, c *Client, keys []K, options ...Option) ([]K, error) {
	found, err := c.Sort(ctx, Of(keys), options...)
	if err != nil {
		return nil, err
	}
	return Slice[K](found.Keys)
}

// SortValues sorts keys, and moves a value with each key. V is a number or a type of 1 to 256 bytes without pointers.
func SortValues[K Key, V any](ctx context.Context, c *Client, keys []K, values []V,
	options ...Option) ([]K, []V, error) {
	found, err := c.Sort(ctx, Of(keys), append([]Option{Values(Of(values))}, options...)...)
	if err != nil {
		return nil, nil, err
	}
	return two[K, V](found.Keys, found.Values)
}

// Argsort finds the stable permutation that sorts keys. Client.Argsort also takes more than 2^32 keys.
func Argsort[K Key](ctx context.Context, c *Client, keys []K, options ...Option) ([]uint32, error) {
	return one[uint32](c.Argsort(ctx, Of(keys), options...))
}

// SortStrings sorts strings byte by byte.
func SortStrings[S ~string | ~[]byte](ctx context.Context, c *Client, rows []S, options ...Option) ([]string, error) {
	found, err := c.SortColumns(ctx, []Column{Text(rows)}, options...)
	if err != nil {
		return nil, err
	}
	return found.Columns[0].Strings()
}

// Merge merges sorted slices; see Client.Merge.
func Merge[K Key](ctx context.Context, c *Client, keys [][]K, options ...Option) ([]K, error) {
	found, err := c.Merge(ctx, arrays(keys), options...)
	if err != nil {
		return nil, err
	}
	return Slice[K](found.Keys)
}

// MergeValues merges sorted slices, and moves a value with each key; values[i] has as many elements as keys[i].
func MergeValues[K Key, V any](ctx context.Context, c *Client, keys [][]K, values [][]V, options ...Option) (
	[]K, []V, error) {
	found, err := c.Merge(ctx, arrays(keys), append([]Option{Values(arrays(values)...)}, options...)...)
	if err != nil {
		return nil, nil, err
	}
	return two[K, V](found.Keys, found.Values)
}

// Search finds the position of each needle in a sorted slice; see Client.Search, which also takes longer arrays.
func Search[K Key](ctx context.Context, c *Client, haystack, needles []K, options ...Option) ([]uint32, error) {
	return one[uint32](c.Search(ctx, Of(haystack), Of(needles), options...))
}

// Expand repeats values[i] counts[i] times.
func Expand[V any](ctx context.Context, c *Client, values []V, counts []int64, options ...Option) ([]V, error) {
	return one[V](c.Expand(ctx, Of(values), Of(counts), options...))
}

// Gather copies intervals source[offsets[i]:][:counts[i]], one after the other, into a dense slice.
func Gather[V any](ctx context.Context, c *Client, source []V, offsets, counts []int64,
	options ...Option) ([]V, error) {
	return one[V](c.Gather(ctx, Of(source), Of(offsets), Of(counts), options...))
}

// Move copies counts[i] elements from sourceOffsets[i] on to destinationOffsets[i] on, into a copy of destination.
func Move[V any](ctx context.Context, c *Client, source []V, sourceOffsets, destinationOffsets, counts []int64,
	destination []V, options ...Option) ([]V, error) {
	return one[V](c.Move(ctx, Of(source), Of(sourceOffsets), Of(destinationOffsets), Of(counts), Of(destination),
		options...))
}

// Scatter copies a dense source to intervals of counts[i] elements from offsets[i] on, into a copy of destination.
func Scatter[V any](ctx context.Context, c *Client, source []V, offsets, counts []int64, destination []V,
	options ...Option) ([]V, error) {
	return one[V](c.Scatter(ctx, Of(source), Of(offsets), Of(counts), Of(destination), options...))
}

// LoadBalance finds the object and the rank of each work item. Client.LoadBalance also takes more than 2^32 items.
func LoadBalance(ctx context.Context, c *Client, counts []int64,
	options ...Option) (objects, ranks []uint32, err error) {
	found, err := c.LoadBalance(ctx, Of(counts), options...)
	if err != nil {
		return nil, nil, err
	}
	return two[uint32, uint32](found.Objects, found.Ranks)
}

// Group finds the distinct keys and how many there are of each; see Client.Group, which also reduces values.
func Group[K Key](ctx context.Context, c *Client, keys []K, options ...Option) (distinct []K, counts []int64,
	err error) {
	found, err := c.Group(ctx, Of(keys), append([]Option{WithGroupOutputs(GroupKeys, GroupCounts)}, options...)...)
	if err != nil {
		return nil, nil, err
	}
	return two[K, int64](found.Keys, found.Counts)
}

// Unique finds the distinct keys, in order.
func Unique[K Key](ctx context.Context, c *Client, keys []K, options ...Option) ([]K, error) {
	found, err := c.Group(ctx, Of(keys), append([]Option{WithGroupOutputs(GroupKeys)}, options...)...)
	if err != nil {
		return nil, err
	}
	return Slice[K](found.Keys)
}

// RunLengthEncode finds the key and the length of each run of equal neighbours, in the order of the slice.
func RunLengthEncode[K Key](ctx context.Context, c *Client, keys []K, options ...Option) (runs []K, lengths []int64,
	err error) {
	return Group(ctx, c, keys, append([]Option{WithGroupInput(GroupRuns)}, options...)...)
}

// CombineSets combines two sorted slices as multisets into a sorted slice; see Client.CombineSets.
func CombineSets[K Key](ctx context.Context, c *Client, operation SetOperation, left, right []K, options ...Option) (
	[]K, error) {
	found, err := c.CombineSets(ctx, operation, Of(left), Of(right), options...)
	if err != nil {
		return nil, err
	}
	return Slice[K](found.Keys)
}

// CombineSetsValues is CombineSets with a value for each key, which travels with it. For SetIntersection and
// SetDifference, rightValues is nil.
func CombineSetsValues[K Key, V any](ctx context.Context, c *Client, operation SetOperation, left, right []K,
	leftValues, rightValues []V, options ...Option) ([]K, []V, error) {
	values := []*Array{Of(leftValues), Of(rightValues)}
	if rightValues == nil && (operation == SetIntersection || operation == SetDifference) {
		values = values[:1]
	}
	found, err := c.CombineSets(ctx, operation, Of(left), Of(right), append([]Option{Values(values...)}, options...)...)
	if err != nil {
		return nil, nil, err
	}
	return two[K, V](found.Keys, found.Values)
}

// CountSets counts the keys that CombineSets would return.
func CountSets[K Key](ctx context.Context, c *Client, operation SetOperation, left, right []K, options ...Option) (
	int64, error) {
	count, err := one[int64](c.CountSets(ctx, operation, Of(left), Of(right), options...))
	if err != nil {
		return 0, err
	}
	return count[0], nil
}

// Join finds the rows of two slices that have equal keys; -1 is no partner. rightRows is nil for JoinSemi and JoinAnti.
// See Client.Join, which also takes 2^31 keys and more.
func Join[K Key](ctx context.Context, c *Client, kind JoinKind, left, right []K, options ...Option) (
	leftRows, rightRows []int32, err error) {
	found, err := c.Join(ctx, kind, Of(left), Of(right), options...)
	if err != nil {
		return nil, nil, err
	}
	if found.RightRows == nil {
		leftRows, err = Slice[int32](found.LeftRows)
		return leftRows, nil, err
	}
	return two[int32, int32](found.LeftRows, found.RightRows)
}

// CountJoin counts the rows that Join would return.
func CountJoin[K Key](ctx context.Context, c *Client, kind JoinKind, left, right []K, options ...Option) (
	int64, error) {
	count, err := one[int64](c.CountJoin(ctx, kind, Of(left), Of(right), options...))
	if err != nil {
		return 0, err
	}
	return count[0], nil
}

// Select copies the elements that by selects, and keeps their order; see Client.Select.
func Select[V any](ctx context.Context, c *Client, elements []V, by Selection, options ...Option) ([]V, error) {
	found, err := c.Select(ctx, Of(elements), by, options...)
	if err != nil {
		return nil, err
	}
	return Slice[V](found.Elements)
}

// SelectValues is Select with a value for each element, which travels with it.
func SelectValues[V, W any](ctx context.Context, c *Client, elements []V, values []W, by Selection,
	options ...Option) ([]V, []W, error) {
	found, err := c.Select(ctx, Of(elements), by, append([]Option{Values(Of(values))}, options...)...)
	if err != nil {
		return nil, nil, err
	}
	return two[V, W](found.Elements, found.Values)
}

// Argselect finds the positions of the elements that Select would copy. Client.Argselect also takes more than 2^32
// elements.
func Argselect[V any](ctx context.Context, c *Client, elements []V, by Selection, options ...Option) ([]uint32, error) {
	return one[uint32](c.Argselect(ctx, Of(elements), by, options...))
}

// Partition moves the elements that Select would copy to the front, and counts them; see Client.Partition.
func Partition[V any](ctx context.Context, c *Client, elements []V, by Selection, options ...Option) (
	parted []V, selected int64, err error) {
	found, err := c.Partition(ctx, Of(elements), by, options...)
	if err != nil {
		return nil, 0, err
	}
	parted, count, err := two[V, int64](found.Elements, found.Count)
	if err != nil {
		return nil, 0, err
	}
	return parted, count[0], nil
}

// Remove copies the elements that are not at these positions, which may be in any order and repeat.
func Remove[V any](ctx context.Context, c *Client, elements []V, positions []int64, options ...Option) ([]V, error) {
	found, err := c.Remove(ctx, Of(elements), Of(positions), options...)
	if err != nil {
		return nil, err
	}
	return Slice[V](found.Elements)
}

// Insert inserts inserted[i] before elements[positions[i]], for all i at once; see Client.Insert.
func Insert[V any](ctx context.Context, c *Client, elements []V, positions []int64, inserted []V, options ...Option) (
	[]V, error) {
	return one[V](c.Insert(ctx, Of(elements), Of(positions), Of(inserted), options...))
}

// Rank ranks keys from 1; see Client.Rank, which also takes 2^32 keys and more. Mean ranks are no integers: call
// AverageRank for RankAverage.
func Rank[K Key](ctx context.Context, c *Client, keys []K, method RankMethod, options ...Option) ([]uint32, error) {
	if method == RankAverage {
		return nil, invalid("method", "method: mean ranks are no integers; call AverageRank")
	}
	return one[uint32](c.Rank(ctx, Of(keys), method, options...))
}

// AverageRank ranks keys from 1. Equal keys have the mean of the positions that a sort gives them.
func AverageRank[K Key](ctx context.Context, c *Client, keys []K, options ...Option) ([]float64, error) {
	return one[float64](c.Rank(ctx, Of(keys), RankAverage, options...))
}

// Fetch copies a kept array; see Client.Fetch.
func Fetch[V any](ctx context.Context, c *Client, name string, options ...Option) ([]V, error) {
	return one[V](c.Fetch(ctx, name, options...))
}

func one[V any](found *Array, err error) ([]V, error) {
	if err != nil {
		return nil, err
	}
	return Slice[V](found)
}

func two[A, B any](first, second *Array) ([]A, []B, error) {
	a, err := Slice[A](first)
	if err != nil {
		return nil, nil, err
	}
	b, err := Slice[B](second)
	return a, b, err
}

func arrays[V any](slices [][]V) []*Array {
	made := make([]*Array, len(slices))
	for i, slice := range slices {
		made[i] = Of(slice)
	}
	return made
}
