package corank

import (
	"context"

	"github.com/corank/corank/client/go/corankpb"
)

// RankMethod is the rank of keys that are equal. Ranks begin at 1.
type RankMethod = corankpb.RankMethod

// Methods of Rank.
const (
	// RankAverage is the mean of the positions that a sort gives the equal keys.
	RankAverage = corankpb.RankMethod_RANK_METHOD_AVERAGE
	// RankMin is the least of these positions.
	RankMin = corankpb.RankMethod_RANK_METHOD_MIN
	// RankMax is the greatest of them.
	RankMax = corankpb.RankMethod_RANK_METHOD_MAX
	// RankDense is the number of distinct keys up to this one.
	RankDense = corankpb.RankMethod_RANK_METHOD_DENSE
	// RankOrdinal gives each key a rank of its own, in the order of a stable sort.
	RankOrdinal = corankpb.RankMethod_RANK_METHOD_ORDINAL
)

// KeysSorted says that the keys, or those of each segment, are sorted in the direction of the ranks, which saves the
// server their sort; the server checks it. Of Rank.
func KeysSorted() Option { return argument("keys_sorted", func(c *call) { c.keysSorted = true }) }

// Rank ranks keys from 1. All NaNs are one key, which comes after every number in ascending order, and -0.0 equals +0.0.
// The ranks are float64 for RankAverage; otherwise uint32, or uint64 if there are 2^32 keys or more. Options:
// Descending, KeysSorted, Segments.
func (c *Client) Rank(ctx context.Context, keys *Array, method RankMethod, options ...Option) (*Array, error) {
	return run(ctx, c, ranking(keys, method), options)
}

func ranking(keys *Array, method RankMethod) operator[Array] {
	return operator[Array]{[]string{"order", "keys_sorted", "segment_offsets"}, func(c *call) (*task, *Array, error) {
		request := &corankpb.RankRequest{Method: method, KeysSorted: c.keysSorted}
		if c.descending {
			request.Order = order(true)
		}
		made := newTask("Rank", "rank", request, &corankpb.RankResponse{})
		made.in("keys", keys)
		if c.segments != nil {
			made.in("segment_offsets", c.segments)
		}
		if method != RankAverage && method != corankpb.RankMethod_RANK_METHOD_UNSPECIFIED {
			return made, made.positions("ranks", length(keys), length(keys), "ranks_destination"), nil
		}
		like := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_FLOAT64, width: 8}
		return made, made.out("ranks", like, length(keys), request, "ranks_destination"), nil
	}}
}
