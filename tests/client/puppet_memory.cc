#include "tests/client/puppet_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/client/puppet_arrays.h"

namespace corank::client {
namespace {

constexpr int64_t kChunkElements = 100;

grpc::Status NotFound(const std::string& name) {
  return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no region or array named '", name, "'")};
}

v1::StoredArray Describe(const std::string& name, const v1::Array& array) {
  v1::StoredArray described;
  described.set_name(name);
  described.set_type(array.type());
  described.set_count(array.count());
  described.set_record_bytes(array.record_bytes());
  described.mutable_expires_in()->set_seconds(60);
  return described;
}

}  // namespace

PuppetMemory::~PuppetMemory() { DropRegions(); }

size_t PuppetMemory::region_count() {
  absl::MutexLock lock(&mutex_);
  return regions_.size();
}

void PuppetMemory::Unmap(std::map<std::string, Mapped>::iterator region) {
  munmap(region->second.data, static_cast<size_t>(region->second.size));
  regions_.erase(region);
}

void PuppetMemory::DropRegions() {
  absl::MutexLock lock(&mutex_);
  while (!regions_.empty()) Unmap(regions_.begin());
}

grpc::Status PuppetMemory::Inline(v1::Array* array) {
  absl::MutexLock lock(&mutex_);
  if (array->has_shared_memory()) {
    const auto found = regions_.find(array->shared_memory().region());
    if (found == regions_.end()) return NotFound(array->shared_memory().region());
    const int64_t offset = array->shared_memory().offset_bytes(), bytes = array->count() * ElementBytes(*array);
    if (offset < 0 || offset + bytes > found->second.size ||
        offset % std::min<int64_t>(ElementBytes(*array), 16) != 0) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "outside the region or not aligned"};
    }
    array->set_inline_data(found->second.data + offset, static_cast<size_t>(bytes));
  } else if (array->has_stored()) {
    const auto& names = array->stored().temporary() ? temporaries_ : arrays_;
    const auto found = names.find(array->stored().name());
    if (found == names.end()) return NotFound(array->stored().name());
    if (found->second.type() != array->type() || found->second.count() != array->count()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "not the array's type and count"};
    }
    *array = found->second;
  }
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::Place(const v1::Destination& destination, v1::Array* result) {
  absl::MutexLock lock(&mutex_);
  if (destination.has_shared_memory()) {
    const auto found = regions_.find(destination.shared_memory().region());
    if (found == regions_.end()) return NotFound(destination.shared_memory().region());
    const int64_t offset = destination.shared_memory().offset_bytes();
    const auto bytes = static_cast<int64_t>(result->inline_data().size());
    if (offset < 0 || offset + bytes > found->second.size ||
        offset % std::min<int64_t>(ElementBytes(*result), 16) != 0) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "outside the region or not aligned"};
    }
    std::memcpy(found->second.data + offset, result->inline_data().data(), static_cast<size_t>(bytes));
    *result->mutable_shared_memory() = destination.shared_memory();
  } else if (destination.has_stored()) {
    (destination.stored().temporary() ? temporaries_ : arrays_)[destination.stored().name()] = *result;
    *result->mutable_stored() = destination.stored();
  }
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::RegisterSharedMemory(grpc::ServerContext*, const v1::RegisterSharedMemoryRequest* request,
                                                v1::RegisterSharedMemoryResponse* response) {
  if (on_register != nullptr) return on_register();
  const int fd = shm_open(request->key().c_str(), O_RDWR, 0);
  if (fd < 0) return NotFound(request->key());
  struct stat info = {};
  fstat(fd, &info);
  const int64_t size = request->size_bytes();
  void* data =
      request->offset_bytes() + size > info.st_size
          ? MAP_FAILED
          : mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, request->offset_bytes());
  close(fd);
  if (data == MAP_FAILED) return {grpc::StatusCode::INVALID_ARGUMENT, "the object is not that large"};
  response->mutable_region()->set_name(request->name());
  absl::MutexLock lock(&mutex_);
  regions_[request->name()] = {static_cast<char*>(data), size, request->lease_id()};
  ++registered;
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::OpenLease(grpc::ServerContext* context, const v1::OpenLeaseRequest*,
                                     grpc::ServerWriter<v1::OpenLeaseResponse>* writer) {
  ++asked_leases;
  while (holds_leases && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
  const int ended = ended_;
  v1::OpenLeaseResponse response;
  {
    absl::MutexLock lock(&mutex_);
    response.set_lease_id(absl::StrCat("lease-", ++next_lease_));
  }
  ++open_leases;
  writer->Write(response);
  while (!context->IsCancelled() && ended_ == ended) absl::SleepFor(absl::Milliseconds(1));
  absl::MutexLock lock(&mutex_);
  for (auto region = regions_.begin(); region != regions_.end();) {
    const auto next = std::next(region);
    if (region->second.lease_id == response.lease_id()) Unmap(region);
    region = next;
  }
  --open_leases;
  return grpc::Status::CANCELLED;
}

grpc::Status PuppetMemory::ListRegions(grpc::ServerContext*, const v1::ListRegionsRequest* request,
                                       v1::ListRegionsResponse* response) {
  absl::MutexLock lock(&mutex_);
  for (auto region = regions_.upper_bound(request->page_token()); region != regions_.end(); ++region) {
    if (response->regions_size() == page_size) {
      response->set_next_page_token(response->regions().rbegin()->name());
      break;
    }
    v1::Region* to = response->add_regions();
    to->set_name(region->first);
    to->set_kind(v1::REGION_KIND_SHARED_MEMORY);
    to->set_size_bytes(region->second.size);
  }
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::UnregisterRegion(grpc::ServerContext*, const v1::UnregisterRegionRequest* request,
                                            v1::UnregisterRegionResponse*) {
  absl::MutexLock lock(&mutex_);
  const auto found = regions_.find(request->name());
  if (found == regions_.end()) return NotFound(request->name());
  if (refused_unregisters > 0) {
    --refused_unregisters;
    return {grpc::StatusCode::FAILED_PRECONDITION, "a request uses the region"};
  }
  Unmap(found);
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::StoreArray(grpc::ServerContext*, grpc::ServerReader<v1::StoreArrayRequest>* reader,
                                      v1::StoreArrayResponse* response) {
  v1::StoreArrayRequest message;
  if (!reader->Read(&message) || !message.has_header()) return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
  const v1::StoreArrayHeader header = message.header();
  std::string bytes;
  while (reader->Read(&message)) {
    if (message.chunk().first_element() * ElementBytes(header.array()) != static_cast<int64_t>(bytes.size())) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "a chunk out of order"};
    }
    bytes += message.chunk().data();
  }
  if (static_cast<int64_t>(bytes.size()) != header.array().count() * ElementBytes(header.array())) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "not as many elements as its count"};
  }
  v1::Array array = header.array();
  array.set_inline_data(std::move(bytes));
  *response->mutable_array() = Describe(header.name(), array);
  *response->mutable_array()->mutable_expires_in() = header.expiry();
  absl::MutexLock lock(&mutex_);
  arrays_[header.name()] = std::move(array);
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::FetchArray(grpc::ServerContext*, const v1::FetchArrayRequest* request,
                                      grpc::ServerWriter<v1::FetchArrayResponse>* writer) {
  v1::Array array;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = arrays_.find(request->name());
    if (found == arrays_.end()) return NotFound(request->name());
    array = found->second;
  }
  v1::FetchArrayResponse response;
  *response.mutable_array() = Describe(request->name(), array);
  const int64_t width = ElementBytes(array);
  for (int64_t first = 0; first == 0 || first < array.count(); first += kChunkElements) {
    response.mutable_chunk()->set_first_element(first + (first > 0 ? fetch_shift.load() : 0));
    response.mutable_chunk()->set_data(
        array.inline_data().substr(static_cast<size_t>(first * width), static_cast<size_t>(kChunkElements * width)));
    writer->Write(response);
    response.clear_array();
  }
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::ListArrays(grpc::ServerContext*, const v1::ListArraysRequest* request,
                                      v1::ListArraysResponse* response) {
  absl::MutexLock lock(&mutex_);
  int64_t used = 0;
  for (const auto& [name, array] : arrays_) used += static_cast<int64_t>(array.inline_data().size());
  for (auto array = arrays_.upper_bound(request->page_token()); array != arrays_.end(); ++array) {
    if (response->arrays_size() == page_size) {
      response->set_next_page_token(response->arrays().rbegin()->name());
      break;
    }
    *response->add_arrays() = Describe(array->first, array->second);
  }
  response->set_used_bytes(used);
  response->set_quota_bytes(1 << 20);
  return grpc::Status::OK;
}

grpc::Status PuppetMemory::DeleteArray(grpc::ServerContext*, const v1::DeleteArrayRequest* request,
                                       v1::DeleteArrayResponse*) {
  absl::MutexLock lock(&mutex_);
  return arrays_.erase(request->name()) == 1 ? grpc::Status::OK : NotFound(request->name());
}

}  // namespace corank::client
