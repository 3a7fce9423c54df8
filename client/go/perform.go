package corank

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	smallBytes   = 64 << 10 // arrays of no more travel in messages
	inlineBytes  = 64 << 20 // arrays of a call that take more travel in chunks
	messageSlack = 64 << 10 // bytes of a message beside its arrays
	maxStreams   = 1024
)

// task is a call of one operator: what goes in and what comes out.
type task struct {
	method   string
	operator protowire.Number // in Operation and OperationResult
	request  proto.Message    // without its arrays
	response operatorResponse
	inputs   []*leaf
	columns  []columnInput
	outputs  []*output
	own      *call // the options of an operator of a chain
}

type operatorResponse interface {
	proto.Message
	GetStats() *corankpb.RequestStats
}

// leaf is one array of a request.
type leaf struct {
	name     string
	field    protowire.Number
	array    *Array
	streamed bool
	stream   uint32
}

type columnInput struct {
	field                   protowire.Number
	message                 *corankpb.KeyColumn
	data, offsets, validity *leaf // the latter two may be nil
}

// output is one result.
type output struct {
	name  string // its field in the response
	array *Array // what the caller gets
	most  int64  // elements at most; -1: not known
	send  func(*corankpb.Destination)

	sink  *sink  // of a streamed result
	into  []byte // memory of the caller for the result
	spare []byte // read in its place, because an input lies there
}

func (t *task) leaves() []*leaf {
	if t.columns == nil {
		return t.inputs
	}
	all := slices.Clone(t.inputs)
	for _, column := range t.columns {
		all = append(all, column.data)
		if column.offsets != nil {
			all = append(all, column.offsets)
		}
		if column.validity != nil {
			all = append(all, column.validity)
		}
	}
	return all
}

func (o *output) isLarge() bool { return o.most < 0 || o.mostBytes() > smallBytes }

func (o *output) mostBytes() int64 { return max(o.most, 0) * int64(o.array.width) }

// perform does the operators of tasks in one call, and fills in their results.
func (c *Client) perform(ctx context.Context, call *call, tasks []*task, chain *Chain) (err error) {
	began := time.Now()
	operator := tasks[0].method
	if len(tasks) > 1 {
		operator = "Execute"
	}
	defer func() {
		var own *Error
		if errors.As(err, &own) && own.Operator == "" {
			own.Operator = operator
		}
	}()
	if c.isClosed() {
		return closed()
	}
	var send, receive, certain int64 // bytes of inputs, the most of results, and those of results of a known length
	known := true
	for _, task := range tasks {
		for _, leaf := range task.leaves() {
			switch {
			case leaf.array == nil:
				return invalid(leaf.name, "%s: is missing", leaf.name)
			case leaf.array.err != nil:
				return blame(leaf.name, leaf.array.err)
			case leaf.array.chain != chain && leaf.array.chain != nil:
				return invalid(leaf.name, "%s: is a result of a chain, which this call cannot read", leaf.name)
			case leaf.array.initial:
				return invalid(leaf.name, "%s: Zeros is a destination of Move and Scatter, no input", leaf.name)
			case leaf.array.isRemote():
			default:
				send += leaf.array.bytes()
			}
		}
		if err := task.prepare(call); err != nil {
			return err
		}
		for _, output := range task.outputs {
			if output.array.name == "" {
				known = known && output.most >= 0
				receive += output.mostBytes()
				certain += output.array.bytes()
			}
		}
	}
	if certain > mostBytes() {
		return &Error{Code: codes.ResourceExhausted, Message: "the result has more bytes than the memory of this machine"}
	}
	ctx, cancel := call.limited(ctx, max(send, receive))
	defer cancel()
	streams, err := c.useStreams(ctx, call, send, receive, known, chain != nil)
	if err != nil {
		return err
	}
	job := &job{client: c, call: call, operator: operator}
	for _, task := range tasks {
		job.place(task, streams)
	}
	may := always
	for _, task := range tasks {
		for _, output := range task.outputs {
			if output.array.name != "" && output.array.chain == nil {
				may = unlessLost
			}
		}
	}
	var answers []*answer
	if chain != nil || len(job.sources)+len(job.sinks) > 0 {
		answers, err = job.execute(ctx, tasks, may)
	} else {
		answers, err = job.unary(ctx, tasks[0], may)
		received := inlineBytesOf(answers)
		job.progress = progress{report: call.progress, now: Progress{send, send, received, received}}
	}
	if err != nil {
		var own *Error
		if errors.As(err, &own) && own.failure != final {
			c.forgetServer()
		}
		return err
	}
	job.progress.end()
	for i, task := range tasks {
		if err := task.finish(answers[i]); err != nil {
			return err
		}
		if call.stats != nil {
			call.stats(job.stats(task, answers[i], time.Since(began)))
		}
	}
	return nil
}

// prepare tells the request what the options say, and gives results the places that the caller names.
func (t *task) prepare(call *call) error {
	if call.priority != 0 || call.requestID != "" {
		field := t.request.ProtoReflect().Descriptor().Fields().ByName("options")
		options := &corankpb.RequestOptions{Priority: call.priority, RequestId: call.requestID}
		t.request.ProtoReflect().Set(field, protoreflect.ValueOfMessage(options.ProtoReflect()))
	}
	if t.own != nil {
		call = t.own
	}
	if call.keep != nil {
		if len(call.keep) != len(t.outputs) {
			return invalid("keep", "keep: %d names for the %d results of %s", len(call.keep), len(t.outputs), t.method)
		}
		for i, output := range t.outputs {
			if slices.Contains(call.keep[:i], call.keep[i]) {
				return invalid("keep", "keep: the name %q is there twice; each result needs its own", call.keep[i])
			}
			if call.keep[i] == "" {
				return invalid("keep", "keep: a name is empty")
			}
			output.array.name, output.array.sharded, output.array.chain = call.keep[i], call.sharded, nil
		}
	}
	if call.sharded && call.keep == nil {
		return invalid("sharded", "sharded: is for results that the server keeps; name them with Keep")
	}
	if call.into == nil {
		return nil
	}
	if len(call.into) != len(t.outputs) {
		return invalid("into", "into: %d arrays for the %d results of %s", len(call.into), len(t.outputs), t.method)
	}
	for i, output := range t.outputs {
		target := call.into[i]
		if err := target.here(); err != nil {
			return blame("into", err)
		}
		if target.kind != output.array.kind || target.width != output.array.width ||
			(output.array.count >= 0 && target.count != output.array.count) {
			return invalid("into", "into: result %d of %s is %v, the array is %v", i, t.method, output.array, target)
		}
		for _, before := range call.into[:i] {
			if overlap(before.data, target.data) {
				return invalid("into", "into: two results overlap; give each an array of its own")
			}
		}
		output.into = target.data
		for _, leaf := range t.leaves() {
			if overlap(leaf.array.data, target.data) { // a retry reads it again
				output.spare = aligned(int64(len(target.data)))
			}
		}
	}
	return nil
}

// useStreams decides whether large arrays travel in chunks.
func (c *Client) useStreams(ctx context.Context, call *call, send, receive int64, known, execute bool) (bool, error) {
	if call.place != "" {
		return call.place == Stream, nil
	}
	if execute {
		return true, nil
	}
	if max(send, receive) <= smallBytes && known {
		return false, nil
	}
	info, err := c.server(ctx, call)
	if err != nil {
		return false, err
	}
	most := func(limit int64) int64 {
		if limit <= 0 {
			limit = inlineBytes
		}
		return min(min(limit, int64(c.maxMessage))-messageSlack, inlineBytes)
	}
	fits := send <= most(info.Limits.GetMaxRequestBytes()) && receive <= most(info.Limits.GetMaxResponseBytes())
	return !fits && slices.Contains(info.Places, "stream"), nil
}

// inPieces holds the inputs that the server takes in pieces if all of them, and all results, are streams.
var inPieces = map[string][]string{"Sort": {"keys", "values"}, "Merge": {"keys", "values"}}

// place gives every array of a task its place.
func (j *job) place(t *task, streams bool) {
	if streams {
		j.stream(t)
	}
	for _, output := range t.outputs {
		switch {
		case output.array.name != "":
			output.send(&corankpb.Destination{Place: &corankpb.Destination_Stored{Stored: &corankpb.StoredPlace{
				Name: output.array.name, Temporary: output.array.chain != nil, Sharded: output.array.sharded}}})
		case streams && t.streamsOut(output):
			output.sink = &sink{width: output.array.width, count: output.array.count, data: output.target()}
			output.send(&corankpb.Destination{Place: &corankpb.Destination_Stream{Stream: &corankpb.StreamPlace{
				StreamId: uint32(len(j.sinks))}}})
			j.sinks = append(j.sinks, output.sink)
		}
	}
}

func (o *output) target() []byte {
	if o.spare != nil {
		return o.spare
	}
	return o.into
}

func (t *task) streamsOut(result *output) bool {
	if inPieces[t.method] == nil {
		return result.isLarge()
	}
	return slices.ContainsFunc(t.outputs, func(o *output) bool { return o.isLarge() })
}

// stream chooses the inputs to send in chunks: those that are large, and with them those that go with them.
func (j *job) stream(t *task) {
	together := inPieces[t.method]
	var own []*leaf
	isLarge := false
	for _, leaf := range t.leaves() {
		if !leaf.array.isRemote() {
			own = append(own, leaf)
			isLarge = isLarge || (leaf.array.bytes() > smallBytes && slices.Contains(together, base(leaf.name)))
		}
	}
	sort.SliceStable(own, func(a, b int) bool { return own[a].array.bytes() > own[b].array.bytes() })
	for _, leaf := range own {
		large := leaf.array.bytes() > smallBytes || (isLarge && slices.Contains(together, base(leaf.name)))
		if large && len(j.sources) < maxStreams {
			leaf.streamed, leaf.stream = true, uint32(len(j.sources))
			j.sources = append(j.sources, leaf)
		}
	}
}

// base is the field of a name such as "keys[3]".
func base(name string) string {
	field, _, _ := strings.Cut(name, "[")
	return field
}

// part is the array as a field of its request.
func (l *leaf) part() part {
	made := part{field: l.field}
	if !l.streamed && !l.array.isRemote() {
		made.data, made.hasData = l.array.data, true
		made.head = l.array.appendHeader(make([]byte, 0, 24))
		return made
	}
	header := l.array.header()
	switch {
	case l.array.isRemote():
		header.Place = &corankpb.Array_Stored{Stored: &corankpb.StoredPlace{
			Name: l.array.name, Temporary: l.array.chain != nil}}
	case l.streamed:
		header.Place = &corankpb.Array_Stream{Stream: &corankpb.StreamPlace{StreamId: l.stream}}
	}
	made.head, _ = proto.Marshal(header)
	return made
}

// encode serialises the request.
func (t *task) encode() (pieces, error) {
	head, err := proto.Marshal(t.request)
	if err != nil {
		return nil, invalid("", "%v", err)
	}
	parts := make([]part, 0, len(t.inputs)+len(t.columns))
	for _, leaf := range t.inputs {
		parts = append(parts, leaf.part())
	}
	for _, column := range t.columns {
		made := part{field: column.field, inner: []part{column.data.part()}}
		if column.offsets != nil {
			made.inner = append(made.inner, column.offsets.part())
		}
		if column.validity != nil {
			made.inner = append(made.inner, column.validity.part())
		}
		if made.head, err = proto.Marshal(column.message); err != nil {
			return nil, invalid("", "%v", err)
		}
		parts = append(parts, made)
	}
	return encode(head, parts), nil
}

// answer is the answer of a task, before it came.
func (t *task) answer() *answer {
	return &answer{message: t.response, into: func(name string, size int) []byte {
		for _, output := range t.outputs {
			if target := output.target(); output.name == name && target != nil && len(target) == size {
				return target
			}
		}
		return aligned(int64(size))
	}}
}

// unary makes the call of a task in one message each way.
func (j *job) unary(ctx context.Context, t *task, may repeat) ([]*answer, error) {
	request, err := t.encode()
	if err != nil {
		return nil, err
	}
	if request.size() > j.client.maxMessage {
		return nil, invalid("", "the request has %d bytes, more than WithMaxMessage allows, %d", request.size(),
			j.client.maxMessage)
	}
	found := t.answer()
	j.tries, j.id, err = j.client.unary(ctx, j.call, t.method, service+t.method, may, request, found)
	return []*answer{found}, err
}

const service = "/corank.v1.CorankService/"

// finish fills in the results.
func (t *task) finish(found *answer) error {
	for _, output := range t.outputs {
		if err := output.finish(found); err != nil {
			return err
		}
	}
	return nil
}

// otherWidth holds the types of positions, 4 and 8 bytes wide, of which the server chooses one.
var otherWidth = map[corankpb.ElementType]corankpb.ElementType{
	corankpb.ElementType_ELEMENT_TYPE_UINT32: corankpb.ElementType_ELEMENT_TYPE_UINT64,
	corankpb.ElementType_ELEMENT_TYPE_UINT64: corankpb.ElementType_ELEMENT_TYPE_UINT32,
	corankpb.ElementType_ELEMENT_TYPE_INT32:  corankpb.ElementType_ELEMENT_TYPE_INT64,
	corankpb.ElementType_ELEMENT_TYPE_INT64:  corankpb.ElementType_ELEMENT_TYPE_INT32,
}

func (o *output) finish(found *answer) error {
	result := o.array
	given := found.find(o.name)
	if given == nil {
		return internal("the server's answer lacks %s", o.name)
	}
	if result.position && otherWidth[given.kind] == result.kind {
		result.kind, result.width = given.kind, 12-result.width
	}
	if given.kind != result.kind ||
		(result.kind == corankpb.ElementType_ELEMENT_TYPE_RECORD && given.recordBytes != result.width) {
		return internal("the server answered %s of type %v, not %v", o.name, given.kind, result.kind)
	}
	count := int64(len(given.data) / result.width)
	if result.name != "" || o.sink != nil || given.count >= 0 {
		count = max(given.count, 0)
	}
	isInline := result.name == "" && o.sink == nil
	if (result.count >= 0 && count != result.count) || (o.most >= 0 && count > o.most) ||
		(isInline && count*int64(result.width) != int64(len(given.data))) {
		return internal("the server answered %d elements of %s, not %d", count, o.name, o.most)
	}
	if result.name != "" { // what the server keeps is now a handle; what it only passed on is gone
		result.taken = result.chain != nil
		result.chain, result.count = nil, count
		return nil
	}
	data := given.data
	if o.sink != nil {
		var err error
		if data, err = o.sink.result(count, result.width); err != nil {
			return err
		}
	}
	if o.into != nil {
		if len(o.into) != len(data) {
			return invalid("into", "into: has %d bytes, the result %s has %d", len(o.into), o.name, len(data))
		}
		if overlapping := len(data) > 0 && &o.into[0] != &data[0]; overlapping {
			copy(o.into, data)
		}
		data = o.into
	}
	if data == nil {
		data = aligned(0)
	}
	result.data, result.count, result.chain = data, count, nil
	return nil
}
