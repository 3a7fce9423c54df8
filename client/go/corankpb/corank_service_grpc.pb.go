// corank: sorts, merges and moves arrays.
//
// Message size. gRPC clients refuse received messages of more than 4 MiB unless they are told otherwise; the call then
// fails in the client with RESOURCE_EXHAUSTED and without google.rpc.RetryInfo. Unary responses have up to
// ServerLimits.max_response_bytes bytes. Messages of streamed responses (Execute, MemoryService.FetchArray) stay below
// 4 MiB. Raise the limit when you make the client; N is a number of bytes:
//   C++         arguments.SetMaxReceiveMessageSize(-1);    // grpc::ChannelArguments; -1 is no limit
//   Python      grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])
//   Go          grpc.NewClient(address, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)), ...)
//   Java        NettyChannelBuilder.forTarget(address).maxInboundMessageSize(N)
//   Rust        CorankServiceClient::new(channel).max_decoding_message_size(usize::MAX)    // tonic
//   C#          GrpcChannel.ForAddress(address, new GrpcChannelOptions { MaxReceiveMessageSize = null })
//   Node.js     new CorankService(address, credentials, {"grpc.max_receive_message_length": -1})
//   grpcurl     grpcurl -max-msg-sz N ...
// Requests have no such default: a client sends messages of any size. The server does not accept compressed messages
// and answers them with UNIMPLEMENTED.
//
// Metadata. The server reads `authorization: Bearer TOKEN` where it requires a token, `x-request-id` (see
// RequestOptions.request_id) and `traceparent` (W3C Trace Context). It returns `x-request-id`, and `traceparent` if the
// caller sent a valid one, as trailing metadata.
//
// Errors. Every error of the server carries a google.rpc.ErrorInfo of the domain "corank" in its details. Its reason is
// a value of ErrorReason (error_reason.proto) without the prefix. Decide by status code and reason, never by the text.
//
// Status codes. They mean the same for every method:
//   INVALID_ARGUMENT    A field is malformed or out of range, an input is unsorted, intervals overlap, or the method
//                       cannot use a place. The details hold a google.rpc.BadRequest with one violation that names the
//                       field. A request of more than max_request_bytes is also INVALID_ARGUMENT, for the field
//                       "request".
//   RESOURCE_EXHAUSTED  The queue, a memory budget or a quota is full. google.rpc.RetryInfo in the details says when to
//                       retry. Without RetryInfo a retry does not help: free kept arrays, or raise the client's limit.
//   UNAVAILABLE         The server is draining, or lost its device. google.rpc.RetryInfo says when to retry.
//   DEADLINE_EXCEEDED   The deadline passed, or the server estimates that it cannot finish in time and refuses the work
//                       at once. Also: the caller of a stream neither sent nor read for the server's
//                       --stream-idle-timeout.
//   CANCELLED           The caller cancelled, or the request did not arrive completely.
//   ABORTED             Another part of the job ended early or did not begin. Run the whole job again.
//   NOT_FOUND           The caller's tenant has no region, lease or kept array of this name.
//   ALREADY_EXISTS      The caller's tenant has a region of this name.
//   FAILED_PRECONDITION A request uses the region or array that the caller wants to remove, shared memory was truncated
//                       after it was registered, or GPU memory is on a GPU that the server does not use.
//   UNAUTHENTICATED     The credentials are missing or unknown.
//   PERMISSION_DENIED   The caller's tenant lacks the permission for this operator or place.
//   UNIMPLEMENTED       The place is switched off on this server.
//   INTERNAL            A fault of the server. Its log has the details under the request id.
//
// Effects. A call that fails stores, replaces and deletes nothing, of any operation of a plan. Its result ranges in
// shared memory or GPU memory may hold a part of the result or all of it. A call may therefore be retried unless such a
// range overlaps one of its inputs. A caller that loses the connection, cancels or passes its deadline does not learn
// whether the call failed: it may have succeeded.
//
// Limits of every server, each INVALID_ARGUMENT beyond it. ServerLimits has those that a server's operator sets.
//   bytes of an array or a result                       0 to 2^50
//   bytes of a record                                   1 to 256
//   characters of a name or a job_id                    1 to 128 of [A-Za-z0-9._-]
//   characters of a request_id                          0 to 128, printable ASCII
//   inputs of a Merge                                   2 to 1024
//   columns of a key                                    1 to 32
//   runs of a Sort of `key_columns`                     1 to 1024
//   operations of a plan                                1 to 16
//   parts of a job                                      0 to 64
//   stream_id                                           0 to 1023
//   entries in a page of a list                         1 to 1000
//   bytes of a request without its inline arrays        0 to 8 MiB
//   messages that hold arrays, plus inline arrays       0 to 131072 in a request
//   bytes of a GetServerInfo or MemoryService request   0 to 64 KiB, apart from StoreArray and FetchArray
// Intervals, segments, strings and the bytes of a string are limited by their arrays only.
//
// Larger than the device. Most operations hold all of their arrays on one device: up to max_device_bytes in Execute, up
// to the device's budget in unary calls, and INVALID_ARGUMENT beyond. These work in pieces, or leave arrays in host
// memory (RequestStats.out_of_core), in Execute if they are the plan's only operation:
//   operator                 in Execute                                    in unary calls, on a GPU
//   Sort of `keys`           keys, values and results are streams; with    keys or values are in shared memory, and
//                            `limit`, a result of up to 64 KiB may be      others of up to 1 MiB inline; results are in
//                            inline                                        shared memory or inline
//     `segment_offsets`      offsets lie anywhere                          also: a result lies exactly where its input
//                                                                          is, or apart from all inputs
//   Sort of `key_columns`    as Sort of `keys`; offsets lie anywhere,      as Sort of `keys`; offsets lie anywhere; no
//                            and arrays of up to 1 MiB may be inline; no   ranks; results of `run_offsets` lie apart
//                            ranks                                         from all inputs
//   Merge                    inputs are streams with a count; results      up to 32 inputs, one or more in shared
//                            are streams                                   memory, and others of up to 1 MiB inline;
//                                                                          results are in shared memory or inline
//   Search, Expand, Gather   the large inputs and results are streams;     never
//                            offsets of strings lie anywhere
//   LoadBalance              results are streams                           never
//   Move, Scatter            as Search; counts and offsets fit into        never
//                            max_device_bytes
// Group, CombineSets, Join, Select, Rank and plans of several operations never work in pieces.

// Code generated by protoc-gen-go-grpc. DO NOT EDIT.
// versions:
// - protoc-gen-go-grpc v1.6.2
// - protoc             (unknown)
// source: corank/v1/corank_service.proto

package corankpb

import (
	context "context"
	grpc "google.golang.org/grpc"
	codes "google.golang.org/grpc/codes"
	status "google.golang.org/grpc/status"
)

// This is a compile-time assertion to ensure that this generated file
// is compatible with the grpc package it is being compiled against.
// Requires gRPC-Go v1.64.0 or later.
const _ = grpc.SupportPackageIsVersion9

const (
	CorankService_Sort_FullMethodName             = "/corank.v1.CorankService/Sort"
	CorankService_Merge_FullMethodName            = "/corank.v1.CorankService/Merge"
	CorankService_ExpandIntervals_FullMethodName  = "/corank.v1.CorankService/ExpandIntervals"
	CorankService_MoveIntervals_FullMethodName    = "/corank.v1.CorankService/MoveIntervals"
	CorankService_GatherIntervals_FullMethodName  = "/corank.v1.CorankService/GatherIntervals"
	CorankService_ScatterIntervals_FullMethodName = "/corank.v1.CorankService/ScatterIntervals"
	CorankService_LoadBalance_FullMethodName      = "/corank.v1.CorankService/LoadBalance"
	CorankService_Search_FullMethodName           = "/corank.v1.CorankService/Search"
	CorankService_Group_FullMethodName            = "/corank.v1.CorankService/Group"
	CorankService_CombineSets_FullMethodName      = "/corank.v1.CorankService/CombineSets"
	CorankService_Join_FullMethodName             = "/corank.v1.CorankService/Join"
	CorankService_Select_FullMethodName           = "/corank.v1.CorankService/Select"
	CorankService_Rank_FullMethodName             = "/corank.v1.CorankService/Rank"
	CorankService_Execute_FullMethodName          = "/corank.v1.CorankService/Execute"
	CorankService_GetServerInfo_FullMethodName    = "/corank.v1.CorankService/GetServerInfo"
)

// CorankServiceClient is the client API for CorankService service.
//
// For semantics around ctx use and closing/ending streaming RPCs, please refer to https://pkg.go.dev/google.golang.org/grpc/?tab=doc#ClientConn.NewStream.
//
// The operators, each as a unary method, and all of them as streams and plans in Execute.
//
// Calls are independent of each other and may finish in any order. The request of a unary call must fit into
// max_request_bytes, and its inline results into max_response_bytes. Larger arrays travel as streams (Execute), or lie
// in memory that the server maps or keeps (array.proto lists the places). When requests wait, the server orders them by
// RequestOptions.priority, and tenants take turns within a priority.
type CorankServiceClient interface {
	// Sorts keys, alone or with values, whole or by segments. Stable.
	Sort(ctx context.Context, in *SortRequest, opts ...grpc.CallOption) (*SortResponse, error)
	// Merges 2 to 1024 sorted arrays. Stable. INVALID_ARGUMENT names the first element that is out of order.
	Merge(ctx context.Context, in *MergeRequest, opts ...grpc.CallOption) (*MergeResponse, error)
	// Repeats value i counts[i] times.
	ExpandIntervals(ctx context.Context, in *ExpandIntervalsRequest, opts ...grpc.CallOption) (*ExpandIntervalsResponse, error)
	// Copies many intervals from source offsets to destination offsets. INVALID_ARGUMENT names an interval that overlaps
	// another one in the destination.
	MoveIntervals(ctx context.Context, in *MoveIntervalsRequest, opts ...grpc.CallOption) (*MoveIntervalsResponse, error)
	// Copies many intervals of a source into a dense result.
	GatherIntervals(ctx context.Context, in *GatherIntervalsRequest, opts ...grpc.CallOption) (*GatherIntervalsResponse, error)
	// Copies a dense source to many intervals of a destination. INVALID_ARGUMENT names an interval that overlaps another
	// one in the destination.
	ScatterIntervals(ctx context.Context, in *ScatterIntervalsRequest, opts ...grpc.CallOption) (*ScatterIntervalsResponse, error)
	// For each work item: the object that made it, and its rank within that object.
	LoadBalance(ctx context.Context, in *LoadBalanceRequest, opts ...grpc.CallOption) (*LoadBalanceResponse, error)
	// Lower or upper bound of each needle in a sorted haystack. INVALID_ARGUMENT names the first element of the haystack
	// that is out of order.
	Search(ctx context.Context, in *SearchRequest, opts ...grpc.CallOption) (*SearchResponse, error)
	// Finds the groups of equal keys, counts them, and reduces the values of each: distinct keys, run-length encoding,
	// and sums, minima and maxima by key. INVALID_ARGUMENT names the first key that is out of order, if they must be
	// sorted, and the first group whose sum does not fit.
	Group(ctx context.Context, in *GroupRequest, opts ...grpc.CallOption) (*GroupResponse, error)
	// Union, intersection, difference or symmetric difference of two sorted arrays, as multisets, or only the length of
	// the result. INVALID_ARGUMENT names the first key that is out of order.
	CombineSets(ctx context.Context, in *CombineSetsRequest, opts ...grpc.CallOption) (*CombineSetsResponse, error)
	// Inner, left, right, full, semi or anti join of two arrays of keys, as row numbers, or only their number.
	// INVALID_ARGUMENT says how many rows the join has if that is more than the request has room for.
	Join(ctx context.Context, in *JoinRequest, opts ...grpc.CallOption) (*JoinResponse, error)
	// Selects elements by flags, bits, positions or a comparison, on request followed by the others: filter, removal and
	// stable partition. INVALID_ARGUMENT names the first position that no element has.
	Select(ctx context.Context, in *SelectRequest, opts ...grpc.CallOption) (*SelectResponse, error)
	// The rank of each key: dense, ordinal, or the mean, the least or the greatest rank of equal keys. INVALID_ARGUMENT
	// names the first key that is out of order, if they must be sorted.
	Rank(ctx context.Context, in *RankRequest, opts ...grpc.CallOption) (*RankResponse, error)
	// Runs a plan of one or more operators. Inputs and outputs may be streams of chunks, of any length that the server's
	// stream budgets allow.
	//
	// Requests: the first message is the plan. Chunks of every input with a StreamPlace follow, in order within an array
	// and in any order between arrays. The caller half-closes after the last chunk.
	//
	// Responses: chunks of every output with a StreamPlace, in order within an array. Then comes one OperationResult for
	// each operation, in the order of the plan.
	//
	// Flow control: outputs may begin before the last input has arrived. The server stops reading while its window
	// (ServerLimits.stream_window_bytes) is full, and stops working while the caller does not read. Read responses while
	// you send requests; a caller that sends everything first may deadlock.
	//
	// Parts: one job may use several connections. Make one Execute call on each, with the same plan except for
	// `Plan.part`. Each part sends a range of every streamed input, whose count is required, and receives a share of the
	// output chunks: chunks are in order within a part, and the parts together receive every chunk once. Every part
	// receives all results. All parts must begin within 30 s of the first one, else they end with ABORTED. A part that
	// fails keeps its own error; the other parts then end with ABORTED. Parts with different plans all end at once with
	// INVALID_ARGUMENT.
	//
	// Errors: INVALID_ARGUMENT for a malformed plan, for chunks that are out of order or too large, and for an input that
	// ends early or late. The fields of an operation begin with `plan.operations[i].`, those of a chunk with `chunk.`.
	Execute(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[ExecuteRequest, ExecuteResponse], error)
	// Describes the server: version, devices, limits, places, settings. Does not wait in the queue.
	GetServerInfo(ctx context.Context, in *GetServerInfoRequest, opts ...grpc.CallOption) (*GetServerInfoResponse, error)
}

type corankServiceClient struct {
	cc grpc.ClientConnInterface
}

func NewCorankServiceClient(cc grpc.ClientConnInterface) CorankServiceClient {
	return &corankServiceClient{cc}
}

func (c *corankServiceClient) Sort(ctx context.Context, in *SortRequest, opts ...grpc.CallOption) (*SortResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(SortResponse)
	err := c.cc.Invoke(ctx, CorankService_Sort_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) Merge(ctx context.Context, in *MergeRequest, opts ...grpc.CallOption) (*MergeResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(MergeResponse)
	err := c.cc.Invoke(ctx, CorankService_Merge_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) ExpandIntervals(ctx context.Context, in *ExpandIntervalsRequest, opts ...grpc.CallOption) (*ExpandIntervalsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ExpandIntervalsResponse)
	err := c.cc.Invoke(ctx, CorankService_ExpandIntervals_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) MoveIntervals(ctx context.Context, in *MoveIntervalsRequest, opts ...grpc.CallOption) (*MoveIntervalsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(MoveIntervalsResponse)
	err := c.cc.Invoke(ctx, CorankService_MoveIntervals_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) GatherIntervals(ctx context.Context, in *GatherIntervalsRequest, opts ...grpc.CallOption) (*GatherIntervalsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(GatherIntervalsResponse)
	err := c.cc.Invoke(ctx, CorankService_GatherIntervals_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) ScatterIntervals(ctx context.Context, in *ScatterIntervalsRequest, opts ...grpc.CallOption) (*ScatterIntervalsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ScatterIntervalsResponse)
	err := c.cc.Invoke(ctx, CorankService_ScatterIntervals_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) LoadBalance(ctx context.Context, in *LoadBalanceRequest, opts ...grpc.CallOption) (*LoadBalanceResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(LoadBalanceResponse)
	err := c.cc.Invoke(ctx, CorankService_LoadBalance_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) Search(ctx context.Context, in *SearchRequest, opts ...grpc.CallOption) (*SearchResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(SearchResponse)
	err := c.cc.Invoke(ctx, CorankService_Search_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) Group(ctx context.Context, in *GroupRequest, opts ...grpc.CallOption) (*GroupResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(GroupResponse)
	err := c.cc.Invoke(ctx, CorankService_Group_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) CombineSets(ctx context.Context, in *CombineSetsRequest, opts ...grpc.CallOption) (*CombineSetsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(CombineSetsResponse)
	err := c.cc.Invoke(ctx, CorankService_CombineSets_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) Join(ctx context.Context, in *JoinRequest, opts ...grpc.CallOption) (*JoinResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(JoinResponse)
	err := c.cc.Invoke(ctx, CorankService_Join_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) Select(ctx context.Context, in *SelectRequest, opts ...grpc.CallOption) (*SelectResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(SelectResponse)
	err := c.cc.Invoke(ctx, CorankService_Select_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) Rank(ctx context.Context, in *RankRequest, opts ...grpc.CallOption) (*RankResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(RankResponse)
	err := c.cc.Invoke(ctx, CorankService_Rank_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *corankServiceClient) Execute(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[ExecuteRequest, ExecuteResponse], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &CorankService_ServiceDesc.Streams[0], CorankService_Execute_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[ExecuteRequest, ExecuteResponse]{ClientStream: stream}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type CorankService_ExecuteClient = grpc.BidiStreamingClient[ExecuteRequest, ExecuteResponse]

func (c *corankServiceClient) GetServerInfo(ctx context.Context, in *GetServerInfoRequest, opts ...grpc.CallOption) (*GetServerInfoResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(GetServerInfoResponse)
	err := c.cc.Invoke(ctx, CorankService_GetServerInfo_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CorankServiceServer is the server API for CorankService service.
// All implementations must embed UnimplementedCorankServiceServer
// for forward compatibility.
//
// The operators, each as a unary method, and all of them as streams and plans in Execute.
//
// Calls are independent of each other and may finish in any order. The request of a unary call must fit into
// max_request_bytes, and its inline results into max_response_bytes. Larger arrays travel as streams (Execute), or lie
// in memory that the server maps or keeps (array.proto lists the places). When requests wait, the server orders them by
// RequestOptions.priority, and tenants take turns within a priority.
type CorankServiceServer interface {
	// Sorts keys, alone or with values, whole or by segments. Stable.
	Sort(context.Context, *SortRequest) (*SortResponse, error)
	// Merges 2 to 1024 sorted arrays. Stable. INVALID_ARGUMENT names the first element that is out of order.
	Merge(context.Context, *MergeRequest) (*MergeResponse, error)
	// Repeats value i counts[i] times.
	ExpandIntervals(context.Context, *ExpandIntervalsRequest) (*ExpandIntervalsResponse, error)
	// Copies many intervals from source offsets to destination offsets. INVALID_ARGUMENT names an interval that overlaps
	// another one in the destination.
	MoveIntervals(context.Context, *MoveIntervalsRequest) (*MoveIntervalsResponse, error)
	// Copies many intervals of a source into a dense result.
	GatherIntervals(context.Context, *GatherIntervalsRequest) (*GatherIntervalsResponse, error)
	// Copies a dense source to many intervals of a destination. INVALID_ARGUMENT names an interval that overlaps another
	// one in the destination.
	ScatterIntervals(context.Context, *ScatterIntervalsRequest) (*ScatterIntervalsResponse, error)
	// For each work item: the object that made it, and its rank within that object.
	LoadBalance(context.Context, *LoadBalanceRequest) (*LoadBalanceResponse, error)
	// Lower or upper bound of each needle in a sorted haystack. INVALID_ARGUMENT names the first element of the haystack
	// that is out of order.
	Search(context.Context, *SearchRequest) (*SearchResponse, error)
	// Finds the groups of equal keys, counts them, and reduces the values of each: distinct keys, run-length encoding,
	// and sums, minima and maxima by key. INVALID_ARGUMENT names the first key that is out of order, if they must be
	// sorted, and the first group whose sum does not fit.
	Group(context.Context, *GroupRequest) (*GroupResponse, error)
	// Union, intersection, difference or symmetric difference of two sorted arrays, as multisets, or only the length of
	// the result. INVALID_ARGUMENT names the first key that is out of order.
	CombineSets(context.Context, *CombineSetsRequest) (*CombineSetsResponse, error)
	// Inner, left, right, full, semi or anti join of two arrays of keys, as row numbers, or only their number.
	// INVALID_ARGUMENT says how many rows the join has if that is more than the request has room for.
	Join(context.Context, *JoinRequest) (*JoinResponse, error)
	// Selects elements by flags, bits, positions or a comparison, on request followed by the others: filter, removal and
	// stable partition. INVALID_ARGUMENT names the first position that no element has.
	Select(context.Context, *SelectRequest) (*SelectResponse, error)
	// The rank of each key: dense, ordinal, or the mean, the least or the greatest rank of equal keys. INVALID_ARGUMENT
	// names the first key that is out of order, if they must be sorted.
	Rank(context.Context, *RankRequest) (*RankResponse, error)
	// Runs a plan of one or more operators. Inputs and outputs may be streams of chunks, of any length that the server's
	// stream budgets allow.
	//
	// Requests: the first message is the plan. Chunks of every input with a StreamPlace follow, in order within an array
	// and in any order between arrays. The caller half-closes after the last chunk.
	//
	// Responses: chunks of every output with a StreamPlace, in order within an array. Then comes one OperationResult for
	// each operation, in the order of the plan.
	//
	// Flow control: outputs may begin before the last input has arrived. The server stops reading while its window
	// (ServerLimits.stream_window_bytes) is full, and stops working while the caller does not read. Read responses while
	// you send requests; a caller that sends everything first may deadlock.
	//
	// Parts: one job may use several connections. Make one Execute call on each, with the same plan except for
	// `Plan.part`. Each part sends a range of every streamed input, whose count is required, and receives a share of the
	// output chunks: chunks are in order within a part, and the parts together receive every chunk once. Every part
	// receives all results. All parts must begin within 30 s of the first one, else they end with ABORTED. A part that
	// fails keeps its own error; the other parts then end with ABORTED. Parts with different plans all end at once with
	// INVALID_ARGUMENT.
	//
	// Errors: INVALID_ARGUMENT for a malformed plan, for chunks that are out of order or too large, and for an input that
	// ends early or late. The fields of an operation begin with `plan.operations[i].`, those of a chunk with `chunk.`.
	Execute(grpc.BidiStreamingServer[ExecuteRequest, ExecuteResponse]) error
	// Describes the server: version, devices, limits, places, settings. Does not wait in the queue.
	GetServerInfo(context.Context, *GetServerInfoRequest) (*GetServerInfoResponse, error)
	mustEmbedUnimplementedCorankServiceServer()
}

// UnimplementedCorankServiceServer must be embedded to have
// forward compatible implementations.
//
// NOTE: this should be embedded by value instead of pointer to avoid a nil
// pointer dereference when methods are called.
type UnimplementedCorankServiceServer struct{}

func (UnimplementedCorankServiceServer) Sort(context.Context, *SortRequest) (*SortResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Sort not implemented")
}
func (UnimplementedCorankServiceServer) Merge(context.Context, *MergeRequest) (*MergeResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Merge not implemented")
}
func (UnimplementedCorankServiceServer) ExpandIntervals(context.Context, *ExpandIntervalsRequest) (*ExpandIntervalsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ExpandIntervals not implemented")
}
func (UnimplementedCorankServiceServer) MoveIntervals(context.Context, *MoveIntervalsRequest) (*MoveIntervalsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method MoveIntervals not implemented")
}
func (UnimplementedCorankServiceServer) GatherIntervals(context.Context, *GatherIntervalsRequest) (*GatherIntervalsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method GatherIntervals not implemented")
}
func (UnimplementedCorankServiceServer) ScatterIntervals(context.Context, *ScatterIntervalsRequest) (*ScatterIntervalsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ScatterIntervals not implemented")
}
func (UnimplementedCorankServiceServer) LoadBalance(context.Context, *LoadBalanceRequest) (*LoadBalanceResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method LoadBalance not implemented")
}
func (UnimplementedCorankServiceServer) Search(context.Context, *SearchRequest) (*SearchResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Search not implemented")
}
func (UnimplementedCorankServiceServer) Group(context.Context, *GroupRequest) (*GroupResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Group not implemented")
}
func (UnimplementedCorankServiceServer) CombineSets(context.Context, *CombineSetsRequest) (*CombineSetsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method CombineSets not implemented")
}
func (UnimplementedCorankServiceServer) Join(context.Context, *JoinRequest) (*JoinResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Join not implemented")
}
func (UnimplementedCorankServiceServer) Select(context.Context, *SelectRequest) (*SelectResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Select not implemented")
}
func (UnimplementedCorankServiceServer) Rank(context.Context, *RankRequest) (*RankResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Rank not implemented")
}
func (UnimplementedCorankServiceServer) Execute(grpc.BidiStreamingServer[ExecuteRequest, ExecuteResponse]) error {
	return status.Error(codes.Unimplemented, "method Execute not implemented")
}
func (UnimplementedCorankServiceServer) GetServerInfo(context.Context, *GetServerInfoRequest) (*GetServerInfoResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method GetServerInfo not implemented")
}
func (UnimplementedCorankServiceServer) mustEmbedUnimplementedCorankServiceServer() {}
func (UnimplementedCorankServiceServer) testEmbeddedByValue()                       {}

// UnsafeCorankServiceServer may be embedded to opt out of forward compatibility for this service.
// Use of this interface is not recommended, as added methods to CorankServiceServer will
// result in compilation errors.
type UnsafeCorankServiceServer interface {
	mustEmbedUnimplementedCorankServiceServer()
}

func RegisterCorankServiceServer(s grpc.ServiceRegistrar, srv CorankServiceServer) {
	// If the following call panics, it indicates UnimplementedCorankServiceServer was
	// embedded by pointer and is nil.  This will cause panics if an
	// unimplemented method is ever invoked, so we test this at initialization
	// time to prevent it from happening at runtime later due to I/O.
	if t, ok := srv.(interface{ testEmbeddedByValue() }); ok {
		t.testEmbeddedByValue()
	}
	s.RegisterService(&CorankService_ServiceDesc, srv)
}

func _CorankService_Sort_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(SortRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).Sort(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_Sort_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).Sort(ctx, req.(*SortRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_Merge_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(MergeRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).Merge(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_Merge_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).Merge(ctx, req.(*MergeRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_ExpandIntervals_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ExpandIntervalsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).ExpandIntervals(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_ExpandIntervals_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).ExpandIntervals(ctx, req.(*ExpandIntervalsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_MoveIntervals_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(MoveIntervalsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).MoveIntervals(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_MoveIntervals_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).MoveIntervals(ctx, req.(*MoveIntervalsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_GatherIntervals_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(GatherIntervalsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).GatherIntervals(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_GatherIntervals_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).GatherIntervals(ctx, req.(*GatherIntervalsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_ScatterIntervals_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ScatterIntervalsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).ScatterIntervals(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_ScatterIntervals_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).ScatterIntervals(ctx, req.(*ScatterIntervalsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_LoadBalance_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(LoadBalanceRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).LoadBalance(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_LoadBalance_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).LoadBalance(ctx, req.(*LoadBalanceRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_Search_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(SearchRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).Search(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_Search_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).Search(ctx, req.(*SearchRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_Group_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(GroupRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).Group(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_Group_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).Group(ctx, req.(*GroupRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_CombineSets_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(CombineSetsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).CombineSets(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_CombineSets_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).CombineSets(ctx, req.(*CombineSetsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_Join_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(JoinRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).Join(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_Join_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).Join(ctx, req.(*JoinRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_Select_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(SelectRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).Select(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_Select_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).Select(ctx, req.(*SelectRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_Rank_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(RankRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).Rank(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_Rank_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).Rank(ctx, req.(*RankRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _CorankService_Execute_Handler(srv interface{}, stream grpc.ServerStream) error {
	return srv.(CorankServiceServer).Execute(&grpc.GenericServerStream[ExecuteRequest, ExecuteResponse]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type CorankService_ExecuteServer = grpc.BidiStreamingServer[ExecuteRequest, ExecuteResponse]

func _CorankService_GetServerInfo_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(GetServerInfoRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(CorankServiceServer).GetServerInfo(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: CorankService_GetServerInfo_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(CorankServiceServer).GetServerInfo(ctx, req.(*GetServerInfoRequest))
	}
	return interceptor(ctx, in, info, handler)
}

// CorankService_ServiceDesc is the grpc.ServiceDesc for CorankService service.
// It's only intended for direct use with grpc.RegisterService,
// and not to be introspected or modified (even as a copy)
var CorankService_ServiceDesc = grpc.ServiceDesc{
	ServiceName: "corank.v1.CorankService",
	HandlerType: (*CorankServiceServer)(nil),
	Methods: []grpc.MethodDesc{
		{
			MethodName: "Sort",
			Handler:    _CorankService_Sort_Handler,
		},
		{
			MethodName: "Merge",
			Handler:    _CorankService_Merge_Handler,
		},
		{
			MethodName: "ExpandIntervals",
			Handler:    _CorankService_ExpandIntervals_Handler,
		},
		{
			MethodName: "MoveIntervals",
			Handler:    _CorankService_MoveIntervals_Handler,
		},
		{
			MethodName: "GatherIntervals",
			Handler:    _CorankService_GatherIntervals_Handler,
		},
		{
			MethodName: "ScatterIntervals",
			Handler:    _CorankService_ScatterIntervals_Handler,
		},
		{
			MethodName: "LoadBalance",
			Handler:    _CorankService_LoadBalance_Handler,
		},
		{
			MethodName: "Search",
			Handler:    _CorankService_Search_Handler,
		},
		{
			MethodName: "Group",
			Handler:    _CorankService_Group_Handler,
		},
		{
			MethodName: "CombineSets",
			Handler:    _CorankService_CombineSets_Handler,
		},
		{
			MethodName: "Join",
			Handler:    _CorankService_Join_Handler,
		},
		{
			MethodName: "Select",
			Handler:    _CorankService_Select_Handler,
		},
		{
			MethodName: "Rank",
			Handler:    _CorankService_Rank_Handler,
		},
		{
			MethodName: "GetServerInfo",
			Handler:    _CorankService_GetServerInfo_Handler,
		},
	},
	Streams: []grpc.StreamDesc{
		{
			StreamName:    "Execute",
			Handler:       _CorankService_Execute_Handler,
			ServerStreams: true,
			ClientStreams: true,
		},
	},
	Metadata: "corank/v1/corank_service.proto",
}
