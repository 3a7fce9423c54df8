package corank

import (
	"context"
	"testing"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
)

func TestShardedArraysAndResultsAreAskedForAndShown(t *testing.T) {
	var asked *corankpb.StoredPlace
	server := &fake{sort: func(_ context.Context, _ int, request *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		asked = request.KeysDestination.GetStored()
		return &corankpb.SortResponse{Keys: &corankpb.Array{Type: request.Keys.Type, Count: request.Keys.Count}}, nil
	}}
	client := connected(t, server.start(t))
	big, err := client.Store(background, "big", Of(numbers(5)), Sharded())
	if err != nil || !big.Sharded() || big.Name() != "big" || big.Len() != 5 {
		t.Fatalf("%v, %v", big, err)
	}
	ordered, err := client.Sort(background, big, Keep("ordered"), Sharded())
	if err != nil || !ordered.Keys.Sharded() || !asked.GetSharded() || asked.GetName() != "ordered" {
		t.Fatalf("%v, asked for %v", err, asked)
	}
	whole, err := client.Sort(background, Of(numbers(5)), Keep("whole"))
	if err != nil || whole.Keys.Sharded() || asked.GetSharded() {
		t.Fatalf("%v, asked for %v", err, asked)
	}
	if stored, err := client.Store(background, "big", Of(numbers(5))); err != nil || stored.Sharded() {
		t.Fatalf("%v, %v", stored, err)
	}
}

func TestShardedIsForWhatTheServerKeeps(t *testing.T) {
	client := connected(t, (&fake{}).start(t))
	_, err := client.Sort(background, Of(numbers(5)), Sharded())
	failedAs(t, err, codes.InvalidArgument, "sharded", "name them with Keep")
	_, err = client.Fetch(background, "big", Sharded())
	failedAs(t, err, codes.InvalidArgument, "sharded", "not for this operator")
}
