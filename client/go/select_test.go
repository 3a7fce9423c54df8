package corank

import (
	"errors"
	"math/rand"
	"slices"
	"testing"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// selected answers with two elements and what else a request asks for, and shows the test the request.
func selected(seen *[]*corankpb.SelectRequest) *fake {
	return &fake{selects: func(_ int, request *corankpb.SelectRequest) (*corankpb.SelectResponse, error) {
		*seen = append(*seen, request)
		response := &corankpb.SelectResponse{}
		if slices.Contains(request.Outputs, corankpb.SelectOutput_SELECT_OUTPUT_INDICES) {
			response.Indices = inline[uint32](0, 2)
			return response, nil
		}
		response.Elements = inline[uint16](7, 9)
		if request.Values != nil {
			response.Values = inline[int8](1, 3)
		}
		if request.Partition {
			response.Elements, response.Count = inline[uint16](7, 9, 8), inline[int64](2)
		}
		return response, nil
	}}
}

var (
	someElements = []uint16{7, 8, 9}
	someFlags    = []bool{true, false, true}
)

func TestSelectSendsWhatSelects(t *testing.T) {
	var seen []*corankpb.SelectRequest
	client := connected(t, selected(&seen).start(t))
	bySelection := []struct {
		by   Selection
		want *corankpb.SelectRequest
	}{
		{Flagged(someFlags), &corankpb.SelectRequest{Flags: inline[uint8](1, 0, 1)}},
		{Flagged([]uint8{2, 0, 255}), &corankpb.SelectRequest{Flags: inline[uint8](2, 0, 255)}},
		{Packed([]uint8{5}), &corankpb.SelectRequest{Bitmap: inline[uint8](5)}},
		{At([]int64{2, 0, 2}), &corankpb.SelectRequest{Positions: inline[int64](2, 0, 2)}},
		{Where(NotEqual, uint16(8)), &corankpb.SelectRequest{Threshold: inline[uint16](8), Comparison: NotEqual}},
	}
	for _, each := range bySelection {
		got, err := Select(background, client, someElements, each.by)
		if err != nil || !slices.Equal(got, []uint16{7, 9}) {
			t.Errorf("%v, %v", got, err)
		}
		got, values, err := SelectValues(background, client, someElements, []int8{1, 2, 3}, each.by, Negate())
		if err != nil || !slices.Equal(got, []uint16{7, 9}) || !slices.Equal(values, []int8{1, 3}) {
			t.Errorf("%v, %v, %v", got, values, err)
		}
		positions, err := Argselect(background, client, someElements, each.by)
		if err != nil || !slices.Equal(positions, []uint32{0, 2}) {
			t.Errorf("%v, %v", positions, err)
		}
		parted, count, err := Partition(background, client, someElements, each.by, Negate())
		if err != nil || !slices.Equal(parted, []uint16{7, 9, 8}) || count != 2 {
			t.Errorf("%v, %d, %v", parted, count, err)
		}
	}
	for i, each := range bySelection {
		for k, more := range []*corankpb.SelectRequest{
			{},
			{Values: inline[int8](1, 2, 3), Negate: true},
			{Outputs: []corankpb.SelectOutput{corankpb.SelectOutput_SELECT_OUTPUT_INDICES}},
			{Outputs: []corankpb.SelectOutput{corankpb.SelectOutput_SELECT_OUTPUT_ELEMENTS,
				corankpb.SelectOutput_SELECT_OUTPUT_COUNT}, Partition: true, Negate: true},
		} {
			want := proto.Clone(each.want).(*corankpb.SelectRequest)
			proto.Merge(want, more)
			want.Elements = inline(someElements...)
			if got := seen[4*i+k]; !proto.Equal(got, want) {
				t.Errorf("request %d is %v, not %v", k, got, want)
			}
		}
	}
}

func TestRemoveSelectsTheOthers(t *testing.T) {
	var seen []*corankpb.SelectRequest
	client := connected(t, selected(&seen).start(t))
	got, err := Remove(background, client, someElements, []int64{1})
	if err != nil || !slices.Equal(got, []uint16{7, 9}) {
		t.Errorf("%v, %v", got, err)
	}
	found, err := client.Remove(background, Of(someElements), Of([]int64{1}), Values(Of([]int8{1, 2, 3})))
	if err != nil || found.Values.Len() != 2 {
		t.Errorf("%v, %v", found, err)
	}
	want := &corankpb.SelectRequest{Elements: inline(someElements...), Positions: inline[int64](1), Negate: true}
	if !proto.Equal(seen[0], want) {
		t.Errorf("the request is %v", seen[0])
	}
	_, err = Remove(background, client, someElements, []int64{1}, Negate())
	failedAs(t, err, codes.InvalidArgument, "negate", "not for this operator")
	_, err = client.Remove(background, Of(someElements), nil)
	failedAs(t, err, codes.InvalidArgument, "positions", "missing")
}

func TestSelectionsThatCannotBeAreErrors(t *testing.T) {
	var seen []*corankpb.SelectRequest
	client := connected(t, selected(&seen).start(t))
	_, err := Select(background, client, []uint16{7}, Flagged([]bool{true}))
	failedAs(t, err, codes.Internal, "", "2 elements of elements")
	_, _, err = Partition(background, client, []uint16{7, 8}, Flagged([]bool{true, false}))
	failedAs(t, err, codes.Internal, "", "3 elements of elements")
	_, err = Select(background, client, someElements, Flagged(someFlags), Descending())
	failedAs(t, err, codes.InvalidArgument, "order", "not for this operator")
	_, err = Argselect(background, client, someElements, Flagged(someFlags), Values(Of(someElements)))
	failedAs(t, err, codes.InvalidArgument, "values", "not for this operator")
	some := Of(someElements)
	_, err = client.Select(background, some, Flagged(someFlags), Values(some, some))
	failedAs(t, err, codes.InvalidArgument, "values", "2 arrays")
	_, err = client.Select(background, nil, Flagged(someFlags))
	failedAs(t, err, codes.InvalidArgument, "elements", "missing")
	if len(seen) != 2 {
		t.Errorf("%d requests", len(seen))
	}
	_, err = Select(background, connected(t, (&fake{
		selects: func(int, *corankpb.SelectRequest) (*corankpb.SelectResponse, error) {
			return &corankpb.SelectResponse{Elements: inline[int16](7)}, nil
		}}).start(t)), someElements, Flagged(someFlags))
	failedAs(t, err, codes.Internal, "", "elements of type")
}

func TestKeptSelectionsAreNotMadeTwice(t *testing.T) {
	noWait(t)
	server := &fake{selects: func(call int, request *corankpb.SelectRequest) (*corankpb.SelectResponse, error) {
		if call == 1 || request.ElementsDestination != nil {
			return nil, busy(codes.Unavailable)
		}
		return &corankpb.SelectResponse{Elements: inline[uint16](7)}, nil
	}}
	client := connected(t, server.start(t))
	_, err := Select(background, client, someElements, Flagged(someFlags))
	if err != nil || server.calls.Load() != 2 {
		t.Errorf("%v after %d calls", err, server.calls.Load())
	}
	_, err = client.Partition(background, Of(someElements), Flagged(someFlags), Keep("a", "b"))
	failedAs(t, err, codes.Unavailable, "", "doing it twice may do harm")
	_, err = client.Partition(background, Of(someElements), Flagged(someFlags), Keep("a"))
	failedAs(t, err, codes.InvalidArgument, "keep", "1 names for the 2 results")
	if server.calls.Load() != 3 {
		t.Errorf("%d calls", server.calls.Load())
	}
}

// A chain goes on with elements whose number only the answer tells: the plan names no count.
func TestChainGoesOnWithSelectedElements(t *testing.T) {
	kept := Of(someElements).header()
	results := func(each *corankpb.SelectResponse) *corankpb.OperationResult {
		return &corankpb.OperationResult{Result: &corankpb.OperationResult_Select{Select: each}}
	}
	var plan *corankpb.Plan
	client := connected(t, chained(&plan,
		results(&corankpb.SelectResponse{Elements: kept}),
		&corankpb.OperationResult{Result: &corankpb.OperationResult_Rank{Rank: &corankpb.RankResponse{
			Ranks: inline[float64](1, 2.5, 2.5)}}},
		results(&corankpb.SelectResponse{Elements: inline[uint16](9, 7, 8), Count: inline[int64](1)}),
		results(&corankpb.SelectResponse{Indices: inline[uint32](1)}),
		results(&corankpb.SelectResponse{Elements: inline[uint16](9)}),
		&corankpb.OperationResult{Result: &corankpb.OperationResult_GatherIntervals{
			GatherIntervals: &corankpb.GatherIntervalsResponse{Result: inline[uint16](1, 5)}}}).start(t))
	chain := client.Chain(Via(Inline))
	high := chain.Select(Of([]uint16{1, 7, 8, 9}), Where(Greater, uint16(5)))
	ranks := chain.Rank(high.Elements, RankAverage, KeysSorted())
	parted := chain.Partition(high.Elements, At([]int64{2}))
	positions := chain.Argselect(high.Elements, Flagged([]bool{false, true, false}))
	rest := chain.Remove(high.Elements, Of([]int64{0, 1}))
	longer := chain.Insert(Of([]uint16{5}), Of([]int64{0}), Of([]uint16{1}))
	if err := chain.Run(background); err != nil {
		t.Fatal(err)
	}
	if found, err := Slice[float64](ranks); err != nil || !slices.Equal(found, []float64{1, 2.5, 2.5}) {
		t.Errorf("%v, %v", found, err)
	}
	if parted.Elements.Len() != 3 || parted.Count.Len() != 1 || positions.Len() != 1 || rest.Elements.Len() != 1 {
		t.Errorf("%v, %v, %v", parted, positions, rest)
	}
	if found, err := Slice[uint16](longer); err != nil || !slices.Equal(found, []uint16{1, 5}) {
		t.Errorf("%v, %v", found, err)
	}
	keys := plan.Operations[1].GetRank().Keys
	if keys.Count != nil || !keys.GetStored().GetTemporary() || !plan.Operations[4].GetSelect().Negate {
		t.Errorf("the plan is %v", plan)
	}
}

// copied gathers the intervals of a source.
func copied(source []uint16, offsets, counts []int64) []uint16 {
	var made []uint16
	for i, begin := range offsets {
		made = append(made, source[begin:begin+counts[i]]...)
	}
	return made
}

func TestInsertionHasEachElementOnceInItsPlace(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, count := range []int{0, 1, 2, 9, 50} {
		for _, inserted := range []int{0, 1, 3, 40} {
			source := make([]uint16, count+inserted)
			for i := range source {
				source[i] = uint16(i)
			}
			positions := make([]int64, inserted)
			for i := range positions {
				positions[i] = random.Int63n(int64(count + 1))
			}
			var want []uint16
			for at := range count + 1 {
				for i, position := range positions {
					if position == int64(at) {
						want = append(want, uint16(count+i))
					}
				}
				if at < count {
					want = append(want, uint16(at))
				}
			}
			offsets, counts := insertion(int64(count), positions)
			if got := copied(source, offsets, counts); !slices.Equal(got, want) {
				t.Errorf("%d elements before %v: %v, not %v", count, positions, got, want)
			}
			if slices.Contains(counts, 0) || len(counts) > 2*inserted+1 {
				t.Errorf("the intervals of %d elements before %v have lengths %v", count, positions, counts)
			}
		}
	}
	if offsets, counts := insertion(3, []int64{3, 3, 3}); !slices.Equal(offsets, []int64{0}) || counts[0] != 6 {
		t.Errorf("neighbours are not joined: %v, %v", offsets, counts)
	}
}

func TestInsertIsAGather(t *testing.T) {
	var seen *corankpb.GatherIntervalsRequest
	client := connected(t, (&fake{gather: func(request *corankpb.GatherIntervalsRequest) *corankpb.GatherIntervalsResponse {
		seen = request
		return &corankpb.GatherIntervalsResponse{Result: inline[uint16](5, 7, 8, 6, 9)}
	}}).start(t))
	got, err := Insert(background, client, someElements, []int64{0, 2}, []uint16{5, 6})
	if err != nil || !slices.Equal(got, []uint16{5, 7, 8, 6, 9}) {
		t.Errorf("%v, %v", got, err)
	}
	want := &corankpb.GatherIntervalsRequest{Source: inline[uint16](7, 8, 9, 5, 6),
		SourceOffsets: inline[int64](3, 0, 4, 2), Counts: inline[int64](1, 2, 1, 1)}
	if !proto.Equal(seen, want) {
		t.Errorf("the request is %v, not %v", seen, want)
	}
	if !slices.Equal(someElements, []uint16{7, 8, 9}) {
		t.Errorf("the elements changed to %v", someElements)
	}
	some, one := Of(someElements), Of([]int64{1})
	for _, test := range []struct {
		elements, positions, inserted *Array
		field, words                  string
	}{
		{some, Of([]int64{1, 4}), Of([]uint16{1, 2}), "positions[1]", "4, must be 0 to 3"},
		{some, Of([]int64{-1}), Of([]uint16{1}), "positions[0]", "-1, must be 0 to 3"},
		{some, Of([]int64{1, 2}), Of([]uint16{1}), "positions", "2 for 1 inserted"},
		{some, one, Of([]int16{1}), "inserted", "both must be of one type"},
		{some, Of([]int32{1}), Of([]uint16{1}), "positions", "INT32"},
		{some, nil, Of([]uint16{1}), "positions", "missing"},
		{&Array{kind: some.kind, width: 2, count: 1, name: "a"}, one, Of([]uint16{1}), "elements", "must be in this process"},
		{some, one, Zeros(1), "inserted", "Zeros"},
	} {
		_, err := client.Insert(background, test.elements, test.positions, test.inserted)
		failedAs(t, err, codes.InvalidArgument, test.field, test.words)
	}
	chain := client.Chain()
	chain.Insert(chain.Sort(some).Keys, one, Of([]uint16{1}))
	var failed *Error
	if err := chain.Run(background); !errors.As(err, &failed) || failed.Field != "elements" {
		t.Errorf("%v", err)
	}
}
