package corank

import (
	"slices"
	"testing"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

func inline[T any](elements ...T) *corankpb.Array {
	made := Of(elements)
	header := made.header()
	header.Place = &corankpb.Array_InlineData{InlineData: made.Bytes()}
	return header
}

// grouped answers what a request asks for, with two groups, and shows the test the request.
func grouped(seen *[]*corankpb.GroupRequest) *fake {
	return &fake{group: func(_ int, request *corankpb.GroupRequest) (*corankpb.GroupResponse, error) {
		*seen = append(*seen, request)
		response := &corankpb.GroupResponse{}
		for _, output := range request.Outputs {
			switch output {
			case GroupKeys:
				response.Keys = inline[uint16](1, 3)
			case GroupCounts:
				response.Counts = inline[int64](1, 2)
			case GroupFirsts:
				response.Firsts = inline[uint32](1, 0)
			case GroupSums:
				response.Sums = inline(0.5, 2.5)
			case GroupMinima:
				response.Minima = inline[float32](0.5, 1)
			case GroupMaxima:
				response.Maxima = inline[float32](0.5, 1.5)
			case GroupValueCounts:
				response.ValueCounts = inline[int64](1, 0)
			}
		}
		return response, nil
	}}
}

func TestGroupReturnsTheResultsThatAreNamed(t *testing.T) {
	var seen []*corankpb.GroupRequest
	client := connected(t, grouped(&seen).start(t))
	keys := []uint16{3, 1, 3}
	distinct, counts, err := Group(background, client, keys)
	if err != nil || !slices.Equal(distinct, []uint16{1, 3}) || !slices.Equal(counts, []int64{1, 2}) {
		t.Errorf("%v, %v, %v", distinct, counts, err)
	}
	distinct, err = Unique(background, client, keys, Descending())
	if err != nil || !slices.Equal(distinct, []uint16{1, 3}) {
		t.Errorf("%v, %v", distinct, err)
	}
	if _, _, err = RunLengthEncode(background, client, keys); err != nil {
		t.Error(err)
	}
	found, err := client.Group(background, Of(keys), Values(Of([]float32{1, 0.5, 1.5})), WithGroupInput(GroupSorted),
		WithGroupOutputs(GroupMaxima, GroupSums, GroupFirsts, GroupMinima))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := Slice[float64](found.Sums)
	if err != nil || !slices.Equal(sums, []float64{0.5, 2.5}) || found.Keys != nil || found.Counts != nil {
		t.Errorf("%v, %v, %+v", sums, err, found)
	}
	maxima, err := Slice[float32](found.Maxima)
	if err != nil || !slices.Equal(maxima, []float32{0.5, 1.5}) || found.Firsts.Len() != 2 {
		t.Errorf("%v, %v", maxima, err)
	}
	nullable, err := client.Group(background, Of(keys), Values(Of([]float32{1, 0.5, 1.5})),
		WithValuesValidity(PackValidity([]bool{false, true, false})), WithGroupOutputs(GroupValueCounts))
	if err != nil {
		t.Fatal(err)
	}
	present, err := Slice[int64](nullable.ValueCounts)
	if err != nil || !slices.Equal(present, []int64{1, 0}) {
		t.Errorf("%v, %v", present, err)
	}
	for i, want := range []*corankpb.GroupRequest{
		{Outputs: []GroupOutput{GroupKeys, GroupCounts}},
		{Outputs: []GroupOutput{GroupKeys}, Order: order(true)},
		{Outputs: []GroupOutput{GroupKeys, GroupCounts}, Input: GroupRuns},
		{Outputs: []GroupOutput{GroupMaxima, GroupSums, GroupFirsts, GroupMinima}, Input: GroupSorted,
			Values: inline[float32](1, 0.5, 1.5)},
		{Outputs: []GroupOutput{GroupValueCounts}, Values: inline[float32](1, 0.5, 1.5), ValuesValidity: inline[uint8](2)},
	} {
		want.Keys = inline[uint16](3, 1, 3)
		if !proto.Equal(seen[i], want) {
			t.Errorf("request %d is %v, not %v", i, seen[i], want)
		}
	}
}

func TestSumsHaveTheTypeThatTheContractSays(t *testing.T) {
	for _, test := range []struct {
		values *Array
		want   ElementType
	}{
		{Of([]int8{}), corankpb.ElementType_ELEMENT_TYPE_INT64},
		{Of([]uint32{}), corankpb.ElementType_ELEMENT_TYPE_UINT64},
		{Of([]BFloat16{}), corankpb.ElementType_ELEMENT_TYPE_FLOAT64},
	} {
		if got := sumOf(test.values); got.kind != test.want || got.width != 8 {
			t.Errorf("sums of %v are %v", test.values, got)
		}
	}
}

// A group for each key would not fit into a message of this server, so the results come in chunks: there are fewer.
func TestGroupsTravelInChunksIfOneForEachKeyWould(t *testing.T) {
	server := &fake{execute: func(stream corankpb.CorankService_ExecuteServer) error {
		for {
			if _, err := stream.Recv(); err != nil {
				break
			}
		}
		counts := Of([]int64{199_999, 1})
		if err := sendChunk(stream, 0, counts.Bytes()); err != nil {
			return err
		}
		header := counts.header()
		header.Place = &corankpb.Array_Stream{Stream: &corankpb.StreamPlace{}}
		return stream.Send(&corankpb.ExecuteResponse{Part: &corankpb.ExecuteResponse_Result{
			Result: &corankpb.OperationResult{Result: &corankpb.OperationResult_Group{
				Group: &corankpb.GroupResponse{Counts: header}}}}})
	}}
	client := connected(t, server.start(t))
	keys := Of(make([]uint8, 200_000))
	found, err := client.Group(background, keys, WithGroupOutputs(GroupCounts))
	if err != nil {
		t.Fatal(err)
	}
	counts, err := Slice[int64](found.Counts)
	if err != nil || !slices.Equal(counts, []int64{199_999, 1}) {
		t.Errorf("%v, %v", counts, err)
	}
}

func TestGroupsThatCannotBeAreErrors(t *testing.T) {
	server := &fake{group: func(int, *corankpb.GroupRequest) (*corankpb.GroupResponse, error) {
		return &corankpb.GroupResponse{Keys: inline[uint16](1, 2), Counts: inline[int64](1)}, nil
	}}
	client := connected(t, server.start(t))
	_, err := Unique(background, client, []uint16{7})
	failedAs(t, err, codes.Internal, "", "2 elements of keys")
	_, err = Unique(background, client, []uint16{7}, WithGroupOutputs(GroupFirsts))
	failedAs(t, err, codes.Internal, "", "lacks firsts")
	_, err = Unique(background, client, []uint16{7}, Limit(1))
	failedAs(t, err, codes.InvalidArgument, "limit", "not for this operator")
	_, err = client.Group(background, Of([]uint16{7}), Values(Of([]int8{1}), Of([]int8{1})))
	failedAs(t, err, codes.InvalidArgument, "values", "takes one")
}

func TestKeptGroupsAreNotFoundTwice(t *testing.T) {
	noWait(t)
	server := &fake{group: func(call int, request *corankpb.GroupRequest) (*corankpb.GroupResponse, error) {
		if call == 1 || request.KeysDestination != nil {
			return nil, busy(codes.Unavailable)
		}
		return &corankpb.GroupResponse{Keys: inline[uint16](7)}, nil
	}}
	client := connected(t, server.start(t))
	if _, err := Unique(background, client, []uint16{7}); err != nil || server.calls.Load() != 2 {
		t.Errorf("%v after %d calls", err, server.calls.Load())
	}
	_, err := client.Group(background, Of([]uint16{7}), Keep("name"), WithGroupOutputs(GroupKeys))
	failedAs(t, err, codes.Unavailable, "", "doing it twice may do harm")
	if server.calls.Load() != 3 {
		t.Errorf("%d calls", server.calls.Load())
	}
}
