package corank

import (
	"errors"
	"fmt"
	"math"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Messages of the generated types copy the bytes of arrays when they are made and again when they are serialised. So
// the codec sends messages that are lists of pieces, of which some are the caller's arrays, and reads the bytes of
// arrays from gRPC's buffers to where they belong: one copy each way, gRPC's own aside.

// pieces is a serialised message.
type pieces [][]byte

// decoder reads a message of its own accord.
type decoder interface{ decode(from cursor) error }

type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(message any) (mem.BufferSlice, error) {
	switch message := message.(type) {
	case pieces:
		made := make(mem.BufferSlice, 0, len(message))
		for _, piece := range message {
			if len(piece) > 0 {
				made = append(made, mem.SliceBuffer(piece))
			}
		}
		return made, nil
	case proto.Message:
		data, err := proto.Marshal(message)
		return mem.BufferSlice{mem.SliceBuffer(data)}, err
	}
	return nil, fmt.Errorf("corank: no message: %T", message)
}

func (codec) Unmarshal(data mem.BufferSlice, message any) error {
	switch message := message.(type) {
	case decoder:
		return message.decode(newCursor(data))
	case proto.Message:
		whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer whole.Free()
		return proto.Unmarshal(whole.ReadOnlyData(), message)
	}
	return fmt.Errorf("corank: no message: %T", message)
}

// Writing.

// part is a field of a message that holds an array, or that holds messages which do.
type part struct {
	field protowire.Number
	head  []byte // the message but for what follows
	data  []byte // of an array: its bytes, unless hasData is false
	inner []part

	hasData bool
}

var (
	arrayFields    = (&corankpb.Array{}).ProtoReflect().Descriptor().Fields()
	arrayType      = arrayFields.ByName("type").Number()
	arrayCount     = arrayFields.ByName("count").Number()
	arrayRecord    = arrayFields.ByName("record_bytes").Number()
	inlineData     = arrayFields.ByName("inline_data").Number()
	chunkFields    = (&corankpb.ArrayChunk{}).ProtoReflect().Descriptor().Fields()
	chunkStream    = chunkFields.ByName("stream_id").Number()
	chunkFirst     = chunkFields.ByName("first_element").Number()
	chunkData      = chunkFields.ByName("data").Number()
	planField      = (&corankpb.ExecuteRequest{}).ProtoReflect().Descriptor().Fields().ByName("plan").Number()
	chunkField     = (&corankpb.ExecuteRequest{}).ProtoReflect().Descriptor().Fields().ByName("chunk").Number()
	planOperations = (&corankpb.Plan{}).ProtoReflect().Descriptor().Fields().ByName("operations").Number()
	headerField    = (&corankpb.StoreArrayRequest{}).ProtoReflect().Descriptor().Fields().ByName("header").Number()
	replyFields    = (&corankpb.ExecuteResponse{}).ProtoReflect().Descriptor().Fields()
	replyChunk     = replyFields.ByName("chunk").Number()
	replyResult    = replyFields.ByName("result").Number()
	fetchFields    = (&corankpb.FetchArrayResponse{}).ProtoReflect().Descriptor().Fields()
	fetchedArray   = fetchFields.ByName("array").Number()
	fetchedChunk   = fetchFields.ByName("chunk").Number()
)

// size is the number of bytes of the part as a field.
func (p *part) size() int { return protowire.SizeTag(p.field) + protowire.SizeBytes(p.innerSize()) }

func (p *part) innerSize() int {
	size := len(p.head)
	for i := range p.inner {
		size += p.inner[i].size()
	}
	if p.hasData {
		size += protowire.SizeTag(inlineData) + protowire.SizeBytes(len(p.data))
	}
	return size
}

// append serialises the part after the last piece, and gives large data a piece of its own.
func (p *part) append(to pieces) pieces {
	last := len(to) - 1
	to[last] = append(appendHead(to[last], p.field, p.innerSize()), p.head...)
	for i := range p.inner {
		to = p.inner[i].append(to)
	}
	if !p.hasData {
		return to
	}
	last = len(to) - 1
	to[last] = appendHead(to[last], inlineData, len(p.data))
	if len(p.data) <= joinedBytes {
		to[last] = append(to[last], p.data...)
		return to
	}
	return append(to, p.data, nil)
}

const joinedBytes = 1 << 10 // a piece of its own costs more than a copy of so many

// encode serialises a message with parts as further fields; parts of a repeated field stay in order.
func encode(head []byte, parts []part) pieces {
	to := append(make(pieces, 0, 1+2*len(parts)), append(make([]byte, 0, len(head)+64), head...))
	for i := range parts {
		to = parts[i].append(to)
	}
	return to
}

// nested makes a message the field of another one.
func nested(field protowire.Number, inner pieces) pieces {
	return append(pieces{appendHead(nil, field, inner.size())}, inner...)
}

func appendHead(to []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.BytesType), uint64(size))
}

func (p pieces) size() int {
	size := 0
	for _, piece := range p {
		size += len(piece)
	}
	return size
}

// encodeChunk is an ExecuteRequest or a StoreArrayRequest with a piece of an array.
func encodeChunk(stream uint32, first int64, data []byte) pieces {
	inner := protowire.AppendVarint(protowire.AppendTag(nil, chunkStream, protowire.VarintType), uint64(stream))
	inner = protowire.AppendVarint(protowire.AppendTag(inner, chunkFirst, protowire.VarintType), uint64(first))
	inner = appendHead(inner, chunkData, len(data))
	head := appendHead(make([]byte, 0, 48), chunkField, len(inner)+len(data))
	return pieces{append(head, inner...), data}
}

// Reading.

var errTruncated = errors.New("the message ends inside a field")

// cursor reads a message from gRPC's buffers. A copy reads on from the same place.
type cursor struct {
	data  mem.BufferSlice
	piece []byte
	left  int // bytes of the message
}

func newCursor(data mem.BufferSlice) cursor { return cursor{data: data, left: data.Len()} }

func (c *cursor) fill() bool {
	for len(c.piece) == 0 {
		if len(c.data) == 0 {
			return false
		}
		c.piece, c.data = c.data[0].ReadOnlyData(), c.data[1:]
	}
	return true
}

func (c *cursor) varint() (uint64, error) {
	var value uint64
	for shift := 0; shift < 64; shift += 7 {
		if c.left == 0 || !c.fill() {
			return 0, errTruncated
		}
		next := c.piece[0]
		c.piece, c.left = c.piece[1:], c.left-1
		value |= uint64(next&0x7f) << shift
		if next < 0x80 {
			return value, nil
		}
	}
	return 0, errors.New("a number has too many bytes")
}

// field reads the tag of the next field and, of one with a length, that length.
func (c *cursor) field() (number protowire.Number, kind protowire.Type, size int, err error) {
	tag, err := c.varint()
	if err != nil {
		return 0, 0, 0, err
	}
	if tag>>3 == 0 || tag>>3 > math.MaxInt32 {
		return 0, 0, 0, errors.New("a field has no number")
	}
	number, kind = protowire.Number(tag>>3), protowire.Type(tag&7)
	if kind == protowire.BytesType {
		long, err := c.varint()
		if err != nil {
			return 0, 0, 0, err
		}
		if long > uint64(c.left) {
			return 0, 0, 0, errTruncated
		}
		size = int(long)
	}
	return number, kind, size, nil
}

// within is a cursor of the next bytes alone, which this one passes.
func (c *cursor) within(size int) cursor {
	inner := *c
	inner.left = size
	c.skip(size)
	return inner
}

func (c *cursor) skip(size int) {
	c.left -= size
	for size > 0 && c.fill() {
		taken := min(size, len(c.piece))
		c.piece, size = c.piece[taken:], size-taken
	}
}

// read fills a buffer with the next bytes, of which there must be as many.
func (c *cursor) read(to []byte) {
	c.left -= len(to)
	for len(to) > 0 && c.fill() {
		taken := copy(to, c.piece)
		c.piece, to = c.piece[taken:], to[taken:]
	}
}

// appendField copies a field whose tag was read.
func (c *cursor) appendField(to []byte, number protowire.Number, kind protowire.Type, size int) ([]byte, error) {
	to = protowire.AppendTag(to, number, kind)
	switch kind {
	case protowire.VarintType:
		value, err := c.varint()
		return protowire.AppendVarint(to, value), err
	case protowire.BytesType:
		to = protowire.AppendVarint(to, uint64(size))
	case protowire.Fixed32Type:
		size = 4
	case protowire.Fixed64Type:
		size = 8
	default:
		return nil, fmt.Errorf("a field has the unknown type %d", kind)
	}
	if size > c.left {
		return nil, errTruncated
	}
	begin := len(to)
	to = append(to, make([]byte, size)...)
	c.read(to[begin:])
	return to, nil
}

// answer is a response: the message without its arrays, and the arrays by the names of their fields, such as "keys" or
// "key_columns[0].data".
type answer struct {
	message proto.Message
	arrays  []incoming
	into    func(name string, size int) []byte // where the bytes of an array go
}

// incoming is an array of a response.
type incoming struct {
	name        string
	kind        ElementType
	count       int64 // -1: the message does not say
	recordBytes int
	data        []byte
}

func (a *answer) find(name string) *incoming {
	for i := range a.arrays {
		if a.arrays[i].name == name {
			return &a.arrays[i]
		}
	}
	return nil
}

// inlineBytesOf counts the bytes of arrays that came in the responses.
func inlineBytesOf(answers []*answer) (total int64) {
	for _, answer := range answers {
		for i := range answer.arrays {
			total += int64(len(answer.arrays[i].data))
		}
	}
	return total
}

func (a *answer) decode(from cursor) error {
	a.arrays = a.arrays[:0]
	rest, err := a.fields(from, a.message.ProtoReflect().Descriptor(), "")
	if err != nil {
		return err
	}
	return proto.Unmarshal(rest, a.message)
}

// The messages of the contract that are arrays, and those that hold arrays.
var (
	arrayMessage = (&corankpb.Array{}).ProtoReflect().Descriptor()
	arrayHolders = holders(corankpb.File_corank_v1_operators_proto.Messages())
)

func holders(messages protoreflect.MessageDescriptors) map[protoreflect.MessageDescriptor]bool {
	made := map[protoreflect.MessageDescriptor]bool{}
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for k := range fields.Len() {
			if fields.Get(k).Message() == arrayMessage {
				made[messages.Get(i)] = true
			}
		}
	}
	return made
}

// fields takes the arrays out of a message and returns the bytes of all other fields.
func (a *answer) fields(from cursor, message protoreflect.MessageDescriptor, path string) ([]byte, error) {
	var rest []byte
	var seen map[protowire.Number]int
	for from.left > 0 {
		number, kind, size, err := from.field()
		if err != nil {
			return nil, err
		}
		var inner protoreflect.MessageDescriptor
		known := message.Fields().ByNumber(number)
		if known != nil && kind == protowire.BytesType {
			inner = known.Message()
		}
		switch {
		case inner != nil && inner == arrayMessage:
			if err := a.array(from.within(size), path+string(known.Name())); err != nil {
				return nil, err
			}
		case inner != nil && arrayHolders[inner]:
			name := fmt.Sprintf("%s%s[%d].", path, known.Name(), seen[number])
			if seen == nil {
				seen = map[protowire.Number]int{}
			}
			seen[number]++
			left, err := a.fields(from.within(size), inner, name)
			if err != nil {
				return nil, err
			}
			rest = append(appendHead(rest, number, len(left)), left...)
		default:
			if rest, err = from.appendField(rest, number, kind, size); err != nil {
				return nil, err
			}
		}
	}
	return rest, nil
}

func (a *answer) array(from cursor, name string) error {
	found := incoming{name: name, count: -1}
	for from.left > 0 {
		number, kind, size, err := from.field()
		if err != nil {
			return err
		}
		switch {
		case number == inlineData && kind == protowire.BytesType:
			found.data = a.into(name, size)
			from.read(found.data)
		case kind == protowire.VarintType:
			value, err := from.varint()
			if err != nil {
				return err
			}
			switch number {
			case arrayType:
				found.kind = ElementType(value)
			case arrayCount:
				found.count = int64(value)
				if found.count < 0 {
					return errors.New("an array has less than no elements")
				}
			case arrayRecord:
				found.recordBytes = int(uint32(value))
			}
		default:
			if err := from.pass(kind, size); err != nil {
				return err
			}
		}
	}
	a.arrays = append(a.arrays, found)
	return nil
}

// pass skips a field whose tag was read.
func (c *cursor) pass(kind protowire.Type, size int) error {
	_, err := c.appendField(nil, 1, kind, size)
	return err
}

// readChunk reads an ArrayChunk; data is the cursor of its bytes.
func readChunk(from cursor) (stream uint32, first int64, data cursor, err error) {
	for from.left > 0 {
		number, kind, size, err := from.field()
		if err != nil {
			return 0, 0, data, err
		}
		switch {
		case number == chunkData && kind == protowire.BytesType:
			data = from.within(size)
		case kind == protowire.VarintType:
			value, err := from.varint()
			if err != nil {
				return 0, 0, data, err
			}
			switch number {
			case chunkStream:
				stream = uint32(value)
			case chunkFirst:
				first = int64(value)
			}
		default:
			if err := from.pass(kind, size); err != nil {
				return 0, 0, data, err
			}
		}
	}
	return stream, first, data, nil
}
