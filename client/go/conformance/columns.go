package main

import (
	"context"

	corank "github.com/corank/corank/client/go"
)

func (o *operators) columns(given []column) ([]corank.Column, error) {
	var columns []corank.Column
	for _, each := range given {
		made := corank.Column{Descending: each.Order == "descending", NullsFirst: each.Nulls == "first", NaNs: nans[each.NaNs]}
		for _, each := range []struct {
			from *array
			to   **corank.Array
		}{{each.Data, &made.Data}, {each.Offsets, &made.Offsets}, {each.Validity, &made.Validity}} {
			var err error
			if *each.to, err = o.input(each.from); err != nil {
				return nil, err
			}
		}
		columns = append(columns, made)
	}
	return columns, nil
}

func (o *operators) sortColumns(given *arguments, options []corank.Option) (map[string]any, error) {
	options, err := o.withValues(given, options)
	if err != nil {
		return nil, err
	}
	columns, err := o.columns(given.Columns)
	if err != nil {
		return nil, err
	}
	for _, each := range []struct {
		given  *array
		option func(*corank.Array) corank.Option
	}{{given.Segments, corank.Segments}, {given.Runs, corank.Runs}} {
		if each.given == nil {
			continue
		}
		offsets, err := o.input(each.given)
		if err != nil {
			return nil, err
		}
		options = append(options, each.option(offsets))
	}
	if given.Output == "indices" {
		found, err := either(o, func(ctx context.Context) (*corank.Array, error) {
			return o.client.ArgsortColumns(ctx, columns, options...)
		}, func() *corank.Array { return o.chain.ArgsortColumns(columns, options...) })
		return named("indices", found), err
	}
	if given.Output == "ranks" {
		found, err := either(o, func(ctx context.Context) (*corank.Array, error) {
			return o.client.RankColumns(ctx, columns, options...)
		}, func() *corank.Array { return o.chain.RankColumns(columns, options...) })
		return named("ranks", found), err
	}
	found, err := either(o, func(ctx context.Context) (*corank.SortResult, error) {
		return o.client.SortColumns(ctx, columns, options...)
	}, func() *corank.SortResult { return o.chain.SortColumns(columns, options...) })
	if err != nil {
		return nil, err
	}
	return named("columns", found.Columns, "values", found.Values, "indices", found.Indices), nil
}

func (o *operators) searchColumns(given *arguments, options []corank.Option) (map[string]any, error) {
	haystack, err := o.columns(given.HaystackColumns)
	if err != nil {
		return nil, err
	}
	needles, err := o.columns(given.NeedleColumns)
	if err != nil {
		return nil, err
	}
	found, err := either(o, func(ctx context.Context) (*corank.Array, error) {
		return o.client.SearchColumns(ctx, haystack, needles, options...)
	}, func() *corank.Array { return o.chain.SearchColumns(haystack, needles, options...) })
	return named("positions", found), err
}
