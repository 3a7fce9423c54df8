package corank

import (
	"context"
	"fmt"
)

const maxOperations = 16

// Chain is several operators that run one after the other on the server, in one call. Its methods are those of Client,
// and return results that Run fills in. A result that a later operator takes stays on the server, which forgets it when
// the call ends. Use a Chain from one goroutine, once.
type Chain struct {
	client *Client
	call   *call
	tasks  []*task
	done   bool
	err    error
}

// Chain begins a chain. The options are those of the whole call; Keep belongs to its operators.
func (c *Client) Chain(options ...Option) *Chain {
	call, err := c.options(options)
	if err == nil && (call.keep != nil || call.into != nil) {
		err = invalid("keep", "keep, into: are options of the operators of a chain")
	}
	return &Chain{client: c, call: call, err: err}
}

// link adds an operator. Its error is that of Run.
func link[R any](chain *Chain, made operator[R], options []Option) *R {
	fail := func(err error) *R {
		if chain.err == nil {
			chain.err = blame(fmt.Sprintf("plan.operations[%d]", len(chain.tasks)), err)
		}
		return new(R)
	}
	if chain.done {
		return fail(invalid("", "the chain has run; make another one"))
	}
	if len(chain.tasks) == maxOperations {
		return fail(invalid("", "a chain has at most %d operators", maxOperations))
	}
	call, err := chain.client.options(options, made.arguments()...)
	if err != nil {
		return fail(err)
	}
	task, result, err := made.build(call)
	if err != nil {
		return fail(err)
	}
	task.own = call
	for i, output := range task.outputs {
		output.array.chain, output.array.link = chain, fmt.Sprintf("t%d.%d", len(chain.tasks), i)
	}
	chain.tasks = append(chain.tasks, task)
	return result
}

// Run does the operators. It returns the first error, also of the methods before.
func (chain *Chain) Run(ctx context.Context) error {
	if chain.err != nil {
		return chain.err
	}
	if chain.done {
		return invalid("", "the chain has run; make another one")
	}
	chain.done = true
	if len(chain.tasks) == 0 {
		return nil
	}
	for _, task := range chain.tasks {
		for _, leaf := range task.leaves() {
			if leaf.array != nil && leaf.array.chain == chain {
				leaf.array.name = leaf.array.link
			}
		}
	}
	for i, task := range chain.tasks {
		for _, output := range task.outputs {
			if output.array.name != "" && (task.own.keep != nil || task.own.into != nil) {
				return invalid(fmt.Sprintf("plan.operations[%d]", i), "plan.operations[%d]: a later operator takes a result of "+
					"%s, which Keep or Into sends elsewhere", i, task.method)
			}
		}
	}
	return chain.client.perform(ctx, chain.call, chain.tasks, chain)
}

// Sort is Client.Sort as an operator of the chain.
func (chain *Chain) Sort(keys *Array, options ...Option) *SortResult {
	return link(chain, sorting(keys, nil, false, sortedKeys), options)
}

// Argsort is Client.Argsort as an operator of the chain.
func (chain *Chain) Argsort(keys *Array, options ...Option) *Array {
	return link(chain, sorting(keys, nil, false, onlyIndices), options).Indices
}

// SortColumns is Client.SortColumns as an operator of the chain.
func (chain *Chain) SortColumns(columns []Column, options ...Option) *SortResult {
	return link(chain, sorting(nil, columns, true, sortedKeys), options)
}

// ArgsortColumns is Client.ArgsortColumns as an operator of the chain.
func (chain *Chain) ArgsortColumns(columns []Column, options ...Option) *Array {
	return link(chain, sorting(nil, columns, true, onlyIndices), options).Indices
}

// RankColumns is Client.RankColumns as an operator of the chain.
func (chain *Chain) RankColumns(columns []Column, options ...Option) *Array {
	return link(chain, sorting(nil, columns, true, onlyRanks), options).ranks
}

// Merge is Client.Merge as an operator of the chain.
func (chain *Chain) Merge(keys []*Array, options ...Option) *MergeResult {
	return link(chain, merging(keys), options)
}

// Search is Client.Search as an operator of the chain.
func (chain *Chain) Search(haystack, needles *Array, options ...Option) *Array {
	return link(chain, searching(haystack, needles), options)
}

// SearchColumns is Client.SearchColumns as an operator of the chain.
func (chain *Chain) SearchColumns(haystack, needles []Column, options ...Option) *Array {
	return link(chain, searchingColumns(haystack, needles), options)
}

// Expand is Client.Expand as an operator of the chain.
func (chain *Chain) Expand(values, counts *Array, options ...Option) *Array {
	return link(chain, expanding(values, counts), options)
}

// Gather is Client.Gather as an operator of the chain.
func (chain *Chain) Gather(source, offsets, counts *Array, options ...Option) *Array {
	return link(chain, gathering(source, offsets, counts), options)
}

// Move is Client.Move as an operator of the chain.
func (chain *Chain) Move(source, sourceOffsets, destinationOffsets, counts, destination *Array,
	options ...Option) *Array {
	return link(chain, moving(source, sourceOffsets, destinationOffsets, counts, destination), options)
}

// Scatter is Client.Scatter as an operator of the chain.
func (chain *Chain) Scatter(source, offsets, counts, destination *Array, options ...Option) *Array {
	return link(chain, scattering(source, offsets, counts, destination), options)
}

// Group is Client.Group as an operator of the chain. Only the answer tells the length of its results.
func (chain *Chain) Group(keys *Array, options ...Option) *GroupResult {
	return link(chain, grouping(keys), options)
}

// CombineSets is Client.CombineSets as an operator of the chain. Only the answer tells the length of its results.
func (chain *Chain) CombineSets(operation SetOperation, left, right *Array, options ...Option) *SetResult {
	return link(chain, combining(operation, left, right), options)
}

// CountSets is Client.CountSets as an operator of the chain.
func (chain *Chain) CountSets(operation SetOperation, left, right *Array, options ...Option) *Array {
	return link(chain, counting(operation, left, right), options)
}

// Join is Client.Join as an operator of the chain. Only the answer tells the length of its results. If the join has more
// rows than MaxRows, or than both sides have together, the chain fails: it does not run a second time by itself.
func (chain *Chain) Join(kind JoinKind, left, right *Array, options ...Option) *JoinResult {
	return link(chain, joining(kind, left, right), options)
}

// CountJoin is Client.CountJoin as an operator of the chain.
func (chain *Chain) CountJoin(kind JoinKind, left, right *Array, options ...Option) *Array {
	return link(chain, countingJoin(kind, left, right), options)
}

// Select is Client.Select as an operator of the chain. Only the answer tells the length of its results.
func (chain *Chain) Select(elements *Array, by Selection, options ...Option) *SelectResult {
	return link(chain, selecting(elements, by, false), options)
}

// Argselect is Client.Argselect as an operator of the chain. Only the answer tells the length of its result.
func (chain *Chain) Argselect(elements *Array, by Selection, options ...Option) *Array {
	return link(chain, argselecting(elements, by), options)
}

// Partition is Client.Partition as an operator of the chain.
func (chain *Chain) Partition(elements *Array, by Selection, options ...Option) *SelectResult {
	return link(chain, selecting(elements, by, true), options)
}

// Remove is Client.Remove as an operator of the chain. Only the answer tells the length of its results.
func (chain *Chain) Remove(elements, positions *Array, options ...Option) *SelectResult {
	return link(chain, removing(elements, positions), options)
}

// Insert is Client.Insert as an operator of the chain. Its arrays must be in this process.
func (chain *Chain) Insert(elements, positions, inserted *Array, options ...Option) *Array {
	return link(chain, inserting(elements, positions, inserted), options)
}

// Rank is Client.Rank as an operator of the chain.
func (chain *Chain) Rank(keys *Array, method RankMethod, options ...Option) *Array {
	return link(chain, ranking(keys, method), options)
}

// LoadBalance is Client.LoadBalance as an operator of the chain.
func (chain *Chain) LoadBalance(counts *Array, options ...Option) *LoadBalanceResult {
	return link(chain, balancing(counts), options)
}
