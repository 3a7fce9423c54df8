package corank

import "github.com/corank/corank/client/go/corankpb"

// SetOperation is what CombineSets makes of two sorted multisets. Where a key occurs m times on the left and n times on
// the right, the first min(m, n) occurrences on each side are partners.
type SetOperation = corankpb.SetOperation

// Operations of CombineSets and CountSets.
const (
	// SetUnion has all keys of the left, and the keys of the right without a partner, after equal keys of the left.
	SetUnion = corankpb.SetOperation_SET_OPERATION_UNION
	// SetIntersection has the keys of the left that have a partner.
	SetIntersection = corankpb.SetOperation_SET_OPERATION_INTERSECTION
	// SetDifference has the keys of the left without a partner.
	SetDifference = corankpb.SetOperation_SET_OPERATION_DIFFERENCE
	// SetSymmetricDifference has the keys of both sides without a partner.
	SetSymmetricDifference = corankpb.SetOperation_SET_OPERATION_SYMMETRIC_DIFFERENCE
)

// SetResult holds the results of CombineSets.
type SetResult struct {
	Keys   *Array // with the bits of the elements that they are
	Values *Array // nil without values
}

func combining(operation SetOperation, left, right *Array) operator[SetResult] {
	return operator[SetResult]{[]string{"order", "values"}, func(c *call) (*task, *SetResult, error) {
		request := &corankpb.CombineSetsRequest{Operation: operation}
		made, result := newSetTask(c, request, left, right), &SetResult{}
		add := func(name string, like *Array) *Array {
			added := made.out(name, like, -1, request, name+"_destination")
			made.outputs[len(made.outputs)-1].most = mostCombined(operation, length(left), length(right))
			return added
		}
		result.Keys = add("keys", left)
		if len(c.values) > 2 {
			return nil, nil, invalid("values", "values: %d arrays; CombineSets takes those of the left and of the right",
				len(c.values))
		}
		for i, values := range c.values {
			made.in([]string{"left_values", "right_values"}[i], values)
		}
		if len(c.values) > 0 {
			result.Values = add("values", c.values[0])
		}
		return made, result, nil
	}}
}

func counting(operation SetOperation, left, right *Array) operator[Array] {
	return operator[Array]{[]string{"order"}, func(c *call) (*task, *Array, error) {
		request := &corankpb.CombineSetsRequest{Operation: operation, CountOnly: true}
		made := newSetTask(c, request, left, right)
		like := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT64, width: 8}
		return made, made.out("count", like, 1, request, "count_destination"), nil
	}}
}

func newSetTask(c *call, request *corankpb.CombineSetsRequest, left, right *Array) *task {
	if c.descending {
		request.Order = order(true)
	}
	made := newTask("CombineSets", "combine_sets", request, &corankpb.CombineSetsResponse{})
	made.in("left", left)
	made.in("right", right)
	return made
}

// mostCombined is the length of the longest result; -1 is not known.
func mostCombined(operation SetOperation, left, right int64) int64 {
	switch {
	case operation == SetDifference:
		return left
	case operation == SetIntersection && min(left, right) < 0:
		return max(left, right)
	case operation == SetIntersection:
		return min(left, right)
	case min(left, right) < 0:
		return -1
	}
	return left + right
}
