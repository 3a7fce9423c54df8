package corank

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

var allJoinKinds = []JoinKind{JoinInner, JoinLeft, JoinRight, JoinFull, JoinSemi, JoinAnti}

// joined answers with two rows and what else a request asks for, and shows the test the request.
func joined(seen *[]*corankpb.JoinRequest) *fake {
	return &fake{join: func(_ int, request *corankpb.JoinRequest) (*corankpb.JoinResponse, error) {
		*seen = append(*seen, request)
		if request.CountOnly {
			return &corankpb.JoinResponse{Count: inline[int64](3)}, nil
		}
		response := &corankpb.JoinResponse{LeftRows: inline[int32](0, 2)}
		if request.Kind != JoinSemi && request.Kind != JoinAnti {
			response.RightRows = inline[int32](1, -1)
		}
		return response, nil
	}}
}

// tooManyRows refuses a join as the server does.
func tooManyRows(rows string) error {
	return busy(codes.InvalidArgument, &errdetails.ErrorInfo{Domain: "corank", Reason: "TOO_MANY_ROWS",
		Metadata: map[string]string{"rows": rows}},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "max_rows"}}})
}

func TestJoinSendsBothSides(t *testing.T) {
	var seen []*corankpb.JoinRequest
	client := connected(t, joined(&seen).start(t))
	left, right := []uint16{3, 1, 3}, []uint16{4, 3}
	for _, kind := range allJoinKinds {
		wantRight := []int32{1, -1}
		if kind == JoinSemi || kind == JoinAnti {
			wantRight = nil
		}
		for _, options := range [][]Option{nil, {RightSorted(), MaxRows(2)}} {
			leftRows, rightRows, err := Join(background, client, kind, left, right, options...)
			if err != nil || !slices.Equal(leftRows, []int32{0, 2}) || !slices.Equal(rightRows, wantRight) {
				t.Errorf("%v: %v, %v, %v", kind, leftRows, rightRows, err)
			}
		}
		count, err := CountJoin(background, client, kind, left, right, RightSorted())
		if err != nil || count != 3 {
			t.Errorf("%v: %v, %v", kind, count, err)
		}
	}
	for i, kind := range allJoinKinds {
		for k, want := range []*corankpb.JoinRequest{{}, {RightSorted: true, MaxRows: proto.Int64(2)},
			{RightSorted: true, CountOnly: true}} {
			want.Kind, want.Left, want.Right = kind, inline(left...), inline(right...)
			if got := seen[3*i+k]; !proto.Equal(got, want) {
				t.Errorf("%v: request %d is %v, not %v", kind, k, got, want)
			}
		}
	}
}

func TestJoinWithMoreRowsThanBothSidesIsCalledAgainOnce(t *testing.T) {
	var seen []*corankpb.JoinRequest
	rows := make([]int32, 9)
	server := &fake{join: func(_ int, request *corankpb.JoinRequest) (*corankpb.JoinResponse, error) {
		seen = append(seen, request)
		if request.GetMaxRows() < 9 {
			return nil, tooManyRows("9")
		}
		return &corankpb.JoinResponse{LeftRows: inline(rows...), RightRows: inline(rows...)}, nil
	}}
	client := connected(t, server.start(t))
	side := []uint16{7, 7, 7}
	left, right, err := Join(background, client, JoinInner, side, side)
	if err != nil || !slices.Equal(left, rows) || !slices.Equal(right, rows) {
		t.Fatalf("%v, %v, %v", left, right, err)
	}
	if len(seen) != 2 || seen[0].MaxRows != nil || seen[1].GetMaxRows() != 9 {
		t.Errorf("the requests are %v", seen)
	}
	_, _, err = Join(background, client, JoinInner, side, side, MaxRows(8))
	failedAs(t, err, codes.InvalidArgument, "max_rows", "busy")
	var failed *Error
	if !errors.As(err, &failed) || failed.Rows != 9 || failed.Reason != "TOO_MANY_ROWS" {
		t.Errorf("%#v", failed)
	}
	if len(seen) != 3 {
		t.Errorf("%d calls", len(seen))
	}
	client = connected(t, (&fake{execute: func(corankpb.CorankService_ExecuteServer) error {
		return tooManyRows("9")
	}}).start(t))
	chain := client.Chain()
	chain.Join(JoinInner, Of(side), Of(side))
	if err := chain.Run(background); !errors.As(err, &failed) || failed.Rows != 9 {
		t.Errorf("%v", err)
	}
}

func TestServerThatNamesAnotherNumberEachTimeIsAskedTwice(t *testing.T) {
	server := &fake{join: func(_ int, request *corankpb.JoinRequest) (*corankpb.JoinResponse, error) {
		if request.MaxRows == nil {
			return nil, tooManyRows("8")
		}
		return nil, tooManyRows("9")
	}}
	client := connected(t, server.start(t))
	_, _, err := Join(background, client, JoinInner, []uint16{7}, []uint16{7})
	failedAs(t, err, codes.InvalidArgument, "max_rows", "busy")
	if server.calls.Load() != 2 {
		t.Errorf("%d calls", server.calls.Load())
	}
	wrong := &fake{join: func(int, *corankpb.JoinRequest) (*corankpb.JoinResponse, error) {
		return nil, tooManyRows("many")
	}}
	_, _, err = Join(background, connected(t, wrong.start(t)), JoinInner, []uint16{7}, []uint16{7})
	failedAs(t, err, codes.InvalidArgument, "max_rows", "busy")
	if wrong.calls.Load() != 1 {
		t.Errorf("%d calls", wrong.calls.Load())
	}
}

func TestJoinHasRoomForTheRowsThatTheContractSays(t *testing.T) {
	for _, test := range []struct {
		left, right, wanted int64    // a wanted of -1 is none
		want                [6]int64 // in the order of allJoinKinds
	}{
		{5, 3, -1, [6]int64{8, 8, 8, 8, 5, 5}},
		{5, 3, 100, [6]int64{15, 15, 15, 15, 5, 5}},
		{5, 3, 4, [6]int64{4, 4, 4, 4, 4, 4}},
		{5, 0, -1, [6]int64{0, 5, 0, 5, 5, 5}},
		{0, 3, -1, [6]int64{0, 0, 3, 3, 0, 0}},
		{1 << 40, 1 << 40, math.MaxInt64, [6]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, 1 << 40,
			1 << 40}},
		{-1, 3, -1, [6]int64{-1, -1, -1, -1, -1, -1}},
		{5, -1, -1, [6]int64{-1, -1, -1, -1, 5, 5}},
		{-1, 3, 7, [6]int64{7, 7, 7, 7, 7, 7}},
	} {
		wanted := &test.wanted
		if test.wanted < 0 {
			wanted = nil
		}
		for i, kind := range allJoinKinds {
			if got := mostJoined(kind, test.left, test.right, wanted); got != test.want[i] {
				t.Errorf("%v of %d and %d keys: %d, not %d", kind, test.left, test.right, got, test.want[i])
			}
		}
	}
}

func TestJoinsThatCannotBeAreErrors(t *testing.T) {
	var seen []*corankpb.JoinRequest
	client := connected(t, joined(&seen).start(t))
	_, _, err := Join(background, client, JoinInner, []uint16{1}, []uint16{1})
	failedAs(t, err, codes.Internal, "", "2 elements of left_rows")
	_, _, err = Join(background, client, JoinInner, []uint16{1}, nil, Descending())
	failedAs(t, err, codes.InvalidArgument, "order", "not for this operator")
	_, err = CountJoin(background, client, JoinInner, []uint16{1}, nil, MaxRows(1))
	failedAs(t, err, codes.InvalidArgument, "max_rows", "not for this operator")
	_, err = client.Join(background, JoinInner, nil, Of([]uint16{1}))
	failedAs(t, err, codes.InvalidArgument, "left", "missing")
	if len(seen) != 1 {
		t.Errorf("%d requests", len(seen))
	}
}

// The server chooses the width of row numbers.
func TestJoinTakesRowNumbersOfBothWidths(t *testing.T) {
	client := connected(t, (&fake{join: func(int, *corankpb.JoinRequest) (*corankpb.JoinResponse, error) {
		return &corankpb.JoinResponse{LeftRows: inline[int64](1), RightRows: inline[int32](2)}, nil
	}}).start(t))
	side := Of([]uint16{7})
	found, err := client.Join(background, JoinInner, side, side)
	if err != nil {
		t.Fatal(err)
	}
	left, err := Slice[int64](found.LeftRows)
	if err != nil || !slices.Equal(left, []int64{1}) {
		t.Errorf("%v, %v", left, err)
	}
	client = connected(t, (&fake{join: func(int, *corankpb.JoinRequest) (*corankpb.JoinResponse, error) {
		return &corankpb.JoinResponse{LeftRows: inline[uint32](1)}, nil
	}}).start(t))
	_, err = client.Join(background, JoinSemi, side, side)
	failedAs(t, err, codes.Internal, "", "left_rows of type")
}

// A chain goes on with row numbers whose count only the answer tells: the plan names none.
func TestChainGoesOnWithJoinedRows(t *testing.T) {
	kept := Of([]int32{0, 0, 2}).header()
	var plan *corankpb.Plan
	client := connected(t, chained(&plan,
		&corankpb.OperationResult{Result: &corankpb.OperationResult_Join{Join: &corankpb.JoinResponse{LeftRows: kept,
			RightRows: inline[int32](1, 2, 0)}}},
		&corankpb.OperationResult{Result: &corankpb.OperationResult_Join{Join: &corankpb.JoinResponse{
			Count: inline[int64](2)}}}).start(t))
	chain := client.Chain()
	rows := chain.Join(JoinInner, Of([]uint16{3, 1, 4}), Of([]uint16{4, 3, 3}), MaxRows(5))
	count := chain.CountJoin(JoinSemi, rows.LeftRows, Of([]int32{0}))
	if err := chain.Run(background); err != nil {
		t.Fatal(err)
	}
	if found, err := Slice[int64](count); err != nil || found[0] != 2 {
		t.Errorf("%v, %v", found, err)
	}
	if right, err := Slice[int32](rows.RightRows); err != nil || !slices.Equal(right, []int32{1, 2, 0}) {
		t.Errorf("%v, %v", right, err)
	}
	left := plan.Operations[1].GetJoin().Left
	if left.Count != nil || !left.GetStored().GetTemporary() || plan.Operations[0].GetJoin().GetMaxRows() != 5 {
		t.Errorf("the plan is %v", plan)
	}
}
