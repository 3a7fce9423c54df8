// Calls of MemoryService, and arrays and results in the places that they make.
#ifndef CORANK_TESTS_SERVER_MEMORY_CALLS_H_
#define CORANK_TESTS_SERVER_MEMORY_CALLS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corank/v1/memory_service.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "tests/server/shared_object.h"

namespace corank::testing {

/// An array, and the place of a result, in a region of shared memory.
v1::Array InRegion(v1::ElementType type, int64_t count, int64_t offset_bytes, const std::string& region = "r");
v1::Destination ToRegion(int64_t offset_bytes, const std::string& region = "r");

/// A kept array, and the place of a result that is kept.
v1::Array Kept(const std::string& name, v1::ElementType type = v1::ELEMENT_TYPE_INT32);
v1::Destination KeptAs(const std::string& name, bool sharded = false);

/// Each call has a context of its own.
class MemoryCalls {
 public:
  using MakeContext = std::function<std::unique_ptr<grpc::ClientContext>()>;

  explicit MemoryCalls(
      const std::shared_ptr<grpc::Channel>& channel,
      MakeContext context = [] { return std::make_unique<grpc::ClientContext>(); });

  v1::MemoryService::Stub& stub() const { return *stub_; }

  /// Registers the object from `offset_bytes` on.
  grpc::Status Register(const SharedObject& object, const std::string& region = "r", int64_t offset_bytes = 0,
                        const std::string& lease_id = "") const;
  grpc::Status Unregister(const std::string& region) const;

  struct StoreOptions {
    int64_t chunk_elements = 997;  // chunks end anywhere
    bool sharded = false;
    int64_t count = -1;  // that the header says; -1: the array's
  };
  /// Stores an inline array.
  grpc::Status Store(const std::string& name, const v1::Array& array, const StoreOptions& options,
                     v1::StoredArray* stored = nullptr) const;
  grpc::Status Store(const std::string& name, const v1::Array& array) const { return Store(name, array, {}); }
  /// Checks that only the first message describes the array, and that the chunks are in order.
  grpc::Status Fetch(const std::string& name, std::string* bytes) const;
  grpc::Status Fetch(const std::string& name, std::vector<int32_t>* values) const;
  grpc::Status Delete(const std::string& name) const;
  v1::ListArraysResponse List() const;

 private:
  const std::unique_ptr<v1::MemoryService::Stub> stub_;
  const MakeContext context_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_MEMORY_CALLS_H_
