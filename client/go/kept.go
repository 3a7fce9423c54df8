package corank

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	releaseTime = time.Second // for which a request that was answered may still hold an array
	pageSize    = 1000
)

// StoredArrays holds the arrays that the server keeps for a caller.
type StoredArrays struct {
	Arrays                []*Array // handles, ordered by name
	UsedBytes, QuotaBytes int64    // bytes in use, and bytes that may be in use
}

// handle is the handle of an array that the server keeps.
func handle(found *corankpb.StoredArray) *Array {
	made := &Array{kind: found.GetType(), width: widthOf(found.GetType()), count: found.GetCount(), name: found.GetName(),
		sharded: found.GetShards() > 0}
	if made.kind == corankpb.ElementType_ELEMENT_TYPE_RECORD {
		made.width = int(found.GetRecordBytes())
	}
	return made
}

// widthOf is the bytes of an element that is no record.
func widthOf(kind ElementType) int {
	switch kind {
	case corankpb.ElementType_ELEMENT_TYPE_INT8, corankpb.ElementType_ELEMENT_TYPE_UINT8:
		return 1
	case corankpb.ElementType_ELEMENT_TYPE_INT16, corankpb.ElementType_ELEMENT_TYPE_UINT16,
		corankpb.ElementType_ELEMENT_TYPE_FLOAT16, corankpb.ElementType_ELEMENT_TYPE_BFLOAT16:
		return 2
	case corankpb.ElementType_ELEMENT_TYPE_INT32, corankpb.ElementType_ELEMENT_TYPE_UINT32,
		corankpb.ElementType_ELEMENT_TYPE_FLOAT32:
		return 4
	}
	return 8
}

// Store has the server keep an array under a name, 1 to 128 characters of [A-Za-z0-9._-], in place of one that it keeps
// under that name now. The result is a handle, which every operator takes in place of an array. Options: Expiry,
// Sharded.
func (c *Client) Store(ctx context.Context, name string, array *Array, options ...Option) (*Array, error) {
	call, err := c.options(options, "expiry", "sharded")
	if err != nil {
		return nil, err
	}
	if err := array.here(); err != nil {
		return nil, blame("array", err)
	}
	ctx, cancel := call.limited(ctx, array.bytes())
	defer cancel()
	header := array.header()
	header.Place = &corankpb.Array_Stream{Stream: &corankpb.StreamPlace{}}
	about := &corankpb.StoreArrayHeader{Name: name, Array: header, Sharded: call.sharded}
	if call.expiry != 0 {
		about.Expiry = durationpb.New((call.expiry + time.Second - 1).Truncate(time.Second))
	}
	head, err := proto.Marshal(about)
	if err != nil {
		return nil, invalid("name", "name: %v", err)
	}
	made := &job{client: c, call: call, operator: "StoreArray", chunk: chunkBytes}
	if info, err := c.server(ctx, call); err != nil {
		return nil, err
	} else if most := info.Limits.GetMaxChunkBytes(); most > 0 {
		made.chunk = min(most, chunkBytes)
	}
	made.sources = []*leaf{{array: array}}
	made.progress.report, made.progress.now.ToSend = call.progress, array.bytes()
	found := &corankpb.StoreArrayResponse{}
	_, err = c.retry(ctx, call, "StoreArray", unlessLost, func() error {
		made.progress.restart()
		return c.stream(ctx, call, "StoreArray", corankpb.MemoryService_StoreArray_FullMethodName,
			&grpc.StreamDesc{ClientStreams: true}, func(stream grpc.ClientStream) error {
				if stream.SendMsg(nested(headerField, pieces{head})) == nil && made.chunks(stream, 0, 1) {
					_ = stream.CloseSend()
				}
				return stream.RecvMsg(found)
			})
	})
	if err != nil {
		return nil, err
	}
	made.progress.end()
	return handle(found.Array), nil
}

// stream makes one try of a call of MemoryService that streams.
func (c *Client) stream(ctx context.Context, call *call, operator, method string, kind *grpc.StreamDesc,
	talk func(grpc.ClientStream) error) error {
	conn, err := c.conn()
	if err != nil {
		return err
	}
	inside, cancel := context.WithCancel(c.outgoing(ctx, call))
	defer cancel()
	stream, err := conn.NewStream(inside, kind, method)
	if err != nil {
		return c.fromRPC(ctx, operator, err, nil)
	}
	if err := talk(stream); err != nil {
		var trailer metadata.MD
		if _, known := stream.Header(); known == nil {
			trailer = stream.Trailer()
		}
		return c.fromRPC(ctx, operator, err, trailer)
	}
	return nil
}

// Fetch copies an array that the server keeps. Option: Into, with one array of its type and length.
func (c *Client) Fetch(ctx context.Context, name string, options ...Option) (*Array, error) {
	call, err := c.options(options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := call.limited(ctx, 0)
	defer cancel()
	var got *fetched
	progress := &progress{report: call.progress}
	_, err = c.retry(ctx, call, "FetchArray", always, func() error {
		progress.restart()
		got = &fetched{into: call.into, progress: progress}
		return c.stream(ctx, call, "FetchArray", corankpb.MemoryService_FetchArray_FullMethodName,
			&grpc.StreamDesc{ServerStreams: true}, func(stream grpc.ClientStream) error {
				err := stream.SendMsg(&corankpb.FetchArrayRequest{Name: name})
				if err == nil {
					err = stream.CloseSend()
				}
				for err == nil {
					err = stream.RecvMsg(got)
				}
				if errors.Is(err, io.EOF) {
					return got.refused
				}
				return err
			})
	})
	if err != nil {
		return nil, err
	}
	if got.array == nil {
		return nil, internal("FetchArray: the server did not say what it keeps")
	}
	data, err := got.sink.result(got.array.count, got.array.width)
	if err != nil {
		return nil, err
	}
	progress.end()
	got.array.name, got.array.sharded, got.array.data = "", false, data
	return got.array, nil
}

// fetched reads the messages of FetchArray.
type fetched struct {
	into     []*Array
	array    *Array
	sink     *sink
	progress *progress
	refused  error
}

func (f *fetched) decode(from cursor) error {
	for from.left > 0 {
		number, kind, size, err := from.field()
		if err != nil {
			return err
		}
		switch {
		case number == fetchedArray && kind == protowire.BytesType:
			about := make([]byte, size)
			from.read(about)
			if err := f.begin(about); err != nil {
				return err
			}
		case number == fetchedChunk && kind == protowire.BytesType:
			_, first, data, err := readChunk(from.within(size))
			if err != nil {
				return err
			}
			if f.sink == nil {
				return internal("the server sent a chunk before it said what it keeps")
			}
			if f.refused != nil {
				continue
			}
			if err := f.sink.write(first, data); err != nil {
				return err
			}
			f.progress.add(0, int64(data.left))
		default:
			if err := from.pass(kind, size); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fetched) begin(about []byte) error {
	found := &corankpb.StoredArray{}
	if err := proto.Unmarshal(about, found); err != nil {
		return err
	}
	f.array = handle(found)
	if f.array.count < 0 || f.array.width < 1 || f.array.count > mostBytes()/int64(f.array.width) {
		return internal("the server keeps %v, more than the memory of this machine holds", f.array)
	}
	f.sink = &sink{width: f.array.width, count: f.array.count}
	f.progress.now.ToReceive = f.array.bytes()
	if f.into != nil {
		if len(f.into) != 1 || f.into[0] == nil || f.into[0].kind != f.array.kind || f.into[0].width != f.array.width ||
			f.into[0].count != f.array.count {
			f.refused = invalid("into", "into: the server keeps %v; give one such array", f.array)
			return nil
		}
		f.sink.data = f.into[0].data
	}
	if f.sink.data == nil {
		f.sink.data = aligned(f.array.bytes())
	}
	return nil
}

// Arrays lists the arrays that the server keeps for this caller.
func (c *Client) Arrays(ctx context.Context, options ...Option) (*StoredArrays, error) {
	call, err := c.options(options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := call.limited(ctx, 0)
	defer cancel()
	found, token := &StoredArrays{}, ""
	for {
		page := &corankpb.ListArraysResponse{}
		_, _, err := c.unary(ctx, call, "ListArrays", corankpb.MemoryService_ListArrays_FullMethodName, always,
			&corankpb.ListArraysRequest{PageSize: pageSize, PageToken: token}, page)
		if err != nil {
			return nil, err
		}
		for _, array := range page.Arrays {
			found.Arrays = append(found.Arrays, handle(array))
		}
		found.UsedBytes, found.QuotaBytes, token = page.UsedBytes, page.QuotaBytes, page.NextPageToken
		if token == "" {
			return found, nil
		}
	}
}

// Stored finds an array that the server keeps. Its error has the code NOT_FOUND if there is none of that name.
func (c *Client) Stored(ctx context.Context, name string, options ...Option) (*Array, error) {
	all, err := c.Arrays(ctx, options...)
	if err != nil {
		return nil, err
	}
	for _, array := range all.Arrays {
		if array.name == name {
			return array, nil
		}
	}
	return nil, &Error{Code: codes.NotFound, Message: "the server keeps no array \"" + name + "\""}
}

// Delete has the server forget an array that it keeps. It retries briefly while an answered request still holds it.
func (c *Client) Delete(ctx context.Context, name string, options ...Option) error {
	call, err := c.options(options)
	if err != nil {
		return err
	}
	ctx, cancel := call.limited(ctx, 0)
	defer cancel()
	end, pause := time.Now().Add(releaseTime), time.Millisecond
	for {
		_, _, err := c.unary(ctx, call, "DeleteArray", corankpb.MemoryService_DeleteArray_FullMethodName, unlessLost,
			&corankpb.DeleteArrayRequest{Name: name}, &corankpb.DeleteArrayResponse{})
		var own *Error
		if !errors.As(err, &own) || own.Code != codes.FailedPrecondition || c.isClosed() || time.Now().After(end) {
			return err
		}
		if sleep(ctx, pause) != nil {
			return c.ended(ctx, &Error{Operator: "DeleteArray"})
		}
		pause *= 2
	}
}
