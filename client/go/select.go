package corank

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/corank/corank/client/go/corankpb"
)

// Comparison is how a selected element compares with the threshold. As in Sort, NaNs are greater than every number and
// equal to each other, and -0.0 equals +0.0.
type Comparison = corankpb.Comparison

// Comparisons of Where.
const (
	Less           = corankpb.Comparison_COMPARISON_LESS
	Equal          = corankpb.Comparison_COMPARISON_EQUAL
	LessOrEqual    = corankpb.Comparison_COMPARISON_LESS_OR_EQUAL
	Greater        = corankpb.Comparison_COMPARISON_GREATER
	NotEqual       = corankpb.Comparison_COMPARISON_NOT_EQUAL
	GreaterOrEqual = corankpb.Comparison_COMPARISON_GREATER_OR_EQUAL
)

// Selection says which elements Select and its siblings select. Set exactly one of Flags, Bitmap, Positions and
// Threshold; Flagged, Packed, At and Where do so for slices and numbers.
type Selection struct {
	// Flags holds one uint8 for each element, which is selected if it is not 0.
	Flags *Array
	// Bitmap holds uint8: bit i%8 of byte i/8, the least significant first, is 1 if element i is selected.
	Bitmap *Array
	// Positions holds int64 from 0, in any order. A position may repeat; its element is selected once.
	Positions *Array
	// Threshold holds one element, of the type of the elements, with which they compare.
	Threshold *Array
	// Comparison goes with Threshold.
	Comparison Comparison
}

// Flagged selects the elements whose flag is true, or not 0.
func Flagged[F ~bool | ~uint8](flags []F) Selection { return Selection{Flags: Of(flags)} }

// Packed selects the elements whose bit is 1: bit i%8 of byte i/8, the least significant first, for element i.
func Packed(bitmap []uint8) Selection { return Selection{Bitmap: Of(bitmap)} }

// At selects the elements at these positions, from 0, in any order. An element that is there twice is selected once.
func At(positions []int64) Selection { return Selection{Positions: Of(positions)} }

// Where selects the elements that compare with the threshold, which has the type of the elements.
func Where[K Key](comparison Comparison, threshold K) Selection {
	return Selection{Threshold: Of([]K{threshold}), Comparison: comparison}
}

// SelectResult holds the results of Select, Partition and Remove.
type SelectResult struct {
	Elements *Array
	Values   *Array // nil without values
	Count    *Array // of Partition: one int64, the number of selected elements
}

// Negate selects the other elements. Of Select, Argselect and Partition.
func Negate() Option { return argument("negate", func(c *call) { c.negate = true }) }

// Select copies the selected elements, of any type, and keeps their order. Until the server knows their number, it makes
// room for all elements. Options: Values, Negate.
func (c *Client) Select(ctx context.Context, elements *Array, by Selection, options ...Option) (*SelectResult, error) {
	return run(ctx, c, selecting(elements, by, false), options)
}

// Argselect finds the positions of the elements that Select would copy, in ascending order: uint32, or uint64 for more
// than 2^32 elements. Option: Negate.
func (c *Client) Argselect(ctx context.Context, elements *Array, by Selection, options ...Option) (*Array, error) {
	return run(ctx, c, argselecting(elements, by), options)
}

// Partition moves the elements that Select would copy to the front, and counts them. Both parts keep their order. For
// Into and Keep, the count is the last result. Options: Values, Negate.
func (c *Client) Partition(ctx context.Context, elements *Array, by Selection, options ...Option) (
	*SelectResult, error) {
	return run(ctx, c, selecting(elements, by, true), options)
}

// Remove copies the elements that are not at these positions. Positions are int64 from 0, in any order, and may repeat.
// Option: Values.
func (c *Client) Remove(ctx context.Context, elements, positions *Array, options ...Option) (*SelectResult, error) {
	return run(ctx, c, removing(elements, positions), options)
}

// Insert inserts elements before many positions at once: inserted[i] goes before elements[positions[i]], or behind the
// last element if positions[i] is their number. Positions are int64, in any order; elements for the same position keep
// their order. The call is a Gather of a copy of both arrays, which must be in this process.
func (c *Client) Insert(ctx context.Context, elements, positions, inserted *Array, options ...Option) (*Array, error) {
	return run(ctx, c, inserting(elements, positions, inserted), options)
}

func newSelection(c *call, elements *Array, by Selection) (*task, *corankpb.SelectRequest) {
	request := &corankpb.SelectRequest{Negate: c.negate, Comparison: by.Comparison}
	made := newTask("Select", "select", request, &corankpb.SelectResponse{})
	made.in("elements", elements)
	for _, each := range []struct {
		name  string
		array *Array
	}{{"flags", by.Flags}, {"bitmap", by.Bitmap}, {"positions", by.Positions}, {"threshold", by.Threshold}} {
		if each.array != nil {
			made.in(each.name, each.array)
		}
	}
	return made, request
}

func selecting(elements *Array, by Selection, partition bool) operator[SelectResult] {
	return operator[SelectResult]{[]string{"values", "negate"}, func(c *call) (*task, *SelectResult, error) {
		made, request := newSelection(c, elements, by)
		request.Partition = partition
		result := &SelectResult{}
		add := func(name string, like *Array) *Array {
			count := int64(-1)
			if partition {
				count = length(elements)
			}
			added := made.out(name, like, count, request, name+"_destination")
			made.outputs[len(made.outputs)-1].most = length(elements)
			return added
		}
		result.Elements = add("elements", elements)
		if c.values != nil {
			if len(c.values) != 1 {
				return nil, nil, invalid("values", "values: %d arrays; Select takes one", len(c.values))
			}
			made.in("values", c.values[0])
			result.Values = add("values", c.values[0])
		}
		if partition {
			request.Outputs = []corankpb.SelectOutput{corankpb.SelectOutput_SELECT_OUTPUT_ELEMENTS,
				corankpb.SelectOutput_SELECT_OUTPUT_COUNT}
			like := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT64, width: 8}
			result.Count = made.out("count", like, 1, request, "count_destination")
		}
		return made, result, nil
	}}
}

func argselecting(elements *Array, by Selection) operator[Array] {
	return operator[Array]{[]string{"negate"}, func(c *call) (*task, *Array, error) {
		made, request := newSelection(c, elements, by)
		request.Outputs = []corankpb.SelectOutput{corankpb.SelectOutput_SELECT_OUTPUT_INDICES}
		indices := made.positions("indices", -1, length(elements)-1, "indices_destination")
		made.outputs[0].most = length(elements)
		return made, indices, nil
	}}
}

func removing(elements, positions *Array) operator[SelectResult] {
	inner := selecting(elements, Selection{Positions: positions}, false)
	return operator[SelectResult]{[]string{"values"}, func(c *call) (*task, *SelectResult, error) {
		if positions == nil {
			return nil, nil, invalid("positions", "positions: is missing")
		}
		c.negate = true
		return inner.build(c)
	}}
}

func inserting(elements, positions, inserted *Array) operator[Array] {
	return operator[Array]{nil, func(c *call) (*task, *Array, error) {
		for _, each := range []struct {
			name  string
			array *Array
		}{{"elements", elements}, {"positions", positions}, {"inserted", inserted}} {
			if each.array == nil {
				return nil, nil, invalid(each.name, "%s: is missing", each.name)
			}
			if each.array.isRemote() || each.array.chain != nil {
				return nil, nil, invalid(each.name, "%s: must be in this process; elsewhere, use Move and Scatter in a chain",
					each.name)
			}
			if err := each.array.here(); err != nil {
				return nil, nil, blame(each.name, err)
			}
		}
		if inserted.kind != elements.kind || inserted.width != elements.width {
			return nil, nil, invalid("inserted", "inserted: is %v, elements is %v; both must be of one type", inserted,
				elements)
		}
		before, err := Slice[int64](positions)
		if err != nil {
			return nil, nil, blame("positions", err)
		}
		if positions.count != inserted.count {
			return nil, nil, invalid("positions", "positions: %d for %d inserted elements; each needs one", positions.count,
				inserted.count)
		}
		for i, position := range before {
			if position < 0 || position > elements.count {
				name := fmt.Sprintf("positions[%d]", i)
				return nil, nil, invalid(name, "%s: %d, must be 0 to %d", name, position, elements.count)
			}
		}
		both := &Array{kind: elements.kind, width: elements.width, count: elements.count + inserted.count,
			data: slices.Concat(elements.data, inserted.data)}
		offsets, counts := insertion(elements.count, before)
		return gathering(both, Of(offsets), Of(counts)).build(c)
	}}
}

// insertion finds the intervals of count elements, with the inserted ones behind them, that make up the result.
func insertion(count int64, positions []int64) (offsets, counts []int64) {
	order := make([]int, len(positions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(positions[a], positions[b]) })
	add := func(offset, length int64) {
		last := len(offsets) - 1
		switch {
		case length == 0:
		case last >= 0 && offsets[last]+counts[last] == offset:
			counts[last] += length
		default:
			offsets, counts = append(offsets, offset), append(counts, length)
		}
	}
	done := int64(0)
	for _, i := range order {
		add(done, positions[i]-done)
		add(count+int64(i), 1)
		done = positions[i]
	}
	add(done, count-done)
	return offsets, counts
}
