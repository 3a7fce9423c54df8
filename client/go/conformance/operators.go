package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	corank "github.com/corank/corank/client/go"
	"github.com/corank/corank/client/go/corankpb"
)

// operators are those of a client or of a chain, with the results by name.
type operators struct {
	asked  *asked
	client *corank.Client // nil in a chain
	chain  *corank.Chain
	made   []map[string]any // the results of the chain's operators
}

// either calls the client, or adds to the chain.
func either[R any](o *operators, client func(context.Context) (R, error), chain func() R) (R, error) {
	if o.chain != nil {
		return chain(), nil
	}
	return client(o.asked.ctx)
}

// input is an array of a command for a call.
func (o *operators) input(given *array) (*corank.Array, error) {
	switch {
	case given == nil:
		return nil, nil
	case given.Kept != "":
		return o.asked.client.Stored(o.asked.ctx, given.Kept)
	case given.Result != "":
		return o.made[given.Of][given.Result].(*corank.Array), nil
	}
	return given.local(), nil
}

func (o *operators) inputs(given list) ([]*corank.Array, error) {
	made := make([]*corank.Array, len(given))
	for i, each := range given {
		var err error
		if made[i], err = o.input(each); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// order of the names under which results are kept, as the client takes them.
var results = []string{"keys", "columns", "elements", "values", "indices", "objects", "ranks", "result", "positions", "left_rows",
	"right_rows", "count"}

func (o *operators) run(operator string, given *arguments, keep map[string]string) (map[string]any, error) {
	options, err := o.options(given)
	if err != nil {
		return nil, err
	}
	if keep != nil {
		var names []string
		order := results
		if operator == "group" {
			order = given.Outputs
		}
		for _, name := range order {
			if kept, found := keep[name]; found {
				names = append(names, kept)
			}
		}
		options = append(options, corank.Keep(names...))
	}
	switch operator {
	case "sort":
		return o.sort(given, options)
	case "sort_columns":
		return o.sortColumns(given, options)
	case "search_columns":
		return o.searchColumns(given, options)
	case "merge":
		return o.merge(given, options)
	case "group":
		return o.group(given, options)
	case "combine_sets":
		return o.combineSets(given, options)
	case "join":
		return o.join(given, options)
	case "select", "partition", "remove":
		return o.selectElements(operator, given, options)
	case "insert":
		return o.insert(given, options)
	case "rank":
		return o.rank(given, options)
	}
	return o.intervals(operator, given, options)
}

func (o *operators) options(given *arguments) ([]corank.Option, error) {
	var options []corank.Option
	if o.chain == nil {
		options = append(options, o.asked.options...)
		options = append(options, corank.OnStats(func(stats corank.Stats) { o.asked.stats = stats }))
	}
	if given.Order == "descending" {
		options = append(options, corank.Descending())
	}
	if given.Algorithm != "" {
		options = append(options, corank.Algorithm(given.Algorithm))
	}
	if given.Limit != nil {
		options = append(options, corank.Limit(*given.Limit))
	}
	if given.Offset != nil {
		options = append(options, corank.Offset(*given.Offset))
	}
	if given.AssumeSorted {
		options = append(options, corank.AssumeSorted())
	}
	if given.RightSorted {
		options = append(options, corank.RightSorted())
	}
	if given.MaxRows != nil {
		options = append(options, corank.MaxRows(*given.MaxRows))
	}
	if given.AllowOverlap {
		options = append(options, corank.AllowOverlap())
	}
	if given.Bound == "upper" {
		options = append(options, corank.UpperBound())
	}
	if given.Output == "keys_and_indices" {
		options = append(options, corank.WithIndices())
	}
	if given.Segments != nil {
		offsets, err := o.input(given.Segments)
		if err != nil {
			return nil, err
		}
		options = append(options, corank.Segments(offsets))
	}
	return options, nil
}

func named(pairs ...any) map[string]any {
	made := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		if found, isArray := pairs[i+1].(*corank.Array); !isArray || found != nil {
			made[pairs[i].(string)] = pairs[i+1]
		}
	}
	return made
}

func (o *operators) withValues(given *arguments, options []corank.Option) ([]corank.Option, error) {
	if given.Values == nil {
		return options, nil
	}
	values, err := o.inputs(given.Values)
	return append(options, corank.Values(values...)), err
}

func (o *operators) sort(given *arguments, options []corank.Option) (map[string]any, error) {
	options, err := o.withValues(given, options)
	if err != nil {
		return nil, err
	}
	keys, err := o.input(given.Keys[0])
	if err != nil {
		return nil, err
	}
	if given.Output == "indices" {
		found, err := either(o, func(ctx context.Context) (*corank.Array, error) {
			return o.client.Argsort(ctx, keys, options...)
		}, func() *corank.Array { return o.chain.Argsort(keys, options...) })
		return named("indices", found), err
	}
	found, err := either(o, func(ctx context.Context) (*corank.SortResult, error) {
		return o.client.Sort(ctx, keys, options...)
	}, func() *corank.SortResult { return o.chain.Sort(keys, options...) })
	if err != nil {
		return nil, err
	}
	return named("keys", found.Keys, "values", found.Values, "indices", found.Indices), nil
}

var nans = map[string]corank.NaNOrder{"beside_nulls": corank.NaNBesideNulls, "as_nulls": corank.NaNAsNulls}

func (o *operators) merge(given *arguments, options []corank.Option) (map[string]any, error) {
	options, err := o.withValues(given, options)
	if err != nil {
		return nil, err
	}
	keys, err := o.inputs(given.Keys)
	if err != nil {
		return nil, err
	}
	found, err := either(o, func(ctx context.Context) (*corank.MergeResult, error) {
		return o.client.Merge(ctx, keys, options...)
	}, func() *corank.MergeResult { return o.chain.Merge(keys, options...) })
	if err != nil {
		return nil, err
	}
	return named("keys", found.Keys, "values", found.Values), nil
}

func (o *operators) group(given *arguments, options []corank.Option) (map[string]any, error) {
	options, err := o.withValues(given, options)
	if err != nil {
		return nil, err
	}
	keys, err := o.input(given.Keys[0])
	if err != nil {
		return nil, err
	}
	if given.ValuesValidity != nil {
		validity, err := o.input(given.ValuesValidity)
		if err != nil {
			return nil, err
		}
		options = append(options, corank.WithValuesValidity(validity))
	}
	if given.Input != "" {
		input := corankpb.GroupInput_value["GROUP_INPUT_"+strings.ToUpper(given.Input)]
		options = append(options, corank.WithGroupInput(corank.GroupInput(input)))
	}
	if given.Outputs != nil {
		outputs := make([]corank.GroupOutput, len(given.Outputs))
		for i, output := range given.Outputs {
			outputs[i] = corank.GroupOutput(corankpb.GroupOutput_value["GROUP_OUTPUT_"+strings.ToUpper(output)])
		}
		options = append(options, corank.WithGroupOutputs(outputs...))
	}
	found, err := either(o, func(ctx context.Context) (*corank.GroupResult, error) {
		return o.client.Group(ctx, keys, options...)
	}, func() *corank.GroupResult { return o.chain.Group(keys, options...) })
	if err != nil {
		return nil, err
	}
	return named("keys", found.Keys, "counts", found.Counts, "firsts", found.Firsts, "sums", found.Sums, "minima",
		found.Minima, "maxima", found.Maxima, "value_counts", found.ValueCounts), nil
}

func (o *operators) combineSets(given *arguments, options []corank.Option) (map[string]any, error) {
	found, err := o.inputs(list{given.Left, given.Right, given.LeftValues, given.RightValues})
	if err != nil {
		return nil, err
	}
	left, right := found[0], found[1]
	operation := corank.SetOperation(corankpb.SetOperation_value["SET_OPERATION_"+strings.ToUpper(given.Operation)])
	if given.CountOnly {
		count, err := either(o, func(ctx context.Context) (*corank.Array, error) {
			return o.client.CountSets(ctx, operation, left, right, options...)
		}, func() *corank.Array { return o.chain.CountSets(operation, left, right, options...) })
		return named("count", count), err
	}
	if given.RightValues != nil {
		options = append(options, corank.Values(found[2], found[3]))
	} else if given.LeftValues != nil {
		options = append(options, corank.Values(found[2]))
	}
	combined, err := either(o, func(ctx context.Context) (*corank.SetResult, error) {
		return o.client.CombineSets(ctx, operation, left, right, options...)
	}, func() *corank.SetResult { return o.chain.CombineSets(operation, left, right, options...) })
	if err != nil {
		return nil, err
	}
	return named("keys", combined.Keys, "values", combined.Values), nil
}

func (o *operators) join(given *arguments, options []corank.Option) (map[string]any, error) {
	sides, err := o.inputs(list{given.Left, given.Right})
	if err != nil {
		return nil, err
	}
	left, right := sides[0], sides[1]
	kind := corank.JoinKind(corankpb.JoinKind_value["JOIN_KIND_"+strings.ToUpper(given.Kind)])
	if given.CountOnly {
		count, err := either(o, func(ctx context.Context) (*corank.Array, error) {
			return o.client.CountJoin(ctx, kind, left, right, options...)
		}, func() *corank.Array { return o.chain.CountJoin(kind, left, right, options...) })
		return named("count", count), err
	}
	found, err := either(o, func(ctx context.Context) (*corank.JoinResult, error) {
		return o.client.Join(ctx, kind, left, right, options...)
	}, func() *corank.JoinResult { return o.chain.Join(kind, left, right, options...) })
	if err != nil {
		return nil, err
	}
	return named("left_rows", found.LeftRows, "right_rows", found.RightRows), nil
}

// intervals calls the operators whose arguments are single arrays.
func (o *operators) intervals(operator string, given *arguments, options []corank.Option) (map[string]any, error) {
	var all [8]*corank.Array
	wanted := []*array{given.Counts, given.Source, given.SourceOffsets, given.DestinationOffsets, given.Destination,
		given.Haystack, given.Needles}
	if len(given.Values) > 0 {
		wanted = append(wanted, given.Values[0])
	}
	for i, each := range wanted {
		var err error
		if all[i], err = o.input(each); err != nil {
			return nil, err
		}
	}
	counts, source, from, to, destination, haystack, needles := all[0], all[1], all[2], all[3], all[4], all[5], all[6]
	if given.DestinationCount != nil {
		destination = corank.Zeros(*given.DestinationCount)
	}
	var found *corank.Array
	var err error
	name, client, chain := "result", o.client, o.chain
	switch operator {
	case "expand":
		name = "values"
		found, err = either(o, func(ctx context.Context) (*corank.Array, error) {
			return client.Expand(ctx, all[7], counts, options...)
		}, func() *corank.Array { return chain.Expand(all[7], counts, options...) })
	case "gather":
		found, err = either(o, func(ctx context.Context) (*corank.Array, error) {
			return client.Gather(ctx, source, from, counts, options...)
		}, func() *corank.Array { return chain.Gather(source, from, counts, options...) })
	case "move":
		found, err = either(o, func(ctx context.Context) (*corank.Array, error) {
			return client.Move(ctx, source, from, to, counts, destination, options...)
		}, func() *corank.Array { return chain.Move(source, from, to, counts, destination, options...) })
	case "scatter":
		found, err = either(o, func(ctx context.Context) (*corank.Array, error) {
			return client.Scatter(ctx, source, to, counts, destination, options...)
		}, func() *corank.Array { return chain.Scatter(source, to, counts, destination, options...) })
	case "search":
		name = "positions"
		found, err = either(o, func(ctx context.Context) (*corank.Array, error) {
			return client.Search(ctx, haystack, needles, options...)
		}, func() *corank.Array { return chain.Search(haystack, needles, options...) })
	case "load_balance":
		both, err := either(o, func(ctx context.Context) (*corank.LoadBalanceResult, error) {
			return client.LoadBalance(ctx, counts, options...)
		}, func() *corank.LoadBalanceResult { return chain.LoadBalance(counts, options...) })
		if err != nil {
			return nil, err
		}
		return named("objects", both.Objects, "ranks", both.Ranks), nil
	default:
		fmt.Fprintf(os.Stderr, "conformance: no operator %q\n", operator)
		os.Exit(2)
	}
	return named(name, found), err
}

// told is the results as an answer holds them.
func (a *asked) told(found map[string]any) object {
	made := object{}
	for name, value := range found {
		columns, isColumns := value.([]corank.Column)
		if !isColumns {
			made[name] = a.result(name, value.(*corank.Array))
			continue
		}
		if len(columns) == 0 {
			continue
		}
		all := []any{}
		for _, column := range columns {
			one := object{"data": a.result("", column.Data)}
			if column.Offsets != nil {
				one["offsets"] = a.result("", column.Offsets)
			}
			if column.Validity != nil {
				one["validity"] = a.result("", column.Validity)
			}
			all = append(all, one)
		}
		made[name] = all
	}
	return made
}

func (a *asked) refuse() error {
	for _, option := range a.lacks {
		return unsupported(option)
	}
	return nil
}

func (a *asked) operator(given *command) (object, error) {
	if err := a.refuse(); err != nil {
		return nil, err
	}
	o := &operators{asked: a, client: a.client}
	found, err := o.run(given.Operator, given.Arguments, given.Keep)
	if err != nil {
		return nil, err
	}
	ok := object{"results": a.told(found), "stats": object{"request_id": a.stats.RequestID, "engine": a.stats.Engine,
		"algorithm": a.stats.Algorithm}}
	if a.reports {
		ok["progress"] = object{"sent": a.progress.Sent, "received": a.progress.Received}
	}
	return ok, nil
}

func (a *asked) chain(given *command) (object, error) {
	if err := a.refuse(); err != nil {
		return nil, err
	}
	o := &operators{asked: a, chain: a.client.Chain(a.options...)}
	for _, each := range given.Operations {
		found, err := o.run(each.Operator, each.Arguments, each.Keep)
		if err != nil {
			return nil, err
		}
		o.made = append(o.made, found)
	}
	if err := o.chain.Run(a.ctx); err != nil {
		return nil, err
	}
	taken := map[any]bool{}
	for _, each := range given.Operations {
		for _, argument := range each.Arguments.all() {
			if argument != nil && argument.Result != "" {
				taken[o.made[argument.Of][argument.Result]] = true
			}
		}
	}
	all := []any{}
	for _, found := range o.made {
		for name, value := range found {
			if _, isArray := value.(*corank.Array); isArray && taken[value] {
				delete(found, name)
			}
		}
		all = append(all, a.told(found))
	}
	return object{"operations": all}, nil
}

func (g *arguments) all() []*array {
	made := append([]*array{g.Segments, g.Runs, g.Counts, g.Source, g.SourceOffsets, g.DestinationOffsets, g.Destination,
		g.Haystack, g.Needles, g.Left, g.Right, g.LeftValues, g.RightValues, g.Elements, g.Flags, g.Bitmap, g.Positions,
		g.Threshold}, g.Keys...)
	for _, column := range g.Columns {
		made = append(made, column.Data, column.Offsets, column.Validity)
	}
	return append(made, g.Values...)
}

func (a *asked) store(given *command) (object, error) {
	options := a.options
	if given.Expires != nil {
		options = append(options, corank.Expiry(time.Duration(*given.Expires*float64(time.Second))))
	}
	found, err := a.client.Store(a.ctx, given.Name, given.Array.local(), options...)
	if err != nil {
		return nil, err
	}
	return a.result("", found), nil
}
