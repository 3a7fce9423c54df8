package corank

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// fake is a server that sorts uint32 keys, and does what a test says instead.
type fake struct {
	corankpb.UnimplementedCorankServiceServer
	corankpb.UnimplementedMemoryServiceServer
	calls   atomic.Int32
	sort    func(ctx context.Context, call int, request *corankpb.SortRequest) (*corankpb.SortResponse, error)
	execute func(stream corankpb.CorankService_ExecuteServer) error
	group   func(call int, request *corankpb.GroupRequest) (*corankpb.GroupResponse, error)
	sets    func(call int, request *corankpb.CombineSetsRequest) (*corankpb.CombineSetsResponse, error)
	join    func(call int, request *corankpb.JoinRequest) (*corankpb.JoinResponse, error)
	selects func(call int, request *corankpb.SelectRequest) (*corankpb.SelectResponse, error)
	rank    func(request *corankpb.RankRequest) *corankpb.RankResponse
	gather  func(request *corankpb.GatherIntervalsRequest) *corankpb.GatherIntervalsResponse
	places  []string
}

func (f *fake) GetServerInfo(context.Context, *corankpb.GetServerInfoRequest) (*corankpb.GetServerInfoResponse, error) {
	return &corankpb.GetServerInfoResponse{Version: "0.1.0", Places: f.places, Limits: &corankpb.ServerLimits{
		MaxRequestBytes: 1 << 20, MaxResponseBytes: 1 << 20, MaxChunkBytes: 64 << 10, MaxParts: 4}}, nil
}

func sorted(data []byte) []byte {
	keys, _ := Slice[uint32](Of(make([]uint32, len(data)/4)))
	for i := range keys {
		keys[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	slices.Sort(keys)
	return Of(keys).Bytes()
}

func (f *fake) Sort(ctx context.Context, request *corankpb.SortRequest) (*corankpb.SortResponse, error) {
	call := int(f.calls.Add(1))
	if f.sort != nil {
		return f.sort(ctx, call, request)
	}
	return answered(request), nil
}

func (f *fake) Group(_ context.Context, request *corankpb.GroupRequest) (*corankpb.GroupResponse, error) {
	return f.group(int(f.calls.Add(1)), request)
}

func (f *fake) CombineSets(_ context.Context, request *corankpb.CombineSetsRequest) (*corankpb.CombineSetsResponse,
	error) {
	return f.sets(int(f.calls.Add(1)), request)
}

func (f *fake) Join(_ context.Context, request *corankpb.JoinRequest) (*corankpb.JoinResponse, error) {
	return f.join(int(f.calls.Add(1)), request)
}

func (f *fake) Select(_ context.Context, request *corankpb.SelectRequest) (*corankpb.SelectResponse, error) {
	return f.selects(int(f.calls.Add(1)), request)
}

func (f *fake) Rank(_ context.Context, request *corankpb.RankRequest) (*corankpb.RankResponse, error) {
	return f.rank(request), nil
}

func (f *fake) GatherIntervals(_ context.Context, request *corankpb.GatherIntervalsRequest) (
	*corankpb.GatherIntervalsResponse, error) {
	return f.gather(request), nil
}

// StoreArray says that it divided a sharded array among two GPUs.
func (f *fake) StoreArray(stream corankpb.MemoryService_StoreArrayServer) error {
	kept := &corankpb.StoredArray{}
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(&corankpb.StoreArrayResponse{Array: kept})
		} else if err != nil {
			return err
		}
		if header := request.GetHeader(); header != nil {
			kept.Name, kept.Type, kept.Count = header.Name, header.Array.Type, header.Array.GetCount()
			if header.Sharded {
				kept.Shards = 2
			}
		}
	}
}

func answered(request *corankpb.SortRequest) *corankpb.SortResponse {
	data := request.Keys.GetInlineData()
	return &corankpb.SortResponse{Keys: &corankpb.Array{Type: request.Keys.Type, Count: proto.Int64(int64(len(data) / 4)),
		Place: &corankpb.Array_InlineData{InlineData: sorted(data)}}}
}

func (f *fake) Execute(stream corankpb.CorankService_ExecuteServer) error {
	f.calls.Add(1)
	if f.execute != nil {
		return f.execute(stream)
	}
	var data []byte
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		data = append(data, request.GetChunk().GetData()...)
	}
	data = sorted(data)
	if err := sendChunk(stream, 0, data); err != nil {
		return err
	}
	return stream.Send(&corankpb.ExecuteResponse{Part: &corankpb.ExecuteResponse_Result{Result: resultOf(len(data) / 4)}})
}

// chained answers a call of a chain with these results, and shows the test the plan.
func chained(plan **corankpb.Plan, results ...*corankpb.OperationResult) *fake {
	return &fake{execute: func(stream corankpb.CorankService_ExecuteServer) error {
		for {
			request, err := stream.Recv()
			if err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			if request.GetPlan() != nil {
				*plan = request.GetPlan()
			}
		}
		for _, result := range results {
			part := &corankpb.ExecuteResponse_Result{Result: result}
			if err := stream.Send(&corankpb.ExecuteResponse{Part: part}); err != nil {
				return err
			}
		}
		return nil
	}}
}

func sendChunk(stream corankpb.CorankService_ExecuteServer, first int64, data []byte) error {
	return stream.Send(&corankpb.ExecuteResponse{Part: &corankpb.ExecuteResponse_Chunk{Chunk: &corankpb.ArrayChunk{
		FirstElement: first, Data: data}}})
}

func resultOf(count int) *corankpb.OperationResult {
	return &corankpb.OperationResult{Result: &corankpb.OperationResult_Sort{Sort: &corankpb.SortResponse{
		Keys: &corankpb.Array{Type: corankpb.ElementType_ELEMENT_TYPE_UINT32, Count: proto.Int64(int64(count)),
			Place: &corankpb.Array_Stream{Stream: &corankpb.StreamPlace{}}}}}}
}

// start serves until the test ends.
func (f *fake) start(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.serve(t, listener)
	return listener.Addr().String()
}

func (f *fake) serve(t *testing.T, listener net.Listener) {
	if f.places == nil {
		f.places = []string{"inline", "stream"}
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	corankpb.RegisterCorankServiceServer(server, f)
	corankpb.RegisterMemoryServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

func connected(t *testing.T, address string, options ...ConnectOption) *Client {
	t.Helper()
	for _, name := range []string{"CORANK_TOKEN", "CORANK_SERVER_CA", "CORANK_CLIENT_CERTIFICATE", "CORANK_CLIENT_KEY"} {
		t.Setenv(name, "")
	}
	client, err := Connect(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// noWait makes the waits between tries short, and returns what they would have been.
func noWait(t *testing.T) *[]time.Duration {
	t.Helper()
	var waits []time.Duration
	before := sleep
	sleep = func(ctx context.Context, wait time.Duration) error {
		waits = append(waits, wait)
		return before(ctx, time.Millisecond)
	}
	t.Cleanup(func() { sleep = before })
	return &waits
}

func numbers(count int) []uint32 {
	made := make([]uint32, count)
	for i := range made {
		made[i] = uint32(i) * 2654435761
	}
	return made
}

func busy(code codes.Code, details ...proto.Message) error {
	made := status.New(code, "busy")
	for _, detail := range details {
		with, err := made.WithDetails(protoadapt.MessageV1Of(detail))
		if err != nil {
			panic(err)
		}
		made = with
	}
	return made.Err()
}

func sent(ctx context.Context, name string) string {
	values := metadata.ValueFromIncomingContext(ctx, name)
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// read is a cursor of a message in several of gRPC's buffers.
func read(data []byte) *cursor {
	var buffers mem.BufferSlice
	for len(data) > 0 {
		size := min(3, len(data))
		buffers = append(buffers, mem.SliceBuffer(data[:size]))
		data = data[size:]
	}
	made := newCursor(buffers)
	return &made
}
