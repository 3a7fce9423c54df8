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

// Code generated by protoc-gen-go. DO NOT EDIT.
// versions:
// 	protoc-gen-go v1.36.12
// 	protoc        (unknown)
// source: corank/v1/corank_service.proto

package corankpb

import (
	protoreflect "google.golang.org/protobuf/reflect/protoreflect"
	protoimpl "google.golang.org/protobuf/runtime/protoimpl"
	durationpb "google.golang.org/protobuf/types/known/durationpb"
	reflect "reflect"
	sync "sync"
	unsafe "unsafe"
)

const (
	// Verify that this generated code is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(20 - protoimpl.MinVersion)
	// Verify that runtime/protoimpl is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(protoimpl.MaxVersion - 20)
)

// The source of a setting's value. A flag overrides the environment, which overrides the file, which overrides the
// default.
type SettingSource int32

const (
	// Not used.
	SettingSource_SETTING_SOURCE_UNSPECIFIED SettingSource = 0
	// The default.
	SettingSource_SETTING_SOURCE_DEFAULT SettingSource = 1
	// The configuration file.
	SettingSource_SETTING_SOURCE_FILE SettingSource = 2
	// An environment variable.
	SettingSource_SETTING_SOURCE_ENVIRONMENT SettingSource = 3
	// A flag on the command line.
	SettingSource_SETTING_SOURCE_FLAG SettingSource = 4
)

// Enum value maps for SettingSource.
var (
	SettingSource_name = map[int32]string{
		0: "SETTING_SOURCE_UNSPECIFIED",
		1: "SETTING_SOURCE_DEFAULT",
		2: "SETTING_SOURCE_FILE",
		3: "SETTING_SOURCE_ENVIRONMENT",
		4: "SETTING_SOURCE_FLAG",
	}
	SettingSource_value = map[string]int32{
		"SETTING_SOURCE_UNSPECIFIED": 0,
		"SETTING_SOURCE_DEFAULT":     1,
		"SETTING_SOURCE_FILE":        2,
		"SETTING_SOURCE_ENVIRONMENT": 3,
		"SETTING_SOURCE_FLAG":        4,
	}
)

func (x SettingSource) Enum() *SettingSource {
	p := new(SettingSource)
	*p = x
	return p
}

func (x SettingSource) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (SettingSource) Descriptor() protoreflect.EnumDescriptor {
	return file_corank_v1_corank_service_proto_enumTypes[0].Descriptor()
}

func (SettingSource) Type() protoreflect.EnumType {
	return &file_corank_v1_corank_service_proto_enumTypes[0]
}

func (x SettingSource) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use SettingSource.Descriptor instead.
func (SettingSource) EnumDescriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{0}
}

// One operator with its arguments.
type Operation struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The operator. Required.
	//
	// Types that are valid to be assigned to Operation:
	//
	//	*Operation_Sort
	//	*Operation_Merge
	//	*Operation_ExpandIntervals
	//	*Operation_MoveIntervals
	//	*Operation_GatherIntervals
	//	*Operation_ScatterIntervals
	//	*Operation_LoadBalance
	//	*Operation_Search
	//	*Operation_Group
	//	*Operation_CombineSets
	//	*Operation_Join
	//	*Operation_Select
	//	*Operation_Rank
	Operation     isOperation_Operation `protobuf_oneof:"operation"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Operation) Reset() {
	*x = Operation{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[0]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Operation) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Operation) ProtoMessage() {}

func (x *Operation) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[0]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Operation.ProtoReflect.Descriptor instead.
func (*Operation) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{0}
}

func (x *Operation) GetOperation() isOperation_Operation {
	if x != nil {
		return x.Operation
	}
	return nil
}

func (x *Operation) GetSort() *SortRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_Sort); ok {
			return x.Sort
		}
	}
	return nil
}

func (x *Operation) GetMerge() *MergeRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_Merge); ok {
			return x.Merge
		}
	}
	return nil
}

func (x *Operation) GetExpandIntervals() *ExpandIntervalsRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_ExpandIntervals); ok {
			return x.ExpandIntervals
		}
	}
	return nil
}

func (x *Operation) GetMoveIntervals() *MoveIntervalsRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_MoveIntervals); ok {
			return x.MoveIntervals
		}
	}
	return nil
}

func (x *Operation) GetGatherIntervals() *GatherIntervalsRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_GatherIntervals); ok {
			return x.GatherIntervals
		}
	}
	return nil
}

func (x *Operation) GetScatterIntervals() *ScatterIntervalsRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_ScatterIntervals); ok {
			return x.ScatterIntervals
		}
	}
	return nil
}

func (x *Operation) GetLoadBalance() *LoadBalanceRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_LoadBalance); ok {
			return x.LoadBalance
		}
	}
	return nil
}

func (x *Operation) GetSearch() *SearchRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_Search); ok {
			return x.Search
		}
	}
	return nil
}

func (x *Operation) GetGroup() *GroupRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_Group); ok {
			return x.Group
		}
	}
	return nil
}

func (x *Operation) GetCombineSets() *CombineSetsRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_CombineSets); ok {
			return x.CombineSets
		}
	}
	return nil
}

func (x *Operation) GetJoin() *JoinRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_Join); ok {
			return x.Join
		}
	}
	return nil
}

func (x *Operation) GetSelect() *SelectRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_Select); ok {
			return x.Select
		}
	}
	return nil
}

func (x *Operation) GetRank() *RankRequest {
	if x != nil {
		if x, ok := x.Operation.(*Operation_Rank); ok {
			return x.Rank
		}
	}
	return nil
}

type isOperation_Operation interface {
	isOperation_Operation()
}

type Operation_Sort struct {
	// Sort.
	Sort *SortRequest `protobuf:"bytes,1,opt,name=sort,proto3,oneof"`
}

type Operation_Merge struct {
	// Merge.
	Merge *MergeRequest `protobuf:"bytes,2,opt,name=merge,proto3,oneof"`
}

type Operation_ExpandIntervals struct {
	// ExpandIntervals.
	ExpandIntervals *ExpandIntervalsRequest `protobuf:"bytes,3,opt,name=expand_intervals,json=expandIntervals,proto3,oneof"`
}

type Operation_MoveIntervals struct {
	// MoveIntervals.
	MoveIntervals *MoveIntervalsRequest `protobuf:"bytes,4,opt,name=move_intervals,json=moveIntervals,proto3,oneof"`
}

type Operation_GatherIntervals struct {
	// GatherIntervals.
	GatherIntervals *GatherIntervalsRequest `protobuf:"bytes,5,opt,name=gather_intervals,json=gatherIntervals,proto3,oneof"`
}

type Operation_ScatterIntervals struct {
	// ScatterIntervals.
	ScatterIntervals *ScatterIntervalsRequest `protobuf:"bytes,6,opt,name=scatter_intervals,json=scatterIntervals,proto3,oneof"`
}

type Operation_LoadBalance struct {
	// LoadBalance.
	LoadBalance *LoadBalanceRequest `protobuf:"bytes,7,opt,name=load_balance,json=loadBalance,proto3,oneof"`
}

type Operation_Search struct {
	// Search.
	Search *SearchRequest `protobuf:"bytes,8,opt,name=search,proto3,oneof"`
}

type Operation_Group struct {
	// Group.
	Group *GroupRequest `protobuf:"bytes,9,opt,name=group,proto3,oneof"`
}

type Operation_CombineSets struct {
	// CombineSets.
	CombineSets *CombineSetsRequest `protobuf:"bytes,10,opt,name=combine_sets,json=combineSets,proto3,oneof"`
}

type Operation_Join struct {
	// Join.
	Join *JoinRequest `protobuf:"bytes,11,opt,name=join,proto3,oneof"`
}

type Operation_Select struct {
	// Select.
	Select *SelectRequest `protobuf:"bytes,12,opt,name=select,proto3,oneof"`
}

type Operation_Rank struct {
	// Rank.
	Rank *RankRequest `protobuf:"bytes,13,opt,name=rank,proto3,oneof"`
}

func (*Operation_Sort) isOperation_Operation() {}

func (*Operation_Merge) isOperation_Operation() {}

func (*Operation_ExpandIntervals) isOperation_Operation() {}

func (*Operation_MoveIntervals) isOperation_Operation() {}

func (*Operation_GatherIntervals) isOperation_Operation() {}

func (*Operation_ScatterIntervals) isOperation_Operation() {}

func (*Operation_LoadBalance) isOperation_Operation() {}

func (*Operation_Search) isOperation_Operation() {}

func (*Operation_Group) isOperation_Operation() {}

func (*Operation_CombineSets) isOperation_Operation() {}

func (*Operation_Join) isOperation_Operation() {}

func (*Operation_Select) isOperation_Operation() {}

func (*Operation_Rank) isOperation_Operation() {}

// The work of an Execute call.
type Plan struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// 1 to 16 operations, which run one after the other. A later operation may read an array that an earlier one stored,
	// for instance as a temporary. Every operation may have streamed inputs and outputs. The first operation's
	// RequestOptions apply to the whole call.
	Operations []*Operation `protobuf:"bytes,1,rep,name=operations,proto3" json:"operations,omitempty"`
	// Joins calls on several connections into one job: every part sends the same id, 1 to 128 characters of
	// [A-Za-z0-9._-]. The id is free for another job once all parts have begun. Not used if `parts` is 0 or 1.
	// RESOURCE_EXHAUSTED with google.rpc.RetryInfo while 256 jobs of the server, or 64 of the tenant, wait for parts.
	JobId string `protobuf:"bytes,2,opt,name=job_id,json=jobId,proto3" json:"job_id,omitempty"`
	// The part of the job that this call is, 0 to parts - 1. Default: 0.
	Part uint32 `protobuf:"varint,3,opt,name=part,proto3" json:"part,omitempty"`
	// Number of parts of the job, 0 to 64. Default: 0, which means 1.
	Parts         uint32 `protobuf:"varint,4,opt,name=parts,proto3" json:"parts,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Plan) Reset() {
	*x = Plan{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[1]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Plan) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Plan) ProtoMessage() {}

func (x *Plan) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[1]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Plan.ProtoReflect.Descriptor instead.
func (*Plan) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{1}
}

func (x *Plan) GetOperations() []*Operation {
	if x != nil {
		return x.Operations
	}
	return nil
}

func (x *Plan) GetJobId() string {
	if x != nil {
		return x.JobId
	}
	return ""
}

func (x *Plan) GetPart() uint32 {
	if x != nil {
		return x.Part
	}
	return 0
}

func (x *Plan) GetParts() uint32 {
	if x != nil {
		return x.Parts
	}
	return 0
}

// A message from the caller in Execute.
type ExecuteRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The first message holds the plan; all others hold chunks.
	//
	// Types that are valid to be assigned to Part:
	//
	//	*ExecuteRequest_Plan
	//	*ExecuteRequest_Chunk
	Part          isExecuteRequest_Part `protobuf_oneof:"part"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ExecuteRequest) Reset() {
	*x = ExecuteRequest{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[2]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ExecuteRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ExecuteRequest) ProtoMessage() {}

func (x *ExecuteRequest) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[2]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ExecuteRequest.ProtoReflect.Descriptor instead.
func (*ExecuteRequest) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{2}
}

func (x *ExecuteRequest) GetPart() isExecuteRequest_Part {
	if x != nil {
		return x.Part
	}
	return nil
}

func (x *ExecuteRequest) GetPlan() *Plan {
	if x != nil {
		if x, ok := x.Part.(*ExecuteRequest_Plan); ok {
			return x.Plan
		}
	}
	return nil
}

func (x *ExecuteRequest) GetChunk() *ArrayChunk {
	if x != nil {
		if x, ok := x.Part.(*ExecuteRequest_Chunk); ok {
			return x.Chunk
		}
	}
	return nil
}

type isExecuteRequest_Part interface {
	isExecuteRequest_Part()
}

type ExecuteRequest_Plan struct {
	// The work to do. The message has at most max_request_bytes bytes.
	Plan *Plan `protobuf:"bytes,1,opt,name=plan,proto3,oneof"`
}

type ExecuteRequest_Chunk struct {
	// A piece of a streamed input.
	Chunk *ArrayChunk `protobuf:"bytes,2,opt,name=chunk,proto3,oneof"`
}

func (*ExecuteRequest_Plan) isExecuteRequest_Part() {}

func (*ExecuteRequest_Chunk) isExecuteRequest_Part() {}

// The result of one operation of a plan: the response of the unary method, without the streamed bytes.
type OperationResult struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The operator's response, of the same operator as in the plan.
	//
	// Types that are valid to be assigned to Result:
	//
	//	*OperationResult_Sort
	//	*OperationResult_Merge
	//	*OperationResult_ExpandIntervals
	//	*OperationResult_MoveIntervals
	//	*OperationResult_GatherIntervals
	//	*OperationResult_ScatterIntervals
	//	*OperationResult_LoadBalance
	//	*OperationResult_Search
	//	*OperationResult_Group
	//	*OperationResult_CombineSets
	//	*OperationResult_Join
	//	*OperationResult_Select
	//	*OperationResult_Rank
	Result        isOperationResult_Result `protobuf_oneof:"result"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *OperationResult) Reset() {
	*x = OperationResult{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[3]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *OperationResult) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*OperationResult) ProtoMessage() {}

func (x *OperationResult) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[3]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use OperationResult.ProtoReflect.Descriptor instead.
func (*OperationResult) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{3}
}

func (x *OperationResult) GetResult() isOperationResult_Result {
	if x != nil {
		return x.Result
	}
	return nil
}

func (x *OperationResult) GetSort() *SortResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_Sort); ok {
			return x.Sort
		}
	}
	return nil
}

func (x *OperationResult) GetMerge() *MergeResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_Merge); ok {
			return x.Merge
		}
	}
	return nil
}

func (x *OperationResult) GetExpandIntervals() *ExpandIntervalsResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_ExpandIntervals); ok {
			return x.ExpandIntervals
		}
	}
	return nil
}

func (x *OperationResult) GetMoveIntervals() *MoveIntervalsResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_MoveIntervals); ok {
			return x.MoveIntervals
		}
	}
	return nil
}

func (x *OperationResult) GetGatherIntervals() *GatherIntervalsResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_GatherIntervals); ok {
			return x.GatherIntervals
		}
	}
	return nil
}

func (x *OperationResult) GetScatterIntervals() *ScatterIntervalsResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_ScatterIntervals); ok {
			return x.ScatterIntervals
		}
	}
	return nil
}

func (x *OperationResult) GetLoadBalance() *LoadBalanceResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_LoadBalance); ok {
			return x.LoadBalance
		}
	}
	return nil
}

func (x *OperationResult) GetSearch() *SearchResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_Search); ok {
			return x.Search
		}
	}
	return nil
}

func (x *OperationResult) GetGroup() *GroupResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_Group); ok {
			return x.Group
		}
	}
	return nil
}

func (x *OperationResult) GetCombineSets() *CombineSetsResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_CombineSets); ok {
			return x.CombineSets
		}
	}
	return nil
}

func (x *OperationResult) GetJoin() *JoinResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_Join); ok {
			return x.Join
		}
	}
	return nil
}

func (x *OperationResult) GetSelect() *SelectResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_Select); ok {
			return x.Select
		}
	}
	return nil
}

func (x *OperationResult) GetRank() *RankResponse {
	if x != nil {
		if x, ok := x.Result.(*OperationResult_Rank); ok {
			return x.Rank
		}
	}
	return nil
}

type isOperationResult_Result interface {
	isOperationResult_Result()
}

type OperationResult_Sort struct {
	// The response of Sort.
	Sort *SortResponse `protobuf:"bytes,1,opt,name=sort,proto3,oneof"`
}

type OperationResult_Merge struct {
	// The response of Merge.
	Merge *MergeResponse `protobuf:"bytes,2,opt,name=merge,proto3,oneof"`
}

type OperationResult_ExpandIntervals struct {
	// The response of ExpandIntervals.
	ExpandIntervals *ExpandIntervalsResponse `protobuf:"bytes,3,opt,name=expand_intervals,json=expandIntervals,proto3,oneof"`
}

type OperationResult_MoveIntervals struct {
	// The response of MoveIntervals.
	MoveIntervals *MoveIntervalsResponse `protobuf:"bytes,4,opt,name=move_intervals,json=moveIntervals,proto3,oneof"`
}

type OperationResult_GatherIntervals struct {
	// The response of GatherIntervals.
	GatherIntervals *GatherIntervalsResponse `protobuf:"bytes,5,opt,name=gather_intervals,json=gatherIntervals,proto3,oneof"`
}

type OperationResult_ScatterIntervals struct {
	// The response of ScatterIntervals.
	ScatterIntervals *ScatterIntervalsResponse `protobuf:"bytes,6,opt,name=scatter_intervals,json=scatterIntervals,proto3,oneof"`
}

type OperationResult_LoadBalance struct {
	// The response of LoadBalance.
	LoadBalance *LoadBalanceResponse `protobuf:"bytes,7,opt,name=load_balance,json=loadBalance,proto3,oneof"`
}

type OperationResult_Search struct {
	// The response of Search.
	Search *SearchResponse `protobuf:"bytes,8,opt,name=search,proto3,oneof"`
}

type OperationResult_Group struct {
	// The response of Group.
	Group *GroupResponse `protobuf:"bytes,9,opt,name=group,proto3,oneof"`
}

type OperationResult_CombineSets struct {
	// The response of CombineSets.
	CombineSets *CombineSetsResponse `protobuf:"bytes,10,opt,name=combine_sets,json=combineSets,proto3,oneof"`
}

type OperationResult_Join struct {
	// The response of Join.
	Join *JoinResponse `protobuf:"bytes,11,opt,name=join,proto3,oneof"`
}

type OperationResult_Select struct {
	// The response of Select.
	Select *SelectResponse `protobuf:"bytes,12,opt,name=select,proto3,oneof"`
}

type OperationResult_Rank struct {
	// The response of Rank.
	Rank *RankResponse `protobuf:"bytes,13,opt,name=rank,proto3,oneof"`
}

func (*OperationResult_Sort) isOperationResult_Result() {}

func (*OperationResult_Merge) isOperationResult_Result() {}

func (*OperationResult_ExpandIntervals) isOperationResult_Result() {}

func (*OperationResult_MoveIntervals) isOperationResult_Result() {}

func (*OperationResult_GatherIntervals) isOperationResult_Result() {}

func (*OperationResult_ScatterIntervals) isOperationResult_Result() {}

func (*OperationResult_LoadBalance) isOperationResult_Result() {}

func (*OperationResult_Search) isOperationResult_Result() {}

func (*OperationResult_Group) isOperationResult_Result() {}

func (*OperationResult_CombineSets) isOperationResult_Result() {}

func (*OperationResult_Join) isOperationResult_Result() {}

func (*OperationResult_Select) isOperationResult_Result() {}

func (*OperationResult_Rank) isOperationResult_Result() {}

// A message from the server in Execute.
type ExecuteResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// All chunks come first, then one result for each operation of the plan.
	//
	// Types that are valid to be assigned to Part:
	//
	//	*ExecuteResponse_Chunk
	//	*ExecuteResponse_Result
	Part          isExecuteResponse_Part `protobuf_oneof:"part"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ExecuteResponse) Reset() {
	*x = ExecuteResponse{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[4]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ExecuteResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ExecuteResponse) ProtoMessage() {}

func (x *ExecuteResponse) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[4]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ExecuteResponse.ProtoReflect.Descriptor instead.
func (*ExecuteResponse) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{4}
}

func (x *ExecuteResponse) GetPart() isExecuteResponse_Part {
	if x != nil {
		return x.Part
	}
	return nil
}

func (x *ExecuteResponse) GetChunk() *ArrayChunk {
	if x != nil {
		if x, ok := x.Part.(*ExecuteResponse_Chunk); ok {
			return x.Chunk
		}
	}
	return nil
}

func (x *ExecuteResponse) GetResult() *OperationResult {
	if x != nil {
		if x, ok := x.Part.(*ExecuteResponse_Result); ok {
			return x.Result
		}
	}
	return nil
}

type isExecuteResponse_Part interface {
	isExecuteResponse_Part()
}

type ExecuteResponse_Chunk struct {
	// A piece of a streamed output.
	Chunk *ArrayChunk `protobuf:"bytes,1,opt,name=chunk,proto3,oneof"`
}

type ExecuteResponse_Result struct {
	// An operation's result.
	Result *OperationResult `protobuf:"bytes,2,opt,name=result,proto3,oneof"`
}

func (*ExecuteResponse_Chunk) isExecuteResponse_Part() {}

func (*ExecuteResponse_Result) isExecuteResponse_Part() {}

// Asks for a description of the server.
type GetServerInfoRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *GetServerInfoRequest) Reset() {
	*x = GetServerInfoRequest{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[5]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *GetServerInfoRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*GetServerInfoRequest) ProtoMessage() {}

func (x *GetServerInfoRequest) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[5]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use GetServerInfoRequest.ProtoReflect.Descriptor instead.
func (*GetServerInfoRequest) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{5}
}

// A description of the server.
type GetServerInfoResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The version, as MAJOR.MINOR.PATCH.
	Version string `protobuf:"bytes,1,opt,name=version,proto3" json:"version,omitempty"`
	// The engine in use.
	Engine Engine `protobuf:"varint,2,opt,name=engine,proto3,enum=corank.v1.Engine" json:"engine,omitempty"`
	// Name of the device in use. If there are several, of the first; `devices` lists all.
	Device string `protobuf:"bytes,3,opt,name=device,proto3" json:"device,omitempty"`
	// Why the server chose this engine, as text.
	EngineReason string `protobuf:"bytes,4,opt,name=engine_reason,json=engineReason,proto3" json:"engine_reason,omitempty"`
	// Memory of the device, in bytes. If there are several, of the first.
	DeviceMemoryBytes int64 `protobuf:"varint,5,opt,name=device_memory_bytes,json=deviceMemoryBytes,proto3" json:"device_memory_bytes,omitempty"`
	// Number of requests that may run at the same time on each device. Streams and other large requests run beside them.
	Lanes int32 `protobuf:"varint,6,opt,name=lanes,proto3" json:"lanes,omitempty"`
	// Limits of requests.
	Limits *ServerLimits `protobuf:"bytes,7,opt,name=limits,proto3" json:"limits,omitempty"`
	// The places of arrays that this server offers: "inline" and "stream" always, and any of "shared_memory", "cuda_ipc"
	// and "stored".
	Places []string `protobuf:"bytes,8,rep,name=places,proto3" json:"places,omitempty"`
	// Time since the server started.
	Uptime *durationpb.Duration `protobuf:"bytes,9,opt,name=uptime,proto3" json:"uptime,omitempty"`
	// Set if `places` has "shared_memory": the prefixes of names that RegisterSharedMemory accepts, with the leading
	// slash.
	SharedMemoryPrefixes []string `protobuf:"bytes,10,rep,name=shared_memory_prefixes,json=sharedMemoryPrefixes,proto3" json:"shared_memory_prefixes,omitempty"`
	// UUID of the GPU in use, as `nvidia-smi -L` prints it. If there are several, of the first. Empty on the CPU engine.
	DeviceUuid string `protobuf:"bytes,11,opt,name=device_uuid,json=deviceUuid,proto3" json:"device_uuid,omitempty"`
	// The effective configuration, ordered by group.
	Settings []*Setting `protobuf:"bytes,12,rep,name=settings,proto3" json:"settings,omitempty"`
	// The devices that share the work, ordered by ordinal. RegisterCudaIpc accepts memory of any of them.
	Devices       []*Device `protobuf:"bytes,13,rep,name=devices,proto3" json:"devices,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *GetServerInfoResponse) Reset() {
	*x = GetServerInfoResponse{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[6]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *GetServerInfoResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*GetServerInfoResponse) ProtoMessage() {}

func (x *GetServerInfoResponse) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[6]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use GetServerInfoResponse.ProtoReflect.Descriptor instead.
func (*GetServerInfoResponse) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{6}
}

func (x *GetServerInfoResponse) GetVersion() string {
	if x != nil {
		return x.Version
	}
	return ""
}

func (x *GetServerInfoResponse) GetEngine() Engine {
	if x != nil {
		return x.Engine
	}
	return Engine_ENGINE_UNSPECIFIED
}

func (x *GetServerInfoResponse) GetDevice() string {
	if x != nil {
		return x.Device
	}
	return ""
}

func (x *GetServerInfoResponse) GetEngineReason() string {
	if x != nil {
		return x.EngineReason
	}
	return ""
}

func (x *GetServerInfoResponse) GetDeviceMemoryBytes() int64 {
	if x != nil {
		return x.DeviceMemoryBytes
	}
	return 0
}

func (x *GetServerInfoResponse) GetLanes() int32 {
	if x != nil {
		return x.Lanes
	}
	return 0
}

func (x *GetServerInfoResponse) GetLimits() *ServerLimits {
	if x != nil {
		return x.Limits
	}
	return nil
}

func (x *GetServerInfoResponse) GetPlaces() []string {
	if x != nil {
		return x.Places
	}
	return nil
}

func (x *GetServerInfoResponse) GetUptime() *durationpb.Duration {
	if x != nil {
		return x.Uptime
	}
	return nil
}

func (x *GetServerInfoResponse) GetSharedMemoryPrefixes() []string {
	if x != nil {
		return x.SharedMemoryPrefixes
	}
	return nil
}

func (x *GetServerInfoResponse) GetDeviceUuid() string {
	if x != nil {
		return x.DeviceUuid
	}
	return ""
}

func (x *GetServerInfoResponse) GetSettings() []*Setting {
	if x != nil {
		return x.Settings
	}
	return nil
}

func (x *GetServerInfoResponse) GetDevices() []*Device {
	if x != nil {
		return x.Devices
	}
	return nil
}

// A device of the server.
type Device struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The number by which responses, metrics, health services and logs name the device. GPUs are numbered from 0 among
	// those that the driver shows to the server.
	Ordinal int32 `protobuf:"varint,1,opt,name=ordinal,proto3" json:"ordinal,omitempty"`
	// Its name, as the driver or the operating system gives it.
	Name string `protobuf:"bytes,2,opt,name=name,proto3" json:"name,omitempty"`
	// UUID of a GPU, as `nvidia-smi -L` prints it. Empty for a CPU.
	Uuid string `protobuf:"bytes,3,opt,name=uuid,proto3" json:"uuid,omitempty"`
	// Its memory, in bytes.
	MemoryBytes int64 `protobuf:"varint,4,opt,name=memory_bytes,json=memoryBytes,proto3" json:"memory_bytes,omitempty"`
	// Whether the device takes work: it is not lost, and its results passed the server's last self-test.
	Up            bool `protobuf:"varint,5,opt,name=up,proto3" json:"up,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Device) Reset() {
	*x = Device{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[7]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Device) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Device) ProtoMessage() {}

func (x *Device) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[7]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Device.ProtoReflect.Descriptor instead.
func (*Device) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{7}
}

func (x *Device) GetOrdinal() int32 {
	if x != nil {
		return x.Ordinal
	}
	return 0
}

func (x *Device) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Device) GetUuid() string {
	if x != nil {
		return x.Uuid
	}
	return ""
}

func (x *Device) GetMemoryBytes() int64 {
	if x != nil {
		return x.MemoryBytes
	}
	return 0
}

func (x *Device) GetUp() bool {
	if x != nil {
		return x.Up
	}
	return false
}

// One setting of the server's configuration.
type Setting struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The group, as `corankd --help` lists it, such as "queue".
	Group string `protobuf:"bytes,1,opt,name=group,proto3" json:"group,omitempty"`
	// The name, such as "max-queued-bytes".
	Name string `protobuf:"bytes,2,opt,name=name,proto3" json:"name,omitempty"`
	// The value in use, as the configuration file would hold it.
	Value string `protobuf:"bytes,3,opt,name=value,proto3" json:"value,omitempty"`
	// The default value.
	DefaultValue string `protobuf:"bytes,4,opt,name=default_value,json=defaultValue,proto3" json:"default_value,omitempty"`
	// The source of the value.
	Source SettingSource `protobuf:"varint,5,opt,name=source,proto3,enum=corank.v1.SettingSource" json:"source,omitempty"`
	// Whether the server hides the value from callers because it is a secret or a path, or names tenants. `value` is then
	// empty.
	Hidden        bool `protobuf:"varint,6,opt,name=hidden,proto3" json:"hidden,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Setting) Reset() {
	*x = Setting{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[8]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Setting) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Setting) ProtoMessage() {}

func (x *Setting) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[8]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Setting.ProtoReflect.Descriptor instead.
func (*Setting) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{8}
}

func (x *Setting) GetGroup() string {
	if x != nil {
		return x.Group
	}
	return ""
}

func (x *Setting) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Setting) GetValue() string {
	if x != nil {
		return x.Value
	}
	return ""
}

func (x *Setting) GetDefaultValue() string {
	if x != nil {
		return x.DefaultValue
	}
	return ""
}

func (x *Setting) GetSource() SettingSource {
	if x != nil {
		return x.Source
	}
	return SettingSource_SETTING_SOURCE_UNSPECIFIED
}

func (x *Setting) GetHidden() bool {
	if x != nil {
		return x.Hidden
	}
	return false
}

// Limits of requests. Defaults are those of a server that nobody configured.
type ServerLimits struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Largest request message, in bytes. Default: 256 MiB. INVALID_ARGUMENT beyond it.
	MaxRequestBytes int64 `protobuf:"varint,1,opt,name=max_request_bytes,json=maxRequestBytes,proto3" json:"max_request_bytes,omitempty"`
	// Largest response message, in bytes. Default: 256 MiB. INVALID_ARGUMENT if the inline results do not fit: they may
	// have 512 bytes less, and another 64 less for each key column.
	MaxResponseBytes int64 `protobuf:"varint,2,opt,name=max_response_bytes,json=maxResponseBytes,proto3" json:"max_response_bytes,omitempty"`
	// Limit of waiting requests. Default: 1024. RESOURCE_EXHAUSTED beyond it.
	MaxQueuedRequests int32 `protobuf:"varint,3,opt,name=max_queued_requests,json=maxQueuedRequests,proto3" json:"max_queued_requests,omitempty"`
	// Limit of the bytes of waiting requests. Default: 4 GiB. RESOURCE_EXHAUSTED beyond it.
	MaxQueuedBytes int64 `protobuf:"varint,4,opt,name=max_queued_bytes,json=maxQueuedBytes,proto3" json:"max_queued_bytes,omitempty"`
	// Largest data of an ArrayChunk in either direction, in bytes: 4 MiB.
	MaxChunkBytes int64 `protobuf:"varint,5,opt,name=max_chunk_bytes,json=maxChunkBytes,proto3" json:"max_chunk_bytes,omitempty"`
	// Largest number of inputs of a Merge: 1024.
	MaxMergeInputs int32 `protobuf:"varint,6,opt,name=max_merge_inputs,json=maxMergeInputs,proto3" json:"max_merge_inputs,omitempty"`
	// Largest number of parts of a job: 64.
	MaxParts int32 `protobuf:"varint,7,opt,name=max_parts,json=maxParts,proto3" json:"max_parts,omitempty"`
	// Host memory that holds the waiting chunks of one Execute call, in bytes, and as much again for its outputs.
	// Default: 64 MiB.
	StreamWindowBytes int64 `protobuf:"varint,8,opt,name=stream_window_bytes,json=streamWindowBytes,proto3" json:"stream_window_bytes,omitempty"`
	// Device memory that the arrays of one request may take if they are streamed, or sorted or merged in pieces, in
	// bytes. Merges, and sorts of keys without segments, work out of core if they have more than half as many bytes
	// (RequestStats.out_of_core). Sorts by columns or segments do if they need more bytes than this in all. So do a
	// Search and an interval operator with streams of more bytes than this, if they are the only operation of the plan.
	// Default: three quarters of the device's memory, divided by the number
	// of long requests that share the device, at most four.
	MaxDeviceBytes int64 `protobuf:"varint,9,opt,name=max_device_bytes,json=maxDeviceBytes,proto3" json:"max_device_bytes,omitempty"`
	unknownFields  protoimpl.UnknownFields
	sizeCache      protoimpl.SizeCache
}

func (x *ServerLimits) Reset() {
	*x = ServerLimits{}
	mi := &file_corank_v1_corank_service_proto_msgTypes[9]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ServerLimits) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ServerLimits) ProtoMessage() {}

func (x *ServerLimits) ProtoReflect() protoreflect.Message {
	mi := &file_corank_v1_corank_service_proto_msgTypes[9]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ServerLimits.ProtoReflect.Descriptor instead.
func (*ServerLimits) Descriptor() ([]byte, []int) {
	return file_corank_v1_corank_service_proto_rawDescGZIP(), []int{9}
}

func (x *ServerLimits) GetMaxRequestBytes() int64 {
	if x != nil {
		return x.MaxRequestBytes
	}
	return 0
}

func (x *ServerLimits) GetMaxResponseBytes() int64 {
	if x != nil {
		return x.MaxResponseBytes
	}
	return 0
}

func (x *ServerLimits) GetMaxQueuedRequests() int32 {
	if x != nil {
		return x.MaxQueuedRequests
	}
	return 0
}

func (x *ServerLimits) GetMaxQueuedBytes() int64 {
	if x != nil {
		return x.MaxQueuedBytes
	}
	return 0
}

func (x *ServerLimits) GetMaxChunkBytes() int64 {
	if x != nil {
		return x.MaxChunkBytes
	}
	return 0
}

func (x *ServerLimits) GetMaxMergeInputs() int32 {
	if x != nil {
		return x.MaxMergeInputs
	}
	return 0
}

func (x *ServerLimits) GetMaxParts() int32 {
	if x != nil {
		return x.MaxParts
	}
	return 0
}

func (x *ServerLimits) GetStreamWindowBytes() int64 {
	if x != nil {
		return x.StreamWindowBytes
	}
	return 0
}

func (x *ServerLimits) GetMaxDeviceBytes() int64 {
	if x != nil {
		return x.MaxDeviceBytes
	}
	return 0
}

var File_corank_v1_corank_service_proto protoreflect.FileDescriptor

const file_corank_v1_corank_service_proto_rawDesc = "" +
	"\n" +
	"\x1ecorank/v1/corank_service.proto\x12\tcorank.v1\x1a\x15corank/v1/array.proto\x1a\x15corank/v1/group.proto\x1a\x14corank/v1/join.proto\x1a\x19corank/v1/operators.proto\x1a\x14corank/v1/rank.proto\x1a\x16corank/v1/select.proto\x1a\x14corank/v1/sets.proto\x1a\x1egoogle/protobuf/duration.proto\"\xb1\x06\n" +
	"\tOperation\x12,\n" +
	"\x04sort\x18\x01 \x01(\v2\x16.corank.v1.SortRequestH\x00R\x04sort\x12/\n" +
	"\x05merge\x18\x02 \x01(\v2\x17.corank.v1.MergeRequestH\x00R\x05merge\x12N\n" +
	"\x10expand_intervals\x18\x03 \x01(\v2!.corank.v1.ExpandIntervalsRequestH\x00R\x0fexpandIntervals\x12H\n" +
	"\x0emove_intervals\x18\x04 \x01(\v2\x1f.corank.v1.MoveIntervalsRequestH\x00R\rmoveIntervals\x12N\n" +
	"\x10gather_intervals\x18\x05 \x01(\v2!.corank.v1.GatherIntervalsRequestH\x00R\x0fgatherIntervals\x12Q\n" +
	"\x11scatter_intervals\x18\x06 \x01(\v2\".corank.v1.ScatterIntervalsRequestH\x00R\x10scatterIntervals\x12B\n" +
	"\fload_balance\x18\a \x01(\v2\x1d.corank.v1.LoadBalanceRequestH\x00R\vloadBalance\x122\n" +
	"\x06search\x18\b \x01(\v2\x18.corank.v1.SearchRequestH\x00R\x06search\x12/\n" +
	"\x05group\x18\t \x01(\v2\x17.corank.v1.GroupRequestH\x00R\x05group\x12B\n" +
	"\fcombine_sets\x18\n" +
	" \x01(\v2\x1d.corank.v1.CombineSetsRequestH\x00R\vcombineSets\x12,\n" +
	"\x04join\x18\v \x01(\v2\x16.corank.v1.JoinRequestH\x00R\x04join\x122\n" +
	"\x06select\x18\f \x01(\v2\x18.corank.v1.SelectRequestH\x00R\x06select\x12,\n" +
	"\x04rank\x18\r \x01(\v2\x16.corank.v1.RankRequestH\x00R\x04rankB\v\n" +
	"\toperation\"}\n" +
	"\x04Plan\x124\n" +
	"\n" +
	"operations\x18\x01 \x03(\v2\x14.corank.v1.OperationR\n" +
	"operations\x12\x15\n" +
	"\x06job_id\x18\x02 \x01(\tR\x05jobId\x12\x12\n" +
	"\x04part\x18\x03 \x01(\rR\x04part\x12\x14\n" +
	"\x05parts\x18\x04 \x01(\rR\x05parts\"n\n" +
	"\x0eExecuteRequest\x12%\n" +
	"\x04plan\x18\x01 \x01(\v2\x0f.corank.v1.PlanH\x00R\x04plan\x12-\n" +
	"\x05chunk\x18\x02 \x01(\v2\x15.corank.v1.ArrayChunkH\x00R\x05chunkB\x06\n" +
	"\x04part\"\xc1\x06\n" +
	"\x0fOperationResult\x12-\n" +
	"\x04sort\x18\x01 \x01(\v2\x17.corank.v1.SortResponseH\x00R\x04sort\x120\n" +
	"\x05merge\x18\x02 \x01(\v2\x18.corank.v1.MergeResponseH\x00R\x05merge\x12O\n" +
	"\x10expand_intervals\x18\x03 \x01(\v2\".corank.v1.ExpandIntervalsResponseH\x00R\x0fexpandIntervals\x12I\n" +
	"\x0emove_intervals\x18\x04 \x01(\v2 .corank.v1.MoveIntervalsResponseH\x00R\rmoveIntervals\x12O\n" +
	"\x10gather_intervals\x18\x05 \x01(\v2\".corank.v1.GatherIntervalsResponseH\x00R\x0fgatherIntervals\x12R\n" +
	"\x11scatter_intervals\x18\x06 \x01(\v2#.corank.v1.ScatterIntervalsResponseH\x00R\x10scatterIntervals\x12C\n" +
	"\fload_balance\x18\a \x01(\v2\x1e.corank.v1.LoadBalanceResponseH\x00R\vloadBalance\x123\n" +
	"\x06search\x18\b \x01(\v2\x19.corank.v1.SearchResponseH\x00R\x06search\x120\n" +
	"\x05group\x18\t \x01(\v2\x18.corank.v1.GroupResponseH\x00R\x05group\x12C\n" +
	"\fcombine_sets\x18\n" +
	" \x01(\v2\x1e.corank.v1.CombineSetsResponseH\x00R\vcombineSets\x12-\n" +
	"\x04join\x18\v \x01(\v2\x17.corank.v1.JoinResponseH\x00R\x04join\x123\n" +
	"\x06select\x18\f \x01(\v2\x19.corank.v1.SelectResponseH\x00R\x06select\x12-\n" +
	"\x04rank\x18\r \x01(\v2\x17.corank.v1.RankResponseH\x00R\x04rankB\b\n" +
	"\x06result\"~\n" +
	"\x0fExecuteResponse\x12-\n" +
	"\x05chunk\x18\x01 \x01(\v2\x15.corank.v1.ArrayChunkH\x00R\x05chunk\x124\n" +
	"\x06result\x18\x02 \x01(\v2\x1a.corank.v1.OperationResultH\x00R\x06resultB\x06\n" +
	"\x04part\"\x16\n" +
	"\x14GetServerInfoRequest\"\x8f\x04\n" +
	"\x15GetServerInfoResponse\x12\x18\n" +
	"\aversion\x18\x01 \x01(\tR\aversion\x12)\n" +
	"\x06engine\x18\x02 \x01(\x0e2\x11.corank.v1.EngineR\x06engine\x12\x16\n" +
	"\x06device\x18\x03 \x01(\tR\x06device\x12#\n" +
	"\rengine_reason\x18\x04 \x01(\tR\fengineReason\x12.\n" +
	"\x13device_memory_bytes\x18\x05 \x01(\x03R\x11deviceMemoryBytes\x12\x14\n" +
	"\x05lanes\x18\x06 \x01(\x05R\x05lanes\x12/\n" +
	"\x06limits\x18\a \x01(\v2\x17.corank.v1.ServerLimitsR\x06limits\x12\x16\n" +
	"\x06places\x18\b \x03(\tR\x06places\x121\n" +
	"\x06uptime\x18\t \x01(\v2\x19.google.protobuf.DurationR\x06uptime\x124\n" +
	"\x16shared_memory_prefixes\x18\n" +
	" \x03(\tR\x14sharedMemoryPrefixes\x12\x1f\n" +
	"\vdevice_uuid\x18\v \x01(\tR\n" +
	"deviceUuid\x12.\n" +
	"\bsettings\x18\f \x03(\v2\x12.corank.v1.SettingR\bsettings\x12+\n" +
	"\adevices\x18\r \x03(\v2\x11.corank.v1.DeviceR\adevices\"}\n" +
	"\x06Device\x12\x18\n" +
	"\aordinal\x18\x01 \x01(\x05R\aordinal\x12\x12\n" +
	"\x04name\x18\x02 \x01(\tR\x04name\x12\x12\n" +
	"\x04uuid\x18\x03 \x01(\tR\x04uuid\x12!\n" +
	"\fmemory_bytes\x18\x04 \x01(\x03R\vmemoryBytes\x12\x0e\n" +
	"\x02up\x18\x05 \x01(\bR\x02up\"\xb8\x01\n" +
	"\aSetting\x12\x14\n" +
	"\x05group\x18\x01 \x01(\tR\x05group\x12\x12\n" +
	"\x04name\x18\x02 \x01(\tR\x04name\x12\x14\n" +
	"\x05value\x18\x03 \x01(\tR\x05value\x12#\n" +
	"\rdefault_value\x18\x04 \x01(\tR\fdefaultValue\x120\n" +
	"\x06source\x18\x05 \x01(\x0e2\x18.corank.v1.SettingSourceR\x06source\x12\x16\n" +
	"\x06hidden\x18\x06 \x01(\bR\x06hidden\"\x8b\x03\n" +
	"\fServerLimits\x12*\n" +
	"\x11max_request_bytes\x18\x01 \x01(\x03R\x0fmaxRequestBytes\x12,\n" +
	"\x12max_response_bytes\x18\x02 \x01(\x03R\x10maxResponseBytes\x12.\n" +
	"\x13max_queued_requests\x18\x03 \x01(\x05R\x11maxQueuedRequests\x12(\n" +
	"\x10max_queued_bytes\x18\x04 \x01(\x03R\x0emaxQueuedBytes\x12&\n" +
	"\x0fmax_chunk_bytes\x18\x05 \x01(\x03R\rmaxChunkBytes\x12(\n" +
	"\x10max_merge_inputs\x18\x06 \x01(\x05R\x0emaxMergeInputs\x12\x1b\n" +
	"\tmax_parts\x18\a \x01(\x05R\bmaxParts\x12.\n" +
	"\x13stream_window_bytes\x18\b \x01(\x03R\x11streamWindowBytes\x12(\n" +
	"\x10max_device_bytes\x18\t \x01(\x03R\x0emaxDeviceBytes*\x9d\x01\n" +
	"\rSettingSource\x12\x1e\n" +
	"\x1aSETTING_SOURCE_UNSPECIFIED\x10\x00\x12\x1a\n" +
	"\x16SETTING_SOURCE_DEFAULT\x10\x01\x12\x17\n" +
	"\x13SETTING_SOURCE_FILE\x10\x02\x12\x1e\n" +
	"\x1aSETTING_SOURCE_ENVIRONMENT\x10\x03\x12\x17\n" +
	"\x13SETTING_SOURCE_FLAG\x10\x042\xcb\b\n" +
	"\rCorankService\x127\n" +
	"\x04Sort\x12\x16.corank.v1.SortRequest\x1a\x17.corank.v1.SortResponse\x12:\n" +
	"\x05Merge\x12\x17.corank.v1.MergeRequest\x1a\x18.corank.v1.MergeResponse\x12X\n" +
	"\x0fExpandIntervals\x12!.corank.v1.ExpandIntervalsRequest\x1a\".corank.v1.ExpandIntervalsResponse\x12R\n" +
	"\rMoveIntervals\x12\x1f.corank.v1.MoveIntervalsRequest\x1a .corank.v1.MoveIntervalsResponse\x12X\n" +
	"\x0fGatherIntervals\x12!.corank.v1.GatherIntervalsRequest\x1a\".corank.v1.GatherIntervalsResponse\x12[\n" +
	"\x10ScatterIntervals\x12\".corank.v1.ScatterIntervalsRequest\x1a#.corank.v1.ScatterIntervalsResponse\x12L\n" +
	"\vLoadBalance\x12\x1d.corank.v1.LoadBalanceRequest\x1a\x1e.corank.v1.LoadBalanceResponse\x12=\n" +
	"\x06Search\x12\x18.corank.v1.SearchRequest\x1a\x19.corank.v1.SearchResponse\x12:\n" +
	"\x05Group\x12\x17.corank.v1.GroupRequest\x1a\x18.corank.v1.GroupResponse\x12L\n" +
	"\vCombineSets\x12\x1d.corank.v1.CombineSetsRequest\x1a\x1e.corank.v1.CombineSetsResponse\x127\n" +
	"\x04Join\x12\x16.corank.v1.JoinRequest\x1a\x17.corank.v1.JoinResponse\x12=\n" +
	"\x06Select\x12\x18.corank.v1.SelectRequest\x1a\x19.corank.v1.SelectResponse\x127\n" +
	"\x04Rank\x12\x16.corank.v1.RankRequest\x1a\x17.corank.v1.RankResponse\x12D\n" +
	"\aExecute\x12\x19.corank.v1.ExecuteRequest\x1a\x1a.corank.v1.ExecuteResponse(\x010\x01\x12R\n" +
	"\rGetServerInfo\x12\x1f.corank.v1.GetServerInfoRequest\x1a .corank.v1.GetServerInfoResponseBY\n" +
	"\x13io.github.corank.v1P\x01Z4github.com/corank/corank/client/go/corankpb;corankpb\xaa\x02\tCorank.V1b\x06proto3"

var (
	file_corank_v1_corank_service_proto_rawDescOnce sync.Once
	file_corank_v1_corank_service_proto_rawDescData []byte
)

func file_corank_v1_corank_service_proto_rawDescGZIP() []byte {
	file_corank_v1_corank_service_proto_rawDescOnce.Do(func() {
		file_corank_v1_corank_service_proto_rawDescData = protoimpl.X.CompressGZIP(unsafe.Slice(unsafe.StringData(file_corank_v1_corank_service_proto_rawDesc), len(file_corank_v1_corank_service_proto_rawDesc)))
	})
	return file_corank_v1_corank_service_proto_rawDescData
}

var file_corank_v1_corank_service_proto_enumTypes = make([]protoimpl.EnumInfo, 1)
var file_corank_v1_corank_service_proto_msgTypes = make([]protoimpl.MessageInfo, 10)
var file_corank_v1_corank_service_proto_goTypes = []any{
	(SettingSource)(0),               // 0: corank.v1.SettingSource
	(*Operation)(nil),                // 1: corank.v1.Operation
	(*Plan)(nil),                     // 2: corank.v1.Plan
	(*ExecuteRequest)(nil),           // 3: corank.v1.ExecuteRequest
	(*OperationResult)(nil),          // 4: corank.v1.OperationResult
	(*ExecuteResponse)(nil),          // 5: corank.v1.ExecuteResponse
	(*GetServerInfoRequest)(nil),     // 6: corank.v1.GetServerInfoRequest
	(*GetServerInfoResponse)(nil),    // 7: corank.v1.GetServerInfoResponse
	(*Device)(nil),                   // 8: corank.v1.Device
	(*Setting)(nil),                  // 9: corank.v1.Setting
	(*ServerLimits)(nil),             // 10: corank.v1.ServerLimits
	(*SortRequest)(nil),              // 11: corank.v1.SortRequest
	(*MergeRequest)(nil),             // 12: corank.v1.MergeRequest
	(*ExpandIntervalsRequest)(nil),   // 13: corank.v1.ExpandIntervalsRequest
	(*MoveIntervalsRequest)(nil),     // 14: corank.v1.MoveIntervalsRequest
	(*GatherIntervalsRequest)(nil),   // 15: corank.v1.GatherIntervalsRequest
	(*ScatterIntervalsRequest)(nil),  // 16: corank.v1.ScatterIntervalsRequest
	(*LoadBalanceRequest)(nil),       // 17: corank.v1.LoadBalanceRequest
	(*SearchRequest)(nil),            // 18: corank.v1.SearchRequest
	(*GroupRequest)(nil),             // 19: corank.v1.GroupRequest
	(*CombineSetsRequest)(nil),       // 20: corank.v1.CombineSetsRequest
	(*JoinRequest)(nil),              // 21: corank.v1.JoinRequest
	(*SelectRequest)(nil),            // 22: corank.v1.SelectRequest
	(*RankRequest)(nil),              // 23: corank.v1.RankRequest
	(*ArrayChunk)(nil),               // 24: corank.v1.ArrayChunk
	(*SortResponse)(nil),             // 25: corank.v1.SortResponse
	(*MergeResponse)(nil),            // 26: corank.v1.MergeResponse
	(*ExpandIntervalsResponse)(nil),  // 27: corank.v1.ExpandIntervalsResponse
	(*MoveIntervalsResponse)(nil),    // 28: corank.v1.MoveIntervalsResponse
	(*GatherIntervalsResponse)(nil),  // 29: corank.v1.GatherIntervalsResponse
	(*ScatterIntervalsResponse)(nil), // 30: corank.v1.ScatterIntervalsResponse
	(*LoadBalanceResponse)(nil),      // 31: corank.v1.LoadBalanceResponse
	(*SearchResponse)(nil),           // 32: corank.v1.SearchResponse
	(*GroupResponse)(nil),            // 33: corank.v1.GroupResponse
	(*CombineSetsResponse)(nil),      // 34: corank.v1.CombineSetsResponse
	(*JoinResponse)(nil),             // 35: corank.v1.JoinResponse
	(*SelectResponse)(nil),           // 36: corank.v1.SelectResponse
	(*RankResponse)(nil),             // 37: corank.v1.RankResponse
	(Engine)(0),                      // 38: corank.v1.Engine
	(*durationpb.Duration)(nil),      // 39: google.protobuf.Duration
}
var file_corank_v1_corank_service_proto_depIdxs = []int32{
	11, // 0: corank.v1.Operation.sort:type_name -> corank.v1.SortRequest
	12, // 1: corank.v1.Operation.merge:type_name -> corank.v1.MergeRequest
	13, // 2: corank.v1.Operation.expand_intervals:type_name -> corank.v1.ExpandIntervalsRequest
	14, // 3: corank.v1.Operation.move_intervals:type_name -> corank.v1.MoveIntervalsRequest
	15, // 4: corank.v1.Operation.gather_intervals:type_name -> corank.v1.GatherIntervalsRequest
	16, // 5: corank.v1.Operation.scatter_intervals:type_name -> corank.v1.ScatterIntervalsRequest
	17, // 6: corank.v1.Operation.load_balance:type_name -> corank.v1.LoadBalanceRequest
	18, // 7: corank.v1.Operation.search:type_name -> corank.v1.SearchRequest
	19, // 8: corank.v1.Operation.group:type_name -> corank.v1.GroupRequest
	20, // 9: corank.v1.Operation.combine_sets:type_name -> corank.v1.CombineSetsRequest
	21, // 10: corank.v1.Operation.join:type_name -> corank.v1.JoinRequest
	22, // 11: corank.v1.Operation.select:type_name -> corank.v1.SelectRequest
	23, // 12: corank.v1.Operation.rank:type_name -> corank.v1.RankRequest
	1,  // 13: corank.v1.Plan.operations:type_name -> corank.v1.Operation
	2,  // 14: corank.v1.ExecuteRequest.plan:type_name -> corank.v1.Plan
	24, // 15: corank.v1.ExecuteRequest.chunk:type_name -> corank.v1.ArrayChunk
	25, // 16: corank.v1.OperationResult.sort:type_name -> corank.v1.SortResponse
	26, // 17: corank.v1.OperationResult.merge:type_name -> corank.v1.MergeResponse
	27, // 18: corank.v1.OperationResult.expand_intervals:type_name -> corank.v1.ExpandIntervalsResponse
	28, // 19: corank.v1.OperationResult.move_intervals:type_name -> corank.v1.MoveIntervalsResponse
	29, // 20: corank.v1.OperationResult.gather_intervals:type_name -> corank.v1.GatherIntervalsResponse
	30, // 21: corank.v1.OperationResult.scatter_intervals:type_name -> corank.v1.ScatterIntervalsResponse
	31, // 22: corank.v1.OperationResult.load_balance:type_name -> corank.v1.LoadBalanceResponse
	32, // 23: corank.v1.OperationResult.search:type_name -> corank.v1.SearchResponse
	33, // 24: corank.v1.OperationResult.group:type_name -> corank.v1.GroupResponse
	34, // 25: corank.v1.OperationResult.combine_sets:type_name -> corank.v1.CombineSetsResponse
	35, // 26: corank.v1.OperationResult.join:type_name -> corank.v1.JoinResponse
	36, // 27: corank.v1.OperationResult.select:type_name -> corank.v1.SelectResponse
	37, // 28: corank.v1.OperationResult.rank:type_name -> corank.v1.RankResponse
	24, // 29: corank.v1.ExecuteResponse.chunk:type_name -> corank.v1.ArrayChunk
	4,  // 30: corank.v1.ExecuteResponse.result:type_name -> corank.v1.OperationResult
	38, // 31: corank.v1.GetServerInfoResponse.engine:type_name -> corank.v1.Engine
	10, // 32: corank.v1.GetServerInfoResponse.limits:type_name -> corank.v1.ServerLimits
	39, // 33: corank.v1.GetServerInfoResponse.uptime:type_name -> google.protobuf.Duration
	9,  // 34: corank.v1.GetServerInfoResponse.settings:type_name -> corank.v1.Setting
	8,  // 35: corank.v1.GetServerInfoResponse.devices:type_name -> corank.v1.Device
	0,  // 36: corank.v1.Setting.source:type_name -> corank.v1.SettingSource
	11, // 37: corank.v1.CorankService.Sort:input_type -> corank.v1.SortRequest
	12, // 38: corank.v1.CorankService.Merge:input_type -> corank.v1.MergeRequest
	13, // 39: corank.v1.CorankService.ExpandIntervals:input_type -> corank.v1.ExpandIntervalsRequest
	14, // 40: corank.v1.CorankService.MoveIntervals:input_type -> corank.v1.MoveIntervalsRequest
	15, // 41: corank.v1.CorankService.GatherIntervals:input_type -> corank.v1.GatherIntervalsRequest
	16, // 42: corank.v1.CorankService.ScatterIntervals:input_type -> corank.v1.ScatterIntervalsRequest
	17, // 43: corank.v1.CorankService.LoadBalance:input_type -> corank.v1.LoadBalanceRequest
	18, // 44: corank.v1.CorankService.Search:input_type -> corank.v1.SearchRequest
	19, // 45: corank.v1.CorankService.Group:input_type -> corank.v1.GroupRequest
	20, // 46: corank.v1.CorankService.CombineSets:input_type -> corank.v1.CombineSetsRequest
	21, // 47: corank.v1.CorankService.Join:input_type -> corank.v1.JoinRequest
	22, // 48: corank.v1.CorankService.Select:input_type -> corank.v1.SelectRequest
	23, // 49: corank.v1.CorankService.Rank:input_type -> corank.v1.RankRequest
	3,  // 50: corank.v1.CorankService.Execute:input_type -> corank.v1.ExecuteRequest
	6,  // 51: corank.v1.CorankService.GetServerInfo:input_type -> corank.v1.GetServerInfoRequest
	25, // 52: corank.v1.CorankService.Sort:output_type -> corank.v1.SortResponse
	26, // 53: corank.v1.CorankService.Merge:output_type -> corank.v1.MergeResponse
	27, // 54: corank.v1.CorankService.ExpandIntervals:output_type -> corank.v1.ExpandIntervalsResponse
	28, // 55: corank.v1.CorankService.MoveIntervals:output_type -> corank.v1.MoveIntervalsResponse
	29, // 56: corank.v1.CorankService.GatherIntervals:output_type -> corank.v1.GatherIntervalsResponse
	30, // 57: corank.v1.CorankService.ScatterIntervals:output_type -> corank.v1.ScatterIntervalsResponse
	31, // 58: corank.v1.CorankService.LoadBalance:output_type -> corank.v1.LoadBalanceResponse
	32, // 59: corank.v1.CorankService.Search:output_type -> corank.v1.SearchResponse
	33, // 60: corank.v1.CorankService.Group:output_type -> corank.v1.GroupResponse
	34, // 61: corank.v1.CorankService.CombineSets:output_type -> corank.v1.CombineSetsResponse
	35, // 62: corank.v1.CorankService.Join:output_type -> corank.v1.JoinResponse
	36, // 63: corank.v1.CorankService.Select:output_type -> corank.v1.SelectResponse
	37, // 64: corank.v1.CorankService.Rank:output_type -> corank.v1.RankResponse
	5,  // 65: corank.v1.CorankService.Execute:output_type -> corank.v1.ExecuteResponse
	7,  // 66: corank.v1.CorankService.GetServerInfo:output_type -> corank.v1.GetServerInfoResponse
	52, // [52:67] is the sub-list for method output_type
	37, // [37:52] is the sub-list for method input_type
	37, // [37:37] is the sub-list for extension type_name
	37, // [37:37] is the sub-list for extension extendee
	0,  // [0:37] is the sub-list for field type_name
}

func init() { file_corank_v1_corank_service_proto_init() }
func file_corank_v1_corank_service_proto_init() {
	if File_corank_v1_corank_service_proto != nil {
		return
	}
	file_corank_v1_array_proto_init()
	file_corank_v1_group_proto_init()
	file_corank_v1_join_proto_init()
	file_corank_v1_operators_proto_init()
	file_corank_v1_rank_proto_init()
	file_corank_v1_select_proto_init()
	file_corank_v1_sets_proto_init()
	file_corank_v1_corank_service_proto_msgTypes[0].OneofWrappers = []any{
		(*Operation_Sort)(nil),
		(*Operation_Merge)(nil),
		(*Operation_ExpandIntervals)(nil),
		(*Operation_MoveIntervals)(nil),
		(*Operation_GatherIntervals)(nil),
		(*Operation_ScatterIntervals)(nil),
		(*Operation_LoadBalance)(nil),
		(*Operation_Search)(nil),
		(*Operation_Group)(nil),
		(*Operation_CombineSets)(nil),
		(*Operation_Join)(nil),
		(*Operation_Select)(nil),
		(*Operation_Rank)(nil),
	}
	file_corank_v1_corank_service_proto_msgTypes[2].OneofWrappers = []any{
		(*ExecuteRequest_Plan)(nil),
		(*ExecuteRequest_Chunk)(nil),
	}
	file_corank_v1_corank_service_proto_msgTypes[3].OneofWrappers = []any{
		(*OperationResult_Sort)(nil),
		(*OperationResult_Merge)(nil),
		(*OperationResult_ExpandIntervals)(nil),
		(*OperationResult_MoveIntervals)(nil),
		(*OperationResult_GatherIntervals)(nil),
		(*OperationResult_ScatterIntervals)(nil),
		(*OperationResult_LoadBalance)(nil),
		(*OperationResult_Search)(nil),
		(*OperationResult_Group)(nil),
		(*OperationResult_CombineSets)(nil),
		(*OperationResult_Join)(nil),
		(*OperationResult_Select)(nil),
		(*OperationResult_Rank)(nil),
	}
	file_corank_v1_corank_service_proto_msgTypes[4].OneofWrappers = []any{
		(*ExecuteResponse_Chunk)(nil),
		(*ExecuteResponse_Result)(nil),
	}
	type x struct{}
	out := protoimpl.TypeBuilder{
		File: protoimpl.DescBuilder{
			GoPackagePath: reflect.TypeOf(x{}).PkgPath(),
			RawDescriptor: unsafe.Slice(unsafe.StringData(file_corank_v1_corank_service_proto_rawDesc), len(file_corank_v1_corank_service_proto_rawDesc)),
			NumEnums:      1,
			NumMessages:   10,
			NumExtensions: 0,
			NumServices:   1,
		},
		GoTypes:           file_corank_v1_corank_service_proto_goTypes,
		DependencyIndexes: file_corank_v1_corank_service_proto_depIdxs,
		EnumInfos:         file_corank_v1_corank_service_proto_enumTypes,
		MessageInfos:      file_corank_v1_corank_service_proto_msgTypes,
	}.Build()
	File_corank_v1_corank_service_proto = out.File
	file_corank_v1_corank_service_proto_goTypes = nil
	file_corank_v1_corank_service_proto_depIdxs = nil
}
