package corank

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// SortResult holds the results of Sort and its siblings; what was not asked for is nil.
type SortResult struct {
	Keys    *Array   // of Sort
	Columns []Column // of SortColumns
	Values  *Array
	// Indices is the stable permutation: uint32, or uint64 for more than 2^32 keys. With segments, positions count from
	// the start of the whole array.
	Indices *Array
	ranks   *Array // of RankColumns
}

// MergeResult holds the results of Merge.
type MergeResult struct {
	Keys   *Array
	Values *Array // nil without values
}

// LoadBalanceResult holds, for each work item, the object that made it and the item's rank among that object's items.
type LoadBalanceResult struct {
	Objects, Ranks *Array // uint32, or uint64 for more than 2^32 objects or items
}

// operator makes the task of a call and its result, which is filled in when the call succeeded.
type operator[R any] struct {
	takes []string // the options of arguments
	build func(*call) (*task, *R, error)
}

// arguments are the options that it takes; the server divides the kept results of every operator.
func (o operator[R]) arguments() []string { return append(slices.Clone(o.takes), "sharded") }

func run[R any](ctx context.Context, c *Client, made operator[R], options []Option) (*R, error) {
	call, err := c.options(options, made.arguments()...)
	if err != nil {
		return nil, err
	}
	only, result, err := made.build(call)
	if err != nil {
		return nil, err
	}
	if err := c.perform(ctx, call, []*task{only}, nil); err != nil {
		return nil, err
	}
	return result, nil
}

func number(message proto.Message, name string) protowire.Number {
	return message.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name)).Number()
}

var operationFields = (&corankpb.Operation{}).ProtoReflect().Descriptor().Fields()

func newTask(method, operator string, request proto.Message, response operatorResponse) *task {
	return &task{method: method, operator: operationFields.ByName(protoreflect.Name(operator)).Number(),
		request: request, response: response}
}

// in adds an input.
func (t *task) in(name string, array *Array) {
	t.inputs = append(t.inputs, &leaf{name: name, field: number(t.request, base(name)), array: array})
}

// out adds a result, which the destination in a field of the holder sends elsewhere.
func (t *task) out(name string, like *Array, count int64, holder proto.Message, destination string) *Array {
	result := &Array{count: count}
	if like != nil {
		result.kind, result.width = like.kind, like.width
	}
	t.outputs = append(t.outputs, &output{name: name, array: result, most: count, send: func(to *corankpb.Destination) {
		message := holder.ProtoReflect()
		field := message.Descriptor().Fields().ByName(protoreflect.Name(destination))
		message.Set(field, protoreflect.ValueOfMessage(to.ProtoReflect()))
	}})
	return result
}

// positions adds a result of positions up to greatest; -1 is not known.
func (t *task) positions(name string, count, greatest int64, destination string) *Array {
	like := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_UINT32, width: 4}
	if greatest > math.MaxUint32 {
		like = &Array{kind: corankpb.ElementType_ELEMENT_TYPE_UINT64, width: 8}
	}
	result := t.out(name, like, count, t.request, destination)
	result.position = true
	return result
}

func order(descending bool) corankpb.SortOrder {
	if descending {
		return corankpb.SortOrder_SORT_ORDER_DESCENDING
	}
	return corankpb.SortOrder_SORT_ORDER_ASCENDING
}

func length(array *Array) int64 {
	if array == nil {
		return -1
	}
	return array.count
}

// The options of arguments of sorts; the first two are not for argsorts.
var (
	sortTakes    = []string{"values", "output", "limit", "offset", "algorithm", "order", "segment_offsets"}
	columnsTakes = []string{"values", "output", "limit", "offset", "segment_offsets", "algorithm", "run_offsets"}
	ranksTakes   = columnsTakes[5:]
)

// What a sort returns without the option WithIndices.
const (
	sortedKeys = iota
	onlyIndices
	onlyRanks // of columns
)

// sorting makes Sort tasks.
func sorting(keys *Array, columns []Column, byColumns bool, wanted int) operator[SortResult] {
	takes := sortTakes
	if byColumns {
		takes = columnsTakes
	}
	switch wanted {
	case onlyIndices:
		takes = takes[2:]
	case onlyRanks:
		takes = ranksTakes
	}
	return operator[SortResult]{takes, func(c *call) (*task, *SortResult, error) {
		chosen, err := algorithm(c.algorithm, "SORT_ALGORITHM_", corankpb.SortAlgorithm_value, "copy", "reverse",
			"merge_runs", "count")
		if err != nil {
			return nil, nil, err
		}
		request := &corankpb.SortRequest{Algorithm: corankpb.SortAlgorithm(chosen), Limit: c.limit}
		if c.offset != 0 {
			request.Offset = &c.offset
		}
		made, result := newTask("Sort", "sort", request, &corankpb.SortResponse{}), &SortResult{}
		rows := length(keys)
		if byColumns {
			if rows, err = columnRows("key_columns", columns); err != nil {
				return nil, nil, err
			}
		}
		count, most := c.firstRows(rows)
		if byColumns {
			made.addColumns(columns, count, most, rows, wanted == sortedKeys, result)
		} else {
			request.Order = order(c.descending)
			made.in("keys", keys)
			if wanted == sortedKeys {
				result.Keys = made.out("keys", keys, count, request, "keys_destination")
				made.atMost(most)
			}
		}
		if c.segments != nil {
			made.in("segment_offsets", c.segments)
		}
		if c.runs != nil {
			made.in("run_offsets", c.runs)
		}
		if c.values != nil {
			if len(c.values) != 1 {
				return nil, nil, invalid("values", "values: %d arrays; Sort takes one", len(c.values))
			}
			made.in("values", c.values[0])
			result.Values = made.out("values", c.values[0], count, request, "values_destination")
			made.atMost(most)
		}
		switch {
		case wanted == onlyRanks:
			request.Output = corankpb.SortOutput_SORT_OUTPUT_RANKS
			result.ranks = made.positions("ranks", rows, rows, "ranks_destination")
		case wanted == onlyIndices:
			request.Output = corankpb.SortOutput_SORT_OUTPUT_INDICES
		case c.indices:
			request.Output = corankpb.SortOutput_SORT_OUTPUT_KEYS_AND_INDICES
		default:
			request.Output = corankpb.SortOutput_SORT_OUTPUT_KEYS
		}
		if wanted == onlyIndices || c.indices {
			result.Indices = made.positions("indices", count, rows-1, "indices_destination")
			made.atMost(most)
		}
		return made, result, nil
	}}
}

// bitmapBytes is the length of a validity; that of an unknown number of rows, -1, is unknown.
func bitmapBytes(rows int64) int64 {
	if rows < 0 {
		return -1
	}
	return rows/8 + min(rows%8, 1)
}

// columnRows is the number of rows of a request's columns; the field names them.
func columnRows(field string, columns []Column) (int64, error) {
	if len(columns) == 0 {
		return 0, invalid(field, "%s: at least one is needed", field)
	}
	if columns[0].Offsets == nil {
		return length(columns[0].Data), nil
	}
	return max(length(columns[0].Offsets)-1, 0), nil
}

// addColumn adds the arrays of a column and its options, of which defaults stay unset: the server takes those of needles
// from the haystack. Returns the message that has the column's destinations.
func (t *task) addColumn(field protowire.Number, path string, column Column) *corankpb.KeyColumn {
	message := &corankpb.KeyColumn{}
	holder := &corankpb.KeyColumn{}
	if column.Descending {
		holder.Order = order(true)
	}
	if column.NullsFirst {
		holder.Nulls = corankpb.NullOrder_NULL_ORDER_FIRST
	}
	switch column.NaNs {
	case NaNBesideNulls:
		holder.Nans = corankpb.NanOrder_NAN_ORDER_BESIDE_NULLS
	case NaNAsNulls:
		holder.Nans = corankpb.NanOrder_NAN_ORDER_AS_NULLS
	}
	made := columnInput{field: field, message: holder, data: &leaf{name: path + ".data", field: number(message, "data"),
		array: column.Data}}
	if column.Offsets != nil {
		made.offsets = &leaf{name: path + ".offsets", field: number(message, "offsets"), array: column.Offsets}
	}
	if column.Validity != nil {
		made.validity = &leaf{name: path + ".validity", field: number(message, "validity"), array: column.Validity}
	}
	t.columns = append(t.columns, made)
	return holder
}

func (t *task) addColumns(columns []Column, count, most, rows int64, wanted bool, result *SortResult) {
	for i, column := range columns {
		path := fmt.Sprintf("key_columns[%d]", i)
		holder := t.addColumn(number(t.request, "key_columns"), path, column)
		if !wanted {
			continue
		}
		sorted, bytes := column, count
		sorted.Offsets, sorted.Validity = nil, nil
		if column.Offsets != nil {
			bytes = length(column.Data)
			if count != rows { // the answer decides which strings a limit leaves
				bytes = -1
			}
		}
		sorted.Data = t.out(path+".data", column.Data, bytes, holder, "data_destination")
		if column.Offsets == nil {
			t.atMost(most)
		} else {
			sorted.Offsets = t.out(path+".offsets", column.Offsets, oneMore(count), holder, "offsets_destination")
			t.atMost(oneMore(most))
		}
		if column.Validity != nil {
			sorted.Validity = t.out(path+".validity", column.Validity, bitmapBytes(count), holder, "validity_destination")
			t.atMost(bitmapBytes(most))
		}
		result.Columns = append(result.Columns, sorted)
	}
}

func merging(keys []*Array) operator[MergeResult] {
	return operator[MergeResult]{[]string{"order", "values", "algorithm", "assume_sorted"},
		func(c *call) (*task, *MergeResult, error) {
			chosen, err := algorithm(c.algorithm, "MERGE_ALGORITHM_", corankpb.MergeAlgorithm_value)
			if err != nil {
				return nil, nil, err
			}
			request := &corankpb.MergeRequest{Order: order(c.descending), AssumeSorted: c.assumeSorted,
				Algorithm: corankpb.MergeAlgorithm(chosen)}
			made, result := newTask("Merge", "merge", request, &corankpb.MergeResponse{}), &MergeResult{}
			if c.values != nil && len(c.values) != len(keys) {
				return nil, nil, invalid("values", "values: %d arrays for the %d of keys; each needs its own", len(c.values),
					len(keys))
			}
			count, err := made.inAll("keys", keys)
			if err != nil {
				return nil, nil, err
			}
			if len(keys) == 0 {
				return nil, nil, invalid("keys", "keys: needs 2 arrays or more to merge")
			}
			result.Keys = made.out("keys", keys[0], count, request, "keys_destination")
			if c.values != nil {
				if _, err := made.inAll("values", c.values); err != nil {
					return nil, nil, err
				}
				result.Values = made.out("values", c.values[0], count, request, "values_destination")
			}
			return made, result, nil
		}}
}

// inAll adds the arrays of a repeated field, which must be of one type, and returns the number of all elements.
func (t *task) inAll(field string, arrays []*Array) (int64, error) {
	count := int64(0)
	for i, array := range arrays {
		name := fmt.Sprintf("%s[%d]", field, i)
		t.in(name, array)
		if array == nil || arrays[0] == nil {
			continue
		}
		if array.kind != arrays[0].kind || array.width != arrays[0].width {
			return 0, invalid(name, "%s: is %v, %s[0] is %v; all must be of one type", name, array, field, arrays[0])
		}
		if array.count < 0 || count < 0 {
			count = -1
		} else {
			count += array.count
		}
	}
	return count, nil
}

func search(c *call) *task {
	request := &corankpb.SearchRequest{AssumeSorted: c.assumeSorted, Bound: corankpb.SearchBound_SEARCH_BOUND_LOWER}
	if c.upper {
		request.Bound = corankpb.SearchBound_SEARCH_BOUND_UPPER
	}
	return newTask("Search", "search", request, &corankpb.SearchResponse{})
}

func searching(haystack, needles *Array) operator[Array] {
	return operator[Array]{[]string{"order", "bound", "assume_sorted"}, func(c *call) (*task, *Array, error) {
		made := search(c)
		made.request.(*corankpb.SearchRequest).Order = order(c.descending)
		made.in("haystack", haystack)
		made.in("needles", needles)
		return made, made.positions("positions", length(needles), length(haystack), "destination"), nil
	}}
}

func searchingColumns(haystack, needles []Column) operator[Array] {
	return operator[Array]{[]string{"bound", "assume_sorted"}, func(c *call) (*task, *Array, error) {
		rows, err := columnRows("haystack_columns", haystack)
		if err != nil {
			return nil, nil, err
		}
		sought, err := columnRows("needle_columns", needles)
		if err != nil {
			return nil, nil, err
		}
		made := search(c)
		for i, column := range haystack {
			made.addColumn(number(made.request, "haystack_columns"), fmt.Sprintf("haystack_columns[%d]", i), column)
		}
		for i, column := range needles {
			made.addColumn(number(made.request, "needle_columns"), fmt.Sprintf("needle_columns[%d]", i), column)
		}
		return made, made.positions("positions", sought, rows, "destination"), nil
	}}
}

// total is the sum of counts; -1 if they are elsewhere, or one is negative, which the server refuses by its index.
func total(counts *Array) (sum, greatest int64, err error) {
	if counts == nil || counts.isRemote() || counts.kind != corankpb.ElementType_ELEMENT_TYPE_INT64 {
		return -1, -1, nil
	}
	all, err := Slice[int64](counts)
	if err != nil {
		return -1, -1, nil
	}
	for _, count := range all {
		if count < 0 {
			return -1, -1, nil
		}
		if count > math.MaxInt64-sum {
			return 0, 0, invalid("counts", "counts: they add up to more than 2^63 - 1")
		}
		sum, greatest = sum+count, max(greatest, count)
	}
	return sum, greatest, nil
}

func expanding(values, counts *Array) operator[Array] {
	return operator[Array]{nil, func(*call) (*task, *Array, error) {
		sum, _, err := total(counts)
		if err != nil {
			return nil, nil, err
		}
		request := &corankpb.ExpandIntervalsRequest{}
		made := newTask("ExpandIntervals", "expand_intervals", request, &corankpb.ExpandIntervalsResponse{})
		made.in("values", values)
		made.in("counts", counts)
		if length(values) >= 0 && length(counts) >= 0 && length(values) != length(counts) {
			return nil, nil, invalid("counts", "counts: %d for %d values; each value needs one", length(counts),
				length(values))
		}
		return made, made.out("values", values, sum, request, "destination"), nil
	}}
}

func gathering(source, offsets, counts *Array) operator[Array] {
	return operator[Array]{nil, func(*call) (*task, *Array, error) {
		sum, greatest, err := total(counts)
		if err != nil {
			return nil, nil, err
		}
		if length(source) >= 0 && greatest > length(source) {
			all, _ := Slice[int64](counts)
			for i, count := range all {
				if count > source.count {
					name := fmt.Sprintf("counts[%d]", i)
					return nil, nil, invalid(name, "%s: %d elements, more than the %d of the source", name, count, source.count)
				}
			}
		}
		request := &corankpb.GatherIntervalsRequest{}
		made := newTask("GatherIntervals", "gather_intervals", request, &corankpb.GatherIntervalsResponse{})
		made.in("source", source)
		made.in("source_offsets", offsets)
		made.in("counts", counts)
		return made, made.out("result", source, sum, request, "destination"), nil
	}}
}

func moving(source, sourceOffsets, destinationOffsets, counts, destination *Array) operator[Array] {
	return operator[Array]{[]string{"allow_overlap"}, func(c *call) (*task, *Array, error) {
		request := &corankpb.MoveIntervalsRequest{AllowOverlap: c.allowOverlap}
		made := newTask("MoveIntervals", "move_intervals", request, &corankpb.MoveIntervalsResponse{})
		made.in("source", source)
		made.in("source_offsets", sourceOffsets)
		made.in("destination_offsets", destinationOffsets)
		made.in("counts", counts)
		if destination != nil && destination.initial {
			request.Initial = &corankpb.MoveIntervalsRequest_DestinationCount{DestinationCount: destination.count}
		} else {
			made.in("destination", destination)
		}
		return made, made.out("result", source, length(destination), request, "result_destination"), nil
	}}
}

func scattering(source, offsets, counts, destination *Array) operator[Array] {
	return operator[Array]{[]string{"allow_overlap"}, func(c *call) (*task, *Array, error) {
		request := &corankpb.ScatterIntervalsRequest{AllowOverlap: c.allowOverlap}
		made := newTask("ScatterIntervals", "scatter_intervals", request, &corankpb.ScatterIntervalsResponse{})
		made.in("source", source)
		made.in("destination_offsets", offsets)
		made.in("counts", counts)
		if destination != nil && destination.initial {
			request.Initial = &corankpb.ScatterIntervalsRequest_DestinationCount{DestinationCount: destination.count}
		} else {
			made.in("destination", destination)
		}
		return made, made.out("result", source, length(destination), request, "result_destination"), nil
	}}
}

func balancing(counts *Array) operator[LoadBalanceResult] {
	return operator[LoadBalanceResult]{nil, func(*call) (*task, *LoadBalanceResult, error) {
		sum, _, err := total(counts)
		if err != nil {
			return nil, nil, err
		}
		made := newTask("LoadBalance", "load_balance", &corankpb.LoadBalanceRequest{}, &corankpb.LoadBalanceResponse{})
		made.in("counts", counts)
		greatest := max(sum, length(counts)) - 1
		return made, &LoadBalanceResult{
			Objects: made.positions("objects", sum, greatest, "objects_destination"),
			Ranks:   made.positions("ranks", sum, greatest, "ranks_destination"),
		}, nil
	}}
}

// name is the name of a value of an enum, in lower case and without its prefix.
func name(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}
