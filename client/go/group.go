package corank

import "github.com/corank/corank/client/go/corankpb"

// GroupInput is how equal keys lie in the array that Group reads.
type GroupInput = corankpb.GroupInput

// Inputs of WithGroupInput.
const (
	GroupUnsorted = corankpb.GroupInput_GROUP_INPUT_UNSORTED // in any order; the server sorts them first
	GroupSorted   = corankpb.GroupInput_GROUP_INPUT_SORTED   // sorted, which the server checks
	GroupRuns     = corankpb.GroupInput_GROUP_INPUT_RUNS     // each run of equal neighbours is a group
)

// GroupOutput is a result of Group.
type GroupOutput = corankpb.GroupOutput

// Outputs of WithGroupOutputs. Those from GroupSums on need Values.
const (
	GroupKeys        = corankpb.GroupOutput_GROUP_OUTPUT_KEYS
	GroupCounts      = corankpb.GroupOutput_GROUP_OUTPUT_COUNTS
	GroupFirsts      = corankpb.GroupOutput_GROUP_OUTPUT_FIRSTS
	GroupSums        = corankpb.GroupOutput_GROUP_OUTPUT_SUMS
	GroupMinima      = corankpb.GroupOutput_GROUP_OUTPUT_MINIMA
	GroupMaxima      = corankpb.GroupOutput_GROUP_OUTPUT_MAXIMA
	GroupValueCounts = corankpb.GroupOutput_GROUP_OUTPUT_VALUE_COUNTS
)

// GroupResult holds the results of Group, with an element for each group; what was not asked for is nil.
type GroupResult struct {
	Keys   *Array // the first key of each group, with its bits
	Counts *Array // int64
	// Firsts holds the position of each group's first key: uint32, or uint64 for more than 2^32 keys.
	Firsts *Array
	// Sums holds int64, uint64 or float64, as the values are signed, unsigned or floats.
	Sums           *Array
	Minima, Maxima *Array // of the type of the values; a NaN is greater than every number
	// ValueCounts holds how many values of each group are not null: int64. Where it is 0, the sum is 0 and the minimum
	// and maximum mean nothing.
	ValueCounts *Array
}

// WithGroupInput says how equal keys lie in the array. Default: GroupUnsorted. Of Group.
func WithGroupInput(input GroupInput) Option {
	return argument("input", func(c *call) { c.groupInput = input })
}

// WithGroupOutputs names the results; Keep and Into have one element for each, in this order. Default: GroupKeys and
// GroupCounts. Of Group.
func WithGroupOutputs(outputs ...GroupOutput) Option {
	return argument("outputs", func(c *call) { c.groupOutputs = outputs })
}

// WithValuesValidity says which values are null, by a bitmap as Column.Validity, which PackValidity makes. Null values
// take no part in sums, minima, maxima and value counts. Of Group.
func WithValuesValidity(validity *Array) Option {
	return argument("values_validity", func(c *call) { c.valuesValidity = validity })
}

func grouping(keys *Array) operator[GroupResult] {
	return operator[GroupResult]{[]string{"order", "values", "values_validity", "input", "outputs"},
		func(c *call) (*task, *GroupResult, error) {
			request := &corankpb.GroupRequest{Input: c.groupInput, Outputs: c.groupOutputs}
			if c.descending {
				request.Order = order(true)
			}
			made, result := newTask("Group", "group", request, &corankpb.GroupResponse{}), &GroupResult{}
			made.in("keys", keys)
			var values *Array
			if c.values != nil {
				if len(c.values) != 1 {
					return nil, nil, invalid("values", "values: %d arrays; Group takes one", len(c.values))
				}
				values = c.values[0]
				made.in("values", values)
			}
			if c.valuesValidity != nil {
				made.in("values_validity", c.valuesValidity)
			}
			outputs := c.groupOutputs
			if len(outputs) == 0 {
				outputs = []GroupOutput{GroupKeys, GroupCounts}
			}
			for _, output := range outputs {
				made.addGroups(output, keys, values, result)
			}
			return made, result, nil
		}}
}

// addGroups adds a result that has at most one element for each key.
func (t *task) addGroups(output GroupOutput, keys, values *Array, result *GroupResult) {
	add := func(like *Array) *Array {
		field := name(output, "GROUP_OUTPUT_")
		return t.out(field, like, -1, t.request, field+"_destination")
	}
	counted := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT64, width: 8}
	switch output {
	case GroupKeys:
		result.Keys = add(keys)
	case GroupCounts:
		result.Counts = add(counted)
	case GroupFirsts:
		result.Firsts = t.positions("firsts", -1, length(keys)-1, "firsts_destination")
	case GroupSums:
		result.Sums = add(sumOf(values))
	case GroupMinima:
		result.Minima = add(values)
	case GroupMaxima:
		result.Maxima = add(values)
	case GroupValueCounts:
		result.ValueCounts = add(counted)
	default:
		return // the server refuses it
	}
	t.outputs[len(t.outputs)-1].most = length(keys)
}

// sumOf is like the sums of values.
func sumOf(values *Array) *Array {
	if values == nil {
		return nil // the server refuses sums without values
	}
	switch values.kind {
	case corankpb.ElementType_ELEMENT_TYPE_FLOAT16, corankpb.ElementType_ELEMENT_TYPE_BFLOAT16,
		corankpb.ElementType_ELEMENT_TYPE_FLOAT32, corankpb.ElementType_ELEMENT_TYPE_FLOAT64:
		return &Array{kind: corankpb.ElementType_ELEMENT_TYPE_FLOAT64, width: 8}
	case corankpb.ElementType_ELEMENT_TYPE_UINT8, corankpb.ElementType_ELEMENT_TYPE_UINT16,
		corankpb.ElementType_ELEMENT_TYPE_UINT32, corankpb.ElementType_ELEMENT_TYPE_UINT64:
		return &Array{kind: corankpb.ElementType_ELEMENT_TYPE_UINT64, width: 8}
	}
	return &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT64, width: 8}
}
