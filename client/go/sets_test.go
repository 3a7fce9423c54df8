package corank

import (
	"slices"
	"testing"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

var allSetOperations = []SetOperation{SetUnion, SetIntersection, SetDifference, SetSymmetricDifference}

// combined answers with two keys and what else a request asks for, and shows the test the request.
func combined(seen *[]*corankpb.CombineSetsRequest) *fake {
	return &fake{sets: func(_ int, request *corankpb.CombineSetsRequest) (*corankpb.CombineSetsResponse, error) {
		*seen = append(*seen, request)
		if request.CountOnly {
			return &corankpb.CombineSetsResponse{Count: inline[int64](3)}, nil
		}
		response := &corankpb.CombineSetsResponse{Keys: inline[uint16](1, 3)}
		if request.LeftValues != nil {
			response.Values = inline[float32](0.5, 1)
		}
		return response, nil
	}}
}

func TestCombineSetsSendsBothSidesAndTheirValues(t *testing.T) {
	var seen []*corankpb.CombineSetsRequest
	client := connected(t, combined(&seen).start(t))
	left, right := []uint16{1, 3, 3}, []uint16{3, 4}
	for _, operation := range allSetOperations {
		keys, err := CombineSets(background, client, operation, left, right)
		if err != nil || !slices.Equal(keys, []uint16{1, 3}) {
			t.Errorf("%v: %v, %v", operation, keys, err)
		}
		keys, values, err := CombineSetsValues(background, client, operation, left, right, []float32{0.5, 1, 2}, nil,
			Descending())
		if err != nil || !slices.Equal(keys, []uint16{1, 3}) || !slices.Equal(values, []float32{0.5, 1}) {
			t.Errorf("%v: %v, %v, %v", operation, keys, values, err)
		}
		count, err := CountSets(background, client, operation, left, right)
		if err != nil || count != 3 {
			t.Errorf("%v: %v, %v", operation, count, err)
		}
	}
	for i, operation := range allSetOperations {
		with := &corankpb.CombineSetsRequest{Order: order(true), LeftValues: inline[float32](0.5, 1, 2)}
		if operation == SetUnion || operation == SetSymmetricDifference {
			with.RightValues = inline[float32]()
		}
		for k, want := range []*corankpb.CombineSetsRequest{{}, with, {CountOnly: true}} {
			want.Operation, want.Left, want.Right = operation, inline(left...), inline(right...)
			if got := seen[3*i+k]; !proto.Equal(got, want) {
				t.Errorf("%v: request %d is %v, not %v", operation, k, got, want)
			}
		}
	}
}

func TestSetsHaveAtMostTheLengthThatTheContractSays(t *testing.T) {
	for _, test := range []struct {
		left, right int64
		want        [4]int64 // in the order of allSetOperations
	}{
		{5, 3, [4]int64{8, 3, 5, 8}},
		{2, 3, [4]int64{5, 2, 2, 5}},
		{-1, 3, [4]int64{-1, 3, -1, -1}},
		{2, -1, [4]int64{-1, 2, 2, -1}},
		{-1, -1, [4]int64{-1, -1, -1, -1}},
	} {
		for i, operation := range allSetOperations {
			if got := mostCombined(operation, test.left, test.right); got != test.want[i] {
				t.Errorf("%v of %d and %d keys: %d, not %d", operation, test.left, test.right, got, test.want[i])
			}
		}
	}
}

func TestSetsThatCannotBeAreErrors(t *testing.T) {
	var seen []*corankpb.CombineSetsRequest
	client := connected(t, combined(&seen).start(t))
	_, err := CombineSets(background, client, SetIntersection, []uint16{1, 3}, []uint16{1})
	failedAs(t, err, codes.Internal, "", "2 elements of keys")
	_, err = CombineSets(background, client, SetUnion, []uint16{1, 3}, nil, Limit(1))
	failedAs(t, err, codes.InvalidArgument, "limit", "not for this operator")
	_, err = CountSets(background, client, SetUnion, []uint16{1, 3}, nil, Values(Of([]int8{1})))
	failedAs(t, err, codes.InvalidArgument, "values", "not for this operator")
	some := Of([]int8{1})
	_, err = client.CombineSets(background, SetUnion, some, some, Values(some, some, some))
	failedAs(t, err, codes.InvalidArgument, "values", "3 arrays")
	_, err = client.CombineSets(background, SetUnion, some, some, Values(nil, some))
	failedAs(t, err, codes.InvalidArgument, "left_values", "missing")
	_, err = client.CombineSets(background, SetUnion, some, nil)
	failedAs(t, err, codes.InvalidArgument, "right", "missing")
	if len(seen) != 1 {
		t.Errorf("%d requests", len(seen))
	}
}

func TestKeptSetsAreNotCombinedTwice(t *testing.T) {
	noWait(t)
	server := &fake{sets: func(call int, request *corankpb.CombineSetsRequest) (*corankpb.CombineSetsResponse, error) {
		if call == 1 || request.CountDestination != nil {
			return nil, busy(codes.Unavailable)
		}
		return &corankpb.CombineSetsResponse{Count: inline[int64](1)}, nil
	}}
	client := connected(t, server.start(t))
	side := []uint16{7}
	if _, err := CountSets(background, client, SetUnion, side, nil); err != nil || server.calls.Load() != 2 {
		t.Errorf("%v after %d calls", err, server.calls.Load())
	}
	_, err := client.CountSets(background, SetUnion, Of(side), Of(side), Keep("name"))
	failedAs(t, err, codes.Unavailable, "", "doing it twice may do harm")
	if server.calls.Load() != 3 {
		t.Errorf("%d calls", server.calls.Load())
	}
}

// A chain goes on with keys whose number only the answer tells: the plan names no count.
func TestChainGoesOnWithCombinedSets(t *testing.T) {
	var plan *corankpb.Plan
	kept := Of([]uint16{1, 2, 3}).header()
	client := connected(t, chained(&plan,
		&corankpb.OperationResult{Result: &corankpb.OperationResult_CombineSets{
			CombineSets: &corankpb.CombineSetsResponse{Keys: kept}}},
		&corankpb.OperationResult{Result: &corankpb.OperationResult_CombineSets{
			CombineSets: &corankpb.CombineSetsResponse{Count: inline[int64](2)}}}).start(t))
	chain := client.Chain()
	both := chain.CombineSets(SetUnion, Of([]uint16{1, 3}), Of([]uint16{2, 3}))
	count := chain.CountSets(SetDifference, both.Keys, Of([]uint16{2}))
	if err := chain.Run(background); err != nil {
		t.Fatal(err)
	}
	if found, err := Slice[int64](count); err != nil || found[0] != 2 {
		t.Errorf("%v, %v", found, err)
	}
	if both.Keys.Len() != 3 {
		t.Errorf("%d keys", both.Keys.Len())
	}
	left := plan.Operations[1].GetCombineSets().Left
	if left.Count != nil || !left.GetStored().GetTemporary() || !plan.Operations[1].GetCombineSets().CountOnly {
		t.Errorf("the left side is %v", left)
	}
}
