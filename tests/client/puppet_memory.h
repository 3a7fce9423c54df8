// A MemoryService in this process: maps shared memory and keeps arrays, as the contract specifies.
#ifndef CORANK_TESTS_CLIENT_PUPPET_MEMORY_H_
#define CORANK_TESTS_CLIENT_PUPPET_MEMORY_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "corank/v1/memory_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// Thread-safe.
class PuppetMemory final : public v1::MemoryService::Service {
 public:
  ~PuppetMemory() override;

  /// If set before the server starts, replaces RegisterSharedMemory.
  std::function<grpc::Status()> on_register;
  /// The number of times that UnregisterRegion reports that a request uses the region.
  std::atomic<int> refused_unregisters{0};
  /// Added to the first element of every chunk of FetchArray except the first chunk.
  std::atomic<int64_t> fetch_shift{0};
  /// Entries in a page of ListRegions and ListArrays.
  std::atomic<int> page_size{1000};
  std::atomic<int> registered{0};  // so far
  std::atomic<int> open_leases{0};
  std::atomic<int> asked_leases{0};       // so far
  std::atomic<bool> holds_leases{false};  // while true, OpenLease does not respond

  size_t region_count();
  /// Replaces an array in a region, or a kept array, by its bytes inline. NOT_FOUND for an unknown name.
  grpc::Status Inline(v1::Array* array);
  /// The inverse: puts an inline result into its region, or keeps it.
  grpc::Status Place(const v1::Destination& destination, v1::Array* result);
  /// Forgets all regions, like a restarted server.
  void DropRegions();
  /// Ends all open leases, and with them their regions.
  void EndLeases() { ++ended_; }

  grpc::Status RegisterSharedMemory(grpc::ServerContext*, const v1::RegisterSharedMemoryRequest* request,
                                    v1::RegisterSharedMemoryResponse* response) override;
  grpc::Status OpenLease(grpc::ServerContext* context, const v1::OpenLeaseRequest*,
                         grpc::ServerWriter<v1::OpenLeaseResponse>* writer) override;
  grpc::Status ListRegions(grpc::ServerContext*, const v1::ListRegionsRequest* request,
                           v1::ListRegionsResponse* response) override;
  grpc::Status UnregisterRegion(grpc::ServerContext*, const v1::UnregisterRegionRequest* request,
                                v1::UnregisterRegionResponse*) override;
  grpc::Status StoreArray(grpc::ServerContext*, grpc::ServerReader<v1::StoreArrayRequest>* reader,
                          v1::StoreArrayResponse* response) override;
  grpc::Status FetchArray(grpc::ServerContext*, const v1::FetchArrayRequest* request,
                          grpc::ServerWriter<v1::FetchArrayResponse>* writer) override;
  grpc::Status ListArrays(grpc::ServerContext*, const v1::ListArraysRequest* request,
                          v1::ListArraysResponse* response) override;
  grpc::Status DeleteArray(grpc::ServerContext*, const v1::DeleteArrayRequest* request,
                           v1::DeleteArrayResponse*) override;

 private:
  struct Mapped {
    char* data;
    int64_t size;
    std::string lease_id;
  };

  void Unmap(std::map<std::string, Mapped>::iterator region) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<int> ended_{0};
  absl::Mutex mutex_;
  std::map<std::string, Mapped> regions_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::Array> arrays_ ABSL_GUARDED_BY(mutex_);       // inline
  std::map<std::string, v1::Array> temporaries_ ABSL_GUARDED_BY(mutex_);  // inline
  int next_lease_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_PUPPET_MEMORY_H_
