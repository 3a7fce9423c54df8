#include "server/rpc/array_transfer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/common/types.h"
#include "proto/payloads.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/rpc/idle_watch.h"
#include "server/rpc/memory_service.h"
#include "server/rpc/owned_slice.h"
#include "server/rpc/small_message.h"
#include "server/run/stream_options.h"

namespace corank {
namespace {

// The header's array as an operand whose bytes have not arrived yet.
class AnnouncedPlaces final : public InlinePlaces {
 public:
  absl::Status Find(const v1::Array& array, Field field, ArrayUse, Operand* operand) const override {
    if (!array.has_count() || array.count() < 0) return InvalidField(field.Sub("count"), "required, 0 or more");
    if (array.count() > std::numeric_limits<int64_t>::max() / operand->element_bytes) {
      return TooLargeField(field.Sub("count"), absl::StrCat(array.count(), " elements are too many"));
    }
    operand->count = array.count();
    operand->is_pending = true;
    return absl::OkStatus();
  }
};

class StoreCall final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  StoreCall(const MemoryEnvironment& environment, FoundCaller caller, grpc::CallbackServerContext* context,
            grpc::ByteBuffer* response)
      : environment_(environment), caller_(std::move(caller)), context_(context), response_(response) {
    environment_.active_calls->Add();
    watch_ = IdleWatch::Create(environment_.idle_timeout, [this] {
      Finish(EndCall(environment_, context_, "store_array", caller_, watch_->Idle("sent")));
    });
    if (caller_.ok()) {
      Read();
    } else {
      Finish(EndCall(environment_, context_, "store_array", caller_, caller_.status()));
    }
  }

  void OnReadDone(bool ok) override {
    if (!watch_->Resume()) return;
    const absl::Status status = ok ? Take() : Complete();
    message_.Clear();
    if (status.ok() && ok) {
      Read();
    } else {
      Finish(EndCall(environment_, context_, "store_array", caller_, status));
    }
  }
  void OnDone() override {
    watch_->Stop();
    ActiveCalls* const active_calls = environment_.active_calls;
    delete this;
    active_calls->Remove();
  }

 private:
  void Read() {
    watch_->Wait();
    StartRead(&message_);
  }

  absl::Status Take() {
    v1::StoreArrayRequest request;
    std::vector<PayloadRange> payloads;
    if (!ParseHeads(message_, &request, &payloads)) {
      return InvalidField("request", "the bytes are not a corank.v1.StoreArrayRequest message");
    }
    if (array_ == nullptr) return TakeHeader(request);
    return TakeChunk(request, payloads);
  }

  absl::Status TakeHeader(const v1::StoreArrayRequest& request) {
    if (!request.has_header()) return InvalidField("header", "the first message must be the header");
    const v1::StoreArrayHeader& header = request.header();
    if (header.has_array() && !header.array().has_stream()) {
      return InvalidField("header.array", "its place must be a stream, also if it is empty");
    }
    CORANK_RETURN_IF_ERROR(CheckName("header.name", header.name()));
    CORANK_ASSIGN_OR_RETURN(const Operand operand, CheckArray(header.has_array(), header.array(), {"header.array"},
                                                              ArrayUse::kMoved, AnnouncedPlaces()));
    name_ = header.name();
    CORANK_ASSIGN_OR_RETURN(expiry_, environment_.places.arrays->ReadExpiry("header.expiry", header.expiry()));
    stream_id_ = header.array().stream().stream_id();
    if (operand.size_bytes() > 0) {
      const int64_t chunk_bytes = std::min(operand.size_bytes(), environment_.max_chunk_bytes);
      CORANK_ASSIGN_OR_RETURN(staging_, environment_.places.host_pool->Take(chunk_bytes));
    }
    ArrayStore& arrays = *environment_.places.arrays;
    CORANK_ASSIGN_OR_RETURN(KeptRoom room, arrays.Reserve((*caller_)->tenant, arrays.RoomiestDevice(),
                                                          operand.size_bytes(), "header.array.count"));
    CORANK_ASSIGN_OR_RETURN(array_, arrays.Make(room, operand.size_bytes()));
    array_->type = operand.type;
    array_->element_bytes = operand.element_bytes;
    array_->count = operand.count;
    return absl::OkStatus();
  }

  absl::Status TakeChunk(const v1::StoreArrayRequest& request, const std::vector<PayloadRange>& payloads) {
    if (!request.has_chunk()) return InvalidField("chunk", "every message after the first must be a chunk");
    const v1::ArrayChunk& chunk = request.chunk();
    if (chunk.stream_id() != stream_id_) {
      return InvalidField("chunk.stream_id",
                          absl::StrCat("must be the array's ", stream_id_, ", not ", chunk.stream_id()));
    }
    if (chunk.first_element() != received_) {
      return InvalidField("chunk.first_element", absl::StrCat("chunks must come in order: the next element is ",
                                                              received_, ", not ", chunk.first_element()));
    }
    const int64_t bytes = payloads.empty() ? 0 : payloads.back().bytes;
    const int64_t count = bytes / array_->element_bytes;
    if (bytes % array_->element_bytes != 0 || bytes > environment_.max_chunk_bytes) {
      return InvalidField("chunk.data",
                          absl::StrCat("must be a whole number of elements of ", array_->element_bytes,
                                       " bytes, at most ", environment_.max_chunk_bytes, " bytes, not ", bytes));
    }
    if (count > array_->count - received_) {
      return InvalidField("chunk.data", absl::StrCat("more than the array's ", array_->count, " elements arrived"));
    }
    if (bytes == 0) return absl::OkStatus();
    std::vector<grpc::Slice> slices;
    if (!message_.Dump(&slices).ok()) return absl::InternalError("gRPC returned no bytes");
    CopyRange(slices, payloads.back().offset, bytes, staging_.get());
    std::shared_ptr<void> to(array_, static_cast<char*>(array_->memory->data()) + received_ * array_->element_bytes);
    received_ += count;
    return environment_.places.devices->copier(array_->device).ToDevice(std::move(to), staging_, bytes);
  }

  absl::Status Complete() {
    if (context_->IsCancelled()) return CallerCancelled();
    if (array_ == nullptr) return InvalidField("header", "the first message must be the header");
    if (received_ != array_->count) {
      return InvalidField("header.array.count",
                          absl::StrCat("the count is ", array_->count, ", but ", received_, " elements arrived"));
    }
    CORANK_RETURN_IF_ERROR(environment_.places.arrays->Keep((*caller_)->tenant, name_, array_, expiry_));
    v1::StoreArrayResponse response;
    *response.mutable_array() = environment_.places.arrays->Describe((*caller_)->tenant, name_, *array_);
    array_.reset();  // a caller that has the answer may delete it
    staging_.reset();
    *response_ = SmallBytes(response);
    return absl::OkStatus();
  }

  const MemoryEnvironment& environment_;
  const FoundCaller caller_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  std::shared_ptr<IdleWatch> watch_;
  grpc::ByteBuffer message_;
  std::string name_;
  std::chrono::seconds expiry_{0};
  uint32_t stream_id_ = 0;
  std::shared_ptr<void> staging_;     // pinned, reused for each chunk
  std::shared_ptr<KeptArray> array_;  // null until the header has arrived
  int64_t received_ = 0;              // elements
};

class FetchCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  FetchCall(const MemoryEnvironment& environment, FoundCaller caller, grpc::CallbackServerContext* context,
            const grpc::ByteBuffer* request)
      : environment_(environment), caller_(std::move(caller)), context_(context) {
    environment_.active_calls->Add();
    watch_ = IdleWatch::Create(environment_.idle_timeout, [this] { EndIdle(); });
    absl::Status status = caller_.status();
    if (status.ok()) status = Open(*request);
    if (status.ok()) status = WriteNext();
    if (!status.ok()) Finish(EndCall(environment_, context_, "fetch_array", caller_, status));
  }

  void OnWriteDone(bool ok) override {
    if (!watch_->Resume()) return;
    absl::Status status = ok ? absl::OkStatus() : CallerCancelled();
    if (status.ok() && sent_ < array_->count) {
      status = WriteNext();
      if (status.ok()) return;
    }
    array_.reset();  // a caller that has all of it may delete it
    Finish(EndCall(environment_, context_, "fetch_array", caller_, status));
  }
  void OnDone() override {
    watch_->Stop();
    ActiveCalls* const active_calls = environment_.active_calls;
    delete this;
    active_calls->Remove();
  }

 private:
  // Unless it is cancelled, the call sends its status only after the chunk that the caller does not read.
  void EndIdle() {
    const grpc::Status status = EndCall(environment_, context_, "fetch_array", caller_, watch_->Idle("taken"));
    context_->TryCancel();
    Finish(status);
  }

  absl::Status Open(const grpc::ByteBuffer& bytes) {
    v1::FetchArrayRequest request;
    std::vector<PayloadRange> payloads;
    if (!ParseHeads(bytes, &request, &payloads)) {
      return InvalidField("request", "the bytes are not a corank.v1.FetchArrayRequest message");
    }
    CORANK_ASSIGN_OR_RETURN(array_, environment_.places.arrays->Find((*caller_)->tenant, request.name(), "name"));
    name_ = request.name();
    return absl::OkStatus();
  }

  // The first message also describes the stored array, and is sent for an empty array too.
  absl::Status WriteNext() {
    v1::FetchArrayResponse response;
    if (sent_ == 0)
      *response.mutable_array() = environment_.places.arrays->Describe((*caller_)->tenant, name_, *array_);
    v1::ArrayChunk* const chunk = response.mutable_chunk();
    chunk->set_first_element(sent_);
    const int64_t most =
        std::max<int64_t>(1, std::min(kAnswerChunkBytes, environment_.max_chunk_bytes) / array_->element_bytes);
    const int64_t count = std::min(most, array_->count - sent_);
    const int64_t bytes = count * array_->element_bytes;
    std::shared_ptr<void> staging;
    PayloadMap payloads;
    if (bytes > 0) {
      CORANK_ASSIGN_OR_RETURN(staging, Stage(bytes));
      std::shared_ptr<const void> from(array_,
                                       static_cast<const char*>(array_->data()) + sent_ * array_->element_bytes);
      Copier& copier = environment_.places.devices->copier(array_->device);
      CORANK_RETURN_IF_ERROR(copier.ToHost(staging, std::move(from), bytes));
      payloads[chunk] = absl::string_view(static_cast<const char*>(staging.get()), static_cast<size_t>(bytes));
    }
    std::vector<grpc::Slice> slices;
    for (const WirePiece& piece : SerializeHeads(response, payloads)) {
      slices.emplace_back(piece.head);
      if (!piece.payload.empty()) slices.push_back(OwnedSlice(staging, piece.payload.data(), piece.payload.size()));
    }
    message_ = grpc::ByteBuffer(slices.data(), slices.size());
    sent_ += count;
    watch_->Wait();
    StartWrite(&message_);
    return absl::OkStatus();
  }

  // Pinned, if the pool has room; otherwise the transfer continues in ordinary memory, chunk by chunk.
  absl::StatusOr<std::shared_ptr<void>> Stage(int64_t bytes) const {
    absl::StatusOr<std::shared_ptr<void>> staging = environment_.places.host_pool->Take(bytes);
    if (sent_ == 0 || !absl::IsResourceExhausted(staging.status())) return staging;
    return std::shared_ptr<void>(new char[static_cast<size_t>(bytes)], std::default_delete<char[]>());
  }

  const MemoryEnvironment& environment_;
  const FoundCaller caller_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<IdleWatch> watch_;
  std::string name_;
  std::shared_ptr<const KeptArray> array_;
  grpc::ByteBuffer message_;
  int64_t sent_ = 0;  // elements
};

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* StartStore(const MemoryEnvironment& environment, FoundCaller caller,
                                                      grpc::CallbackServerContext* context,
                                                      grpc::ByteBuffer* response) {
  return new StoreCall(environment, std::move(caller), context, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartFetch(const MemoryEnvironment& environment, FoundCaller caller,
                                                       grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request) {
  return new FetchCall(environment, std::move(caller), context, request);
}

}  // namespace corank
