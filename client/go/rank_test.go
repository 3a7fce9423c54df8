package corank

import (
	"slices"
	"testing"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

func TestRankSendsMethodAndOrder(t *testing.T) {
	var seen []*corankpb.RankRequest
	client := connected(t, (&fake{rank: func(request *corankpb.RankRequest) *corankpb.RankResponse {
		seen = append(seen, request)
		if request.Method == RankAverage {
			return &corankpb.RankResponse{Ranks: inline(2.5, 1, 2.5)}
		}
		return &corankpb.RankResponse{Ranks: inline[uint32](2, 1, 2)}
	}}).start(t))
	keys := []float32{3, 1, 3}
	methods := []RankMethod{RankMin, RankMax, RankDense, RankOrdinal}
	for _, method := range methods {
		ranks, err := Rank(background, client, keys, method, Descending(), KeysSorted())
		if err != nil || !slices.Equal(ranks, []uint32{2, 1, 2}) {
			t.Errorf("%v: %v, %v", method, ranks, err)
		}
	}
	means, err := AverageRank(background, client, keys)
	if err != nil || !slices.Equal(means, []float64{2.5, 1, 2.5}) {
		t.Errorf("%v, %v", means, err)
	}
	for i, method := range methods {
		want := &corankpb.RankRequest{Keys: inline(keys...), Method: method, KeysSorted: true,
			Order: corankpb.SortOrder_SORT_ORDER_DESCENDING}
		if !proto.Equal(seen[i], want) {
			t.Errorf("request %d is %v, not %v", i, seen[i], want)
		}
	}
	if want := (&corankpb.RankRequest{Keys: inline(keys...), Method: RankAverage}); !proto.Equal(seen[4], want) {
		t.Errorf("the request is %v, not %v", seen[4], want)
	}
	if _, err = Rank(background, client, keys, RankMin, Segments(Of([]int64{0, 1, 3}))); err != nil {
		t.Error(err)
	}
	want := &corankpb.RankRequest{Keys: inline(keys...), Method: RankMin, SegmentOffsets: inline[int64](0, 1, 3)}
	if !proto.Equal(seen[5], want) {
		t.Errorf("the request is %v, not %v", seen[5], want)
	}
	_, err = Rank(background, client, keys, RankAverage)
	failedAs(t, err, codes.InvalidArgument, "method", "call AverageRank")
	_, err = AverageRank(background, client, keys, Limit(1))
	failedAs(t, err, codes.InvalidArgument, "limit", "not for this operator")
	_, err = client.Rank(background, nil, RankMin)
	failedAs(t, err, codes.InvalidArgument, "keys", "missing")
	if len(seen) != 6 {
		t.Errorf("%d requests", len(seen))
	}
}

// The server chooses the width of ranks, but not that of means.
func TestRankTakesRanksOfBothWidths(t *testing.T) {
	var answer *corankpb.Array
	client := connected(t, (&fake{rank: func(*corankpb.RankRequest) *corankpb.RankResponse {
		return &corankpb.RankResponse{Ranks: answer}
	}}).start(t))
	keys := Of([]uint16{7})
	answer = inline[uint64](1)
	found, err := client.Rank(background, keys, RankDense)
	if err != nil {
		t.Fatal(err)
	}
	if ranks, err := Slice[uint64](found); err != nil || ranks[0] != 1 {
		t.Errorf("%v, %v", ranks, err)
	}
	_, err = client.Rank(background, keys, RankAverage)
	failedAs(t, err, codes.Internal, "", "ranks of type")
	answer = inline(1.0)
	_, err = client.Rank(background, keys, RankMin)
	failedAs(t, err, codes.Internal, "", "ranks of type")
	answer = inline[uint32](1, 2)
	_, err = client.Rank(background, keys, RankMin)
	failedAs(t, err, codes.Internal, "", "2 elements of ranks")
}
