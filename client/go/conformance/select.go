package main

import (
	"context"
	"strings"

	corank "github.com/corank/corank/client/go"
	"github.com/corank/corank/client/go/corankpb"
)

// selectElements calls Select and its siblings.
func (o *operators) selectElements(operator string, given *arguments, options []corank.Option) (
	map[string]any, error) {
	options, err := o.withValues(given, options)
	if err != nil {
		return nil, err
	}
	if given.Negate {
		options = append(options, corank.Negate())
	}
	all, err := o.inputs(list{given.Elements, given.Flags, given.Bitmap, given.Positions, given.Threshold})
	if err != nil {
		return nil, err
	}
	elements, positions := all[0], all[3]
	by := corank.Selection{Flags: all[1], Bitmap: all[2], Positions: positions, Threshold: all[4]}
	by.Comparison = corank.Comparison(corankpb.Comparison_value["COMPARISON_"+strings.ToUpper(given.Comparison)])
	if given.Output == "indices" {
		found, err := either(o, func(ctx context.Context) (*corank.Array, error) {
			return o.client.Argselect(ctx, elements, by, options...)
		}, func() *corank.Array { return o.chain.Argselect(elements, by, options...) })
		return named("indices", found), err
	}
	found, err := either(o, func(ctx context.Context) (*corank.SelectResult, error) {
		switch operator {
		case "partition":
			return o.client.Partition(ctx, elements, by, options...)
		case "remove":
			return o.client.Remove(ctx, elements, positions, options...)
		}
		return o.client.Select(ctx, elements, by, options...)
	}, func() *corank.SelectResult {
		switch operator {
		case "partition":
			return o.chain.Partition(elements, by, options...)
		case "remove":
			return o.chain.Remove(elements, positions, options...)
		}
		return o.chain.Select(elements, by, options...)
	})
	if err != nil {
		return nil, err
	}
	return named("elements", found.Elements, "values", found.Values, "count", found.Count), nil
}

func (o *operators) insert(given *arguments, options []corank.Option) (map[string]any, error) {
	all, err := o.inputs(list{given.Elements, given.Positions, given.Inserted})
	if err != nil {
		return nil, err
	}
	found, err := either(o, func(ctx context.Context) (*corank.Array, error) {
		return o.client.Insert(ctx, all[0], all[1], all[2], options...)
	}, func() *corank.Array { return o.chain.Insert(all[0], all[1], all[2], options...) })
	return named("result", found), err
}

func (o *operators) rank(given *arguments, options []corank.Option) (map[string]any, error) {
	keys, err := o.input(given.Keys[0])
	if err != nil {
		return nil, err
	}
	if given.KeysSorted {
		options = append(options, corank.KeysSorted())
	}
	method := corank.RankMethod(corankpb.RankMethod_value["RANK_METHOD_"+strings.ToUpper(given.Method)])
	found, err := either(o, func(ctx context.Context) (*corank.Array, error) {
		return o.client.Rank(ctx, keys, method, options...)
	}, func() *corank.Array { return o.chain.Rank(keys, method, options...) })
	return named("ranks", found), err
}
