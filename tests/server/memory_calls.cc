#include "tests/server/memory_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/server/streamed_call.h"
#include "tests/server/streamed_operation.h"

namespace corank::testing {
namespace {

v1::RegionPlace PlaceIn(const std::string& region, int64_t offset_bytes) {
  v1::RegionPlace place;
  place.set_region(region);
  place.set_offset_bytes(offset_bytes);
  return place;
}

}  // namespace

v1::Array InRegion(v1::ElementType type, int64_t count, int64_t offset_bytes, const std::string& region) {
  v1::Array array;
  array.set_type(type);
  array.set_count(count);
  *array.mutable_shared_memory() = PlaceIn(region, offset_bytes);
  return array;
}

v1::Destination ToRegion(int64_t offset_bytes, const std::string& region) {
  v1::Destination destination;
  *destination.mutable_shared_memory() = PlaceIn(region, offset_bytes);
  return destination;
}

v1::Array Kept(const std::string& name, v1::ElementType type) {
  v1::Array array;
  array.set_type(type);
  array.mutable_stored()->set_name(name);
  return array;
}

v1::Destination KeptAs(const std::string& name, bool sharded) {
  v1::Destination destination;
  destination.mutable_stored()->set_name(name);
  destination.mutable_stored()->set_sharded(sharded);
  return destination;
}

MemoryCalls::MemoryCalls(const std::shared_ptr<grpc::Channel>& channel, MakeContext context)
    : stub_(v1::MemoryService::NewStub(channel)), context_(std::move(context)) {}

grpc::Status MemoryCalls::Register(const SharedObject& object, const std::string& region, int64_t offset_bytes,
                                   const std::string& lease_id) const {
  v1::RegisterSharedMemoryRequest request;
  request.set_name(region);
  request.set_key(object.key());
  request.set_offset_bytes(offset_bytes);
  request.set_size_bytes(object.size_bytes() - offset_bytes);
  request.set_lease_id(lease_id);
  v1::RegisterSharedMemoryResponse response;
  return stub_->RegisterSharedMemory(context_().get(), request, &response);
}

grpc::Status MemoryCalls::Unregister(const std::string& region) const {
  v1::UnregisterRegionRequest request;
  request.set_name(region);
  v1::UnregisterRegionResponse response;
  return stub_->UnregisterRegion(context_().get(), request, &response);
}

grpc::Status MemoryCalls::Store(const std::string& name, const v1::Array& array, const StoreOptions& options,
                                v1::StoredArray* stored) const {
  const std::string& bytes = array.inline_data();
  const int64_t element_bytes = ElementBytes(array), count = static_cast<int64_t>(bytes.size()) / element_bytes;
  const auto context = context_();
  v1::StoreArrayResponse response;
  const auto writer = stub_->StoreArray(context.get(), &response);
  v1::StoreArrayRequest request;
  v1::StoreArrayHeader& header = *request.mutable_header();
  header.set_name(name);
  header.set_sharded(options.sharded);
  *header.mutable_array() =
      Streamed(array.type(), options.count < 0 ? count : options.count, /*stream_id=*/0, array.record_bytes());
  writer->Write(request);
  for (int64_t first = 0; first < count; first += options.chunk_elements) {
    const int64_t elements = std::min(options.chunk_elements, count - first);
    request.mutable_chunk()->set_first_element(first);
    request.mutable_chunk()->set_data(bytes.data() + first * element_bytes,
                                      static_cast<size_t>(elements * element_bytes));
    if (!writer->Write(request)) break;
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (stored != nullptr) *stored = response.array();
  return status;
}

grpc::Status MemoryCalls::Fetch(const std::string& name, std::string* bytes) const {
  const auto context = context_();
  v1::FetchArrayRequest request;
  request.set_name(name);
  const auto reader = stub_->FetchArray(context.get(), request);
  v1::FetchArrayResponse response;
  bytes->clear();
  int64_t element_bytes = 0;
  while (reader->Read(&response)) {
    EXPECT_EQ(response.has_array(), bytes->empty());
    if (response.has_array()) {
      v1::Array array;
      array.set_type(response.array().type());
      array.set_record_bytes(response.array().record_bytes());
      element_bytes = ElementBytes(array);
    }
    EXPECT_EQ(response.chunk().first_element() * element_bytes, static_cast<int64_t>(bytes->size()));
    *bytes += response.chunk().data();
  }
  return reader->Finish();
}

grpc::Status MemoryCalls::Fetch(const std::string& name, std::vector<int32_t>* values) const {
  std::string bytes;
  grpc::Status status = Fetch(name, &bytes);
  values->resize(bytes.size() / sizeof(int32_t));
  std::memcpy(values->data(), bytes.data(), values->size() * sizeof(int32_t));
  return status;
}

grpc::Status MemoryCalls::Delete(const std::string& name) const {
  v1::DeleteArrayRequest request;
  request.set_name(name);
  v1::DeleteArrayResponse response;
  return stub_->DeleteArray(context_().get(), request, &response);
}

v1::ListArraysResponse MemoryCalls::List() const {
  v1::ListArraysResponse response;
  EXPECT_TRUE(stub_->ListArrays(context_().get(), v1::ListArraysRequest(), &response).ok());
  return response;
}

}  // namespace corank::testing
