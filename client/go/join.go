package corank

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/corank/corank/client/go/corankpb"
)

// JoinKind says which rows a join has. Partners are rows of both sides with equal keys.
type JoinKind = corankpb.JoinKind

// Kinds of Join and CountJoin.
const (
	// JoinInner has each pair of partners.
	JoinInner = corankpb.JoinKind_JOIN_KIND_INNER
	// JoinLeft has each pair of partners, and the rows of the left without a partner.
	JoinLeft = corankpb.JoinKind_JOIN_KIND_LEFT
	// JoinRight has each pair of partners, and the rows of the right without a partner.
	JoinRight = corankpb.JoinKind_JOIN_KIND_RIGHT
	// JoinFull has each pair of partners, and the rows of both sides without a partner.
	JoinFull = corankpb.JoinKind_JOIN_KIND_FULL
	// JoinSemi has the rows of the left with a partner, once each.
	JoinSemi = corankpb.JoinKind_JOIN_KIND_SEMI
	// JoinAnti has the rows of the left without a partner.
	JoinAnti = corankpb.JoinKind_JOIN_KIND_ANTI
)

// JoinResult holds the row numbers of Join: int32, or int64 if a side has 2^31 keys or more. -1 is no partner.
type JoinResult struct {
	LeftRows  *Array
	RightRows *Array // as many; nil for JoinSemi and JoinAnti
}

// RightSorted says that the keys of the right side ascend, which saves the server their sort; the server checks it. Of
// Join and CountJoin.
func RightSorted() Option { return argument("right_sorted", func(c *call) { c.rightSorted = true }) }

// MaxRows is the most rows that the result may have: the server makes room for them. A join with more fails with the
// reason TOO_MANY_ROWS, and Error.Rows is their number. Default: any number of rows. Of Join.
func MaxRows(count int64) Option {
	return argument("max_rows", func(c *call) { c.maxRows = &count })
}

// Join finds the rows of two arrays, in any order and of one type, that have equal keys. All NaNs are one key, and -0.0
// equals +0.0. The result has the rows of the left in their order, each with its partners in their order on the right;
// then, for JoinRight and JoinFull, the rows of the right without a partner. The server sorts the right side alone.
//
// Without MaxRows, the server makes room for the rows of both sides together. If the join has more, Join calls a second
// time with their number. Options: RightSorted, MaxRows.
func (c *Client) Join(ctx context.Context, kind JoinKind, left, right *Array, options ...Option) (*JoinResult, error) {
	made := joining(kind, left, right)
	result, err := run(ctx, c, made, options)
	var failed *Error
	if !errors.As(err, &failed) || failed.Rows == 0 {
		return result, err
	}
	if call, _ := c.options(options, made.arguments()...); call.maxRows != nil {
		return nil, err
	}
	return run(ctx, c, made, append(slices.Clip(options), MaxRows(failed.Rows)))
}

// CountJoin counts the rows that Join would return: one int64. Option: RightSorted.
func (c *Client) CountJoin(ctx context.Context, kind JoinKind, left, right *Array, options ...Option) (
	*Array, error) {
	return run(ctx, c, countingJoin(kind, left, right), options)
}

func joining(kind JoinKind, left, right *Array) operator[JoinResult] {
	return operator[JoinResult]{[]string{"right_sorted", "max_rows"}, func(c *call) (*task, *JoinResult, error) {
		request := &corankpb.JoinRequest{Kind: kind, MaxRows: c.maxRows}
		made, result := newJoinTask(c, request, left, right), &JoinResult{}
		like := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT32, width: 4}
		if max(length(left), length(right)) > math.MaxInt32 {
			like = &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT64, width: 8}
		}
		add := func(name string) *Array {
			added := made.out(name, like, -1, request, name+"_destination")
			added.position = true
			made.outputs[len(made.outputs)-1].most = mostJoined(kind, length(left), length(right), c.maxRows)
			return added
		}
		result.LeftRows = add("left_rows")
		if kind != JoinSemi && kind != JoinAnti {
			result.RightRows = add("right_rows")
		}
		return made, result, nil
	}}
}

func countingJoin(kind JoinKind, left, right *Array) operator[Array] {
	return operator[Array]{[]string{"right_sorted"}, func(c *call) (*task, *Array, error) {
		request := &corankpb.JoinRequest{Kind: kind, CountOnly: true}
		made := newJoinTask(c, request, left, right)
		like := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT64, width: 8}
		return made, made.out("count", like, 1, request, "count_destination"), nil
	}}
}

func newJoinTask(c *call, request *corankpb.JoinRequest, left, right *Array) *task {
	request.RightSorted = c.rightSorted
	made := newTask("Join", "join", request, &corankpb.JoinResponse{})
	made.in("left", left)
	made.in("right", right)
	return made
}

// mostJoined is the number of rows for which the server makes room; -1 is not known.
func mostJoined(kind JoinKind, left, right int64, wanted *int64) int64 {
	if min(left, right) < 0 {
		switch {
		case left >= 0 && (kind == JoinSemi || kind == JoinAnti):
			return left
		case wanted != nil:
			return *wanted
		}
		return -1
	}
	most := left
	if kind != JoinSemi && kind != JoinAnti {
		most = math.MaxInt64
		if right == 0 || left <= math.MaxInt64/right {
			most = left * right
		}
	}
	switch kind {
	case JoinLeft:
		most = max(most, left)
	case JoinRight:
		most = max(most, right)
	case JoinFull:
		most = max(most, left+right)
	}
	if wanted != nil {
		return min(most, *wanted)
	}
	return min(most, left+right)
}
