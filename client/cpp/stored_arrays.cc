#include "client/cpp/stored_arrays.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/chunks.h"
#include "client/cpp/job.h"
#include "client/cpp/messages.h"
#include "client/cpp/raw_stream.h"
#include "client/cpp/short_memory.h"
#include "corank/v1/memory_service.pb.h"
#include "proto/durations.h"
#include "proto/grpc_payloads.h"

namespace corank::client {
namespace {

constexpr char kStore[] = "/corank.v1.MemoryService/StoreArray";
constexpr char kFetch[] = "/corank.v1.MemoryService/FetchArray";
constexpr char kListArrays[] = "/corank.v1.MemoryService/ListArrays";
constexpr char kDelete[] = "/corank.v1.MemoryService/DeleteArray";
/// Every server accepts chunks of this size.
constexpr int64_t kStoreChunkBytes = int64_t{256} << 10;

absl::StatusOr<StoredArray> FromProto(const v1::StoredArray& array) {
  absl::StatusOr<ElementType> type = TypeFromProto(array.type(), array.record_bytes());
  if (!type.ok()) return type.status();
  if (array.count() < 0) return MalformedArray("its count is negative");
  const absl::Duration expires_in = DurationFromProto(array.expires_in()).value_or(absl::ZeroDuration());
  return StoredArray{array.name(), *type, array.count(), expires_in, static_cast<int>(array.shards())};
}

/// Sends the header, then the chunks.
class Storing final : public StreamEvents {
 public:
  Storing(const v1::StoreArrayRequest& header, const ArrayView& array, int64_t chunk_bytes, TransferProgress* progress)
      : header_(Encode(header)),
        chunks_({{0, array.type.bytes(), array.bytes, false}}, 0, 1, chunk_bytes),
        progress_(progress) {}

  std::optional<grpc::ByteBuffer> Next() override {
    if (header_.has_value()) return std::exchange(header_, std::nullopt);
    if (progress_ != nullptr) progress_->bytes_sent += sending_bytes_;
    const std::optional<Chunk> chunk = chunks_.Next();
    sending_bytes_ = chunk.has_value() ? static_cast<int64_t>(chunk->bytes.size()) : 0;
    if (!chunk.has_value()) return std::nullopt;
    return EncodeChunk(v1::StoreArrayRequest::kChunkFieldNumber, *chunk);
  }
  absl::Status Take(grpc::ByteBuffer* message) override {
    std::vector<PayloadRange> payloads;
    if (ParseHeads(*message, &response_.emplace(), &payloads)) return absl::OkStatus();
    return absl::InternalError("the server's answer is not a StoreArrayResponse");
  }
  void Done(const Attempt&) override {}
  const std::optional<v1::StoreArrayResponse>& response() const { return response_; }

 private:
  std::optional<grpc::ByteBuffer> header_;  // until it is sent
  ChunkSource chunks_;
  TransferProgress* const progress_;
  int64_t sending_bytes_ = 0;
  std::optional<v1::StoreArrayResponse> response_;
};

/// Receives the description, then the chunks in order.
class Fetching final : public StreamEvents {
 public:
  Fetching(const std::string& name, TransferProgress* progress) : progress_(progress) {
    v1::FetchArrayRequest request;
    request.set_name(name);
    request_ = Encode(request);
  }

  std::optional<grpc::ByteBuffer> Next() override { return std::exchange(request_, std::nullopt); }
  absl::Status Take(grpc::ByteBuffer* message) override {
    v1::FetchArrayResponse response;
    std::vector<PayloadRange> payloads;
    std::vector<grpc::Slice> slices;
    if (!ParseHeads(*message, &response, &payloads) || !message->Dump(&slices).ok()) {
      return absl::InternalError("the server's answer is not a FetchArrayResponse");
    }
    if (response.has_array() == stored_.has_value()) return MalformedArray("its description does not come first");
    if (response.has_array()) {
      absl::StatusOr<StoredArray> stored = FromProto(response.array());
      if (!stored.ok()) return stored.status();
      stored_ = *std::move(stored);
      array_.type = stored_->type;
      if (progress_ != nullptr) progress_->bytes_to_receive = stored_->count * stored_->type.bytes();
    }
    if (payloads.empty()) return absl::OkStatus();
    const int64_t width = stored_->type.bytes(), bytes = payloads[0].bytes;
    if (bytes % width != 0) return MalformedArray("a chunk is not a whole number of elements");
    if (response.chunk().first_element() != array_.count() || bytes / width > stored_->count - array_.count()) {
      return MalformedArray("its chunks are not in order");
    }
    const size_t before = array_.bytes.size();
    const absl::Status resized = WithinMemory(absl::StrCat(stored_->count, " elements of ", stored_->name),
                                              [&] { array_.bytes.resize(before + static_cast<size_t>(bytes)); });
    if (!resized.ok()) return resized;
    CopyRange(slices, payloads[0].offset, bytes, &array_.bytes[before]);
    if (progress_ != nullptr) progress_->bytes_received += bytes;
    return absl::OkStatus();
  }
  void Done(const Attempt&) override {}

  /// Call it after the call has ended without an error.
  absl::StatusOr<Array> TakeArray() {
    if (!stored_.has_value() || array_.count() != stored_->count) return MalformedArray("its chunks are incomplete");
    return std::move(array_);
  }

 private:
  std::optional<grpc::ByteBuffer> request_;
  TransferProgress* const progress_;
  std::optional<StoredArray> stored_;
  Array array_;
};

}  // namespace

absl::StatusOr<StoredArray> StoreArray(Connection* connection, const std::string& name, const ArrayView& array,
                                       absl::Duration expiry, bool sharded, const CallOptions& call) {
  if (const absl::Status here = CheckHere("array", array); !here.ok()) return here;
  if (array.type.bytes() < 1 || array.bytes.size() % static_cast<size_t>(array.type.bytes()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "array: ", array.bytes.size(), " bytes are not a whole number of elements of type ", array.type.Name()));
  }
  v1::StoreArrayRequest header;
  header.mutable_header()->set_name(name);
  header.mutable_header()->set_sharded(sharded);
  *header.mutable_header()->mutable_expiry() = DurationToProto(expiry);
  v1::Array* described = header.mutable_header()->mutable_array();
  FillType(array.type, described);
  described->set_count(array.count());
  described->mutable_stream();
  const absl::Time deadline = connection->Deadline(call);
  std::optional<v1::StoreArrayResponse> response;
  const absl::StatusOr<CallCost> cost = connection->Try(deadline, call, Repeat::kUnlessLost, [&] {
    if (call.progress != nullptr) {
      call.progress->bytes_to_send = static_cast<int64_t>(array.bytes.size());
      call.progress->bytes_sent = 0;
    }
    Storing storing(header, array, kStoreChunkBytes, call.progress);
    Attempt attempt = RunStream(connection, kStore, deadline, call, &storing);
    response = storing.response();
    return attempt;
  });
  if (!cost.ok()) return cost.status();
  if (!response.has_value()) return absl::InternalError("the server did not describe the stored array");
  return FromProto(response->array());
}

absl::StatusOr<Array> FetchArray(Connection* connection, const std::string& name, const CallOptions& call) {
  const absl::Time deadline = connection->Deadline(call);
  absl::StatusOr<Array> array = absl::UnknownError("");
  const absl::StatusOr<CallCost> cost = connection->Try(deadline, call, Repeat::kAlways, [&] {
    if (call.progress != nullptr) call.progress->bytes_received = 0;
    Fetching fetching(name, call.progress);
    Attempt attempt = RunStream(connection, kFetch, deadline, call, &fetching);
    if (attempt.status.ok()) array = fetching.TakeArray();
    return attempt;
  });
  if (!cost.ok()) return cost.status();
  return array;
}

absl::StatusOr<StoredArrays> ListStoredArrays(Connection* connection, const CallOptions& call) {
  v1::ListArraysRequest request;
  v1::ListArraysResponse response;
  const absl::Time deadline = connection->Deadline(call);
  StoredArrays list;
  do {
    request.set_page_token(response.next_page_token());
    const auto cost = connection->Unary(kListArrays, request, deadline, call, Repeat::kAlways, &response);
    if (!cost.ok()) return cost.status();
    for (const v1::StoredArray& array : response.arrays()) {
      absl::StatusOr<StoredArray> stored = FromProto(array);
      if (!stored.ok()) return stored.status();
      list.arrays.push_back(*std::move(stored));
    }
    list.used_bytes = response.used_bytes();
    list.quota_bytes = response.quota_bytes();
  } while (!response.next_page_token().empty());
  return list;
}

absl::Status DeleteStoredArray(Connection* connection, const std::string& name, const CallOptions& call) {
  v1::DeleteArrayRequest request;
  request.set_name(name);
  v1::DeleteArrayResponse response;
  // A repeat could delete an array that somebody stored under the name in between.
  return connection->Unary(kDelete, request, connection->Deadline(call), call, Repeat::kUnlessLost, &response).status();
}

}  // namespace corank::client
