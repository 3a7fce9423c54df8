#include "bench/service/kept_array.h"

#include <grpcpp/client_context.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bench/service/closed_loop.h"

namespace corank::bench {
namespace {

constexpr int64_t kChunkBytes = 1 << 20;

}  // namespace

absl::Status Keep(v1::MemoryService::Stub& stub, const KeptArray& array, const void* data, int64_t count) {
  grpc::ClientContext context;
  v1::StoreArrayResponse response;
  const auto writer = stub.StoreArray(&context, &response);
  v1::StoreArrayRequest message;
  v1::StoreArrayHeader& header = *message.mutable_header();
  header.set_name(array.name);
  header.set_sharded(array.sharded);
  header.mutable_array()->set_type(array.type);
  header.mutable_array()->set_count(count);
  header.mutable_array()->mutable_stream()->set_stream_id(0);
  bool open = writer->Write(message);
  const int64_t chunk_elements = kChunkBytes / array.element_bytes;
  for (int64_t first = 0; open && first < count; first += chunk_elements) {
    v1::ArrayChunk* const chunk = message.mutable_chunk();
    chunk->set_first_element(first);
    chunk->set_data(static_cast<const char*>(data) + first * array.element_bytes,
                    static_cast<size_t>(std::min(chunk_elements, count - first) * array.element_bytes));
    open = writer->Write(message);
  }
  writer->WritesDone();
  return FromGrpc(writer->Finish());
}

absl::Status CheckKept(v1::MemoryService::Stub& stub, const std::string& name, absl::string_view bytes) {
  grpc::ClientContext context;
  v1::FetchArrayRequest request;
  request.set_name(name);
  const auto reader = stub.FetchArray(&context, request);
  v1::FetchArrayResponse message;
  bool are_same = true;
  while (reader->Read(&message)) {
    are_same = are_same && absl::ConsumePrefix(&bytes, message.chunk().data());
  }
  if (absl::Status status = FromGrpc(reader->Finish()); !status.ok()) return status;
  if (!are_same || !bytes.empty()) return absl::InternalError(absl::StrCat("corankd: wrong bytes in ", name));
  return absl::OkStatus();
}

}  // namespace corank::bench
