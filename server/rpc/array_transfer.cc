#include "server/rpc/array_transfer.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/payloads.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/rpc/memory_service.h"
#include "server/rpc/message_receiver.h"
#include "server/rpc/small_message.h"
#include "server/run/stream_options.h"

namespace corank {
namespace {

class StoreCall final : public wire::Handler, public std::enable_shared_from_this<StoreCall> {
 public:
  StoreCall(const MemoryEnvironment& environment, FoundCaller caller, std::shared_ptr<wire::Call> call)
      : environment_(environment),
        caller_(std::move(caller)),
        call_(std::move(call)),
        receiver_(
            v1::StoreArrayRequest::descriptor(), /*field=*/0, environment.buffered,
            [this](size_t bytes) { return Place(bytes); }, [this](const absl::Status& status) { End(status); }),
        ahead_(environment.buffered) {
    environment_.active_calls->Add();
    if (caller_.ok()) {
      call_->Read();
    } else {
      End(caller_.status());
    }
  }
  ~StoreCall() override { environment_.active_calls->Remove(); }

  wire::Sink* OnMessageBegin(size_t size) override {
    // One more than a chunk and its head; what is longer is refused for its length once it has come.
    absl::Status status = receiver_.Begin(size);
    if (status.ok()) status = ahead_.Allow(/*size=*/0, call_.get());
    if (static_cast<int64_t>(size) > 2 * environment_.max_chunk_bytes + (64 << 10)) {
      status = InvalidField("request", absl::StrCat("a message of ", size, " bytes is longer than the longest chunk"));
    }
    if (!status.ok()) {
      End(status);
      return nullptr;
    }
    return &receiver_;
  }
  void OnMessage() override {
    // Copying to the device takes a while, and so does making room there.
    const std::string& tenant = (*caller_)->tenant;
    environment_.places.helpers->Run(tenant, [self = shared_from_this(), message = Shared(receiver_.Take())] {
      const absl::Status status = self->Take(*message);
      if (status.ok()) {
        self->call_->Read();
      } else {
        self->End(status);
      }
    });
  }
  void OnHalfClose() override { End(Complete()); }
  void OnCancel(const CallStatus& status) override { End(CauseOf(call_->head(), status)); }
  void OnDone() override {}

 private:
  // For a function, which must be copyable.
  static std::shared_ptr<const ReceivedMessage> Shared(ReceivedMessage message) {
    return std::make_shared<const ReceivedMessage>(std::move(message));
  }

  void End(const absl::Status& status) {
    if (is_ended_.exchange(true)) return;
    EndCall(environment_, call_.get(), "store_array", caller_, status, std::move(response_));
  }

  absl::StatusOr<std::shared_ptr<void>> Place(size_t bytes) {
    if (array_ == nullptr || static_cast<int64_t>(bytes) > staging_bytes_) return nullptr;
    return staging_;
  }

  absl::Status Take(const ReceivedMessage& message) {
    v1::StoreArrayRequest request;
    std::vector<PayloadRange> payloads;
    if (!ParseHeads(message.pieces(), &request, &payloads)) {
      return InvalidField("request", "the bytes are not a corank.v1.StoreArrayRequest message");
    }
    if (array_ == nullptr) return TakeHeader(request);
    return TakeChunk(request, message, payloads);
  }

  absl::Status TakeHeader(const v1::StoreArrayRequest& request) {
    if (!request.has_header()) return InvalidField("header", "the first message must be the header");
    const v1::StoreArrayHeader& header = request.header();
    if (header.has_array() && !header.array().has_stream()) {
      return InvalidField("header.array", "its place must be a stream, also if it is empty");
    }
    CORANK_RETURN_IF_ERROR(CheckName("header.name", header.name()));
    constexpr Field kArray{"header.array"};
    CORANK_ASSIGN_OR_RETURN(Operand operand,
                            CheckElements(header.has_array(), header.array(), kArray, ArrayUse::kMoved));
    operand.count = header.array().count();
    if (!header.array().has_count() || operand.count < 0) {
      return InvalidField(kArray.Sub("count"), "required, 0 or more");
    }
    CORANK_RETURN_IF_ERROR(CheckSize(operand, kArray));
    name_ = header.name();
    CORANK_ASSIGN_OR_RETURN(expiry_, environment_.places.arrays->ReadExpiry("header.expiry", header.expiry()));
    stream_id_ = header.array().stream().stream_id();
    if (operand.size_bytes() > 0) {
      staging_bytes_ = std::min(operand.size_bytes(), environment_.max_chunk_bytes);
      CORANK_ASSIGN_OR_RETURN(staging_, environment_.places.host_pool->Take(staging_bytes_));
    }
    CORANK_ASSIGN_OR_RETURN(array_, Make(operand, header.sharded()));
    array_->type = operand.type;
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<KeptArray>> Make(const Operand& operand, bool sharded) const {
    ArrayStore& arrays = *environment_.places.arrays;
    const std::string& tenant = (*caller_)->tenant;
    constexpr char kField[] = "header.array.count";
    CORANK_ASSIGN_OR_RETURN(
        KeptRoom room,
        sharded ? arrays.ReserveSharded(tenant, arrays.ShardDevices(), operand.count, operand.element_bytes, kField)
                : arrays.Reserve(tenant, arrays.RoomiestDevice(), operand.size_bytes(), kField));
    return arrays.Make(room, operand.count, operand.element_bytes);
  }

  absl::Status TakeChunk(const v1::StoreArrayRequest& request, const ReceivedMessage& message,
                         const std::vector<PayloadRange>& payloads) {
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
    // Unless it came there.
    if (message.pinned.empty()) CopyRange(message.pieces(), payloads.back().offset, bytes, staging_.get());
    for (int64_t copied = 0; copied < count;) {
      const KeptArray::Span to = array_->From(received_);
      const int64_t together = std::min(to.count, count - copied);
      const std::shared_ptr<const void> from(staging_,
                                             static_cast<char*>(staging_.get()) + copied * array_->element_bytes);
      CORANK_RETURN_IF_ERROR(environment_.places.devices->copier(to.device).ToDevice(
          std::shared_ptr<void>(array_, to.bytes), from, together * array_->element_bytes));
      copied += together;
      received_ += together;
    }
    return absl::OkStatus();
  }

  absl::Status Complete() {
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
    response_ = SmallBytes(response);
    return absl::OkStatus();
  }

  const MemoryEnvironment& environment_;
  const FoundCaller caller_;
  const std::shared_ptr<wire::Call> call_;
  MessageReceiver receiver_;
  SendAhead ahead_;
  std::atomic<bool> is_ended_{false};
  std::optional<Bytes> response_;
  std::string name_;
  std::chrono::seconds expiry_{0};
  uint32_t stream_id_ = 0;
  std::shared_ptr<void> staging_;  // pinned, reused for each chunk
  int64_t staging_bytes_ = 0;
  std::shared_ptr<KeptArray> array_;  // null until the header has arrived
  int64_t received_ = 0;              // elements
};

class FetchCall final : public SmallCall, public std::enable_shared_from_this<FetchCall> {
 public:
  FetchCall(const MemoryEnvironment& environment, FoundCaller caller, std::shared_ptr<wire::Call> call)
      : SmallCall(std::move(call)), environment_(environment), caller_(std::move(caller)) {
    environment_.active_calls->Add();
  }
  ~FetchCall() override { environment_.active_calls->Remove(); }
  void Begin() { SmallCall::Begin(caller_.status()); }

  void OnWritten() override {
    if (sent_ == array_->count) return End(absl::OkStatus());
    WriteSoon();
  }

 private:
  void Take(absl::StatusOr<std::string> message) override {
    if (const absl::Status status = message.ok() ? Open(*message) : message.status(); !status.ok()) return End(status);
    WriteSoon();
  }
  void Cancelled(const absl::Status& cause) override { End(cause); }

  // Copying from the device takes a while.
  void WriteSoon() {
    environment_.places.helpers->Run((*caller_)->tenant, [self = shared_from_this()] {
      if (const absl::Status status = self->WriteNext(); !status.ok()) self->End(status);
    });
  }

  void End(const absl::Status& status) {
    if (is_ended_.exchange(true)) return;
    if (status.ok()) array_.reset();  // a caller that has all of it may delete it
    EndCall(environment_, call().get(), "fetch_array", caller_, status);
  }

  absl::Status Open(const std::string& bytes) {
    v1::FetchArrayRequest request;
    CORANK_RETURN_IF_ERROR(ParseSmall(bytes, &request));
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
    const KeptArray::Span place = array_->From(sent_);
    const int64_t count = std::min(most, place.count);
    const int64_t bytes = count * array_->element_bytes;
    std::shared_ptr<void> staging;
    PayloadMap payloads;
    if (bytes > 0) {
      CORANK_ASSIGN_OR_RETURN(staging, Stage(bytes));
      Copier& copier = environment_.places.devices->copier(place.device);
      CORANK_RETURN_IF_ERROR(copier.ToHost(staging, std::shared_ptr<const void>(array_, place.bytes), bytes));
      payloads[chunk] = absl::string_view(static_cast<const char*>(staging.get()), static_cast<size_t>(bytes));
    }
    Bytes message;
    for (WirePiece& piece : SerializeHeads(response, payloads)) {
      message.Append(Bytes(std::move(piece.head)));
      if (!piece.payload.empty()) message.Append({staging, piece.payload.data(), piece.payload.size()});
    }
    sent_ += count;
    call()->Write(std::move(message));
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
  std::atomic<bool> is_ended_{false};
  std::string name_;
  std::shared_ptr<const KeptArray> array_;
  int64_t sent_ = 0;  // elements
};

}  // namespace

std::shared_ptr<wire::Handler> StartStore(const MemoryEnvironment& environment, FoundCaller caller,
                                          std::shared_ptr<wire::Call> call) {
  return std::make_shared<StoreCall>(environment, std::move(caller), std::move(call));
}

std::shared_ptr<wire::Handler> StartFetch(const MemoryEnvironment& environment, FoundCaller caller,
                                          std::shared_ptr<wire::Call> call) {
  auto fetch = std::make_shared<FetchCall>(environment, std::move(caller), std::move(call));
  fetch->Begin();
  return fetch;
}

}  // namespace corank
