// POSIX shared memory that a corank server on the same host can map.
//
//   auto memory = corank::client::SharedMemory::Create(1 << 30);        // StatusOr
//   absl::Span<uint32_t> keys = memory->span<uint32_t>();               // fill it
//   auto name = client->Register(*memory);                              // the server maps and pins it, once
//   auto sorted = client->SortInto(keys, keys2, ...);                   // no byte goes through a socket
#ifndef CORANK_CLIENT_CPP_SHARED_MEMORY_H_
#define CORANK_CLIENT_CPP_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace corank::client {

/// A shared-memory object of this process, mapped. Its name goes when this does, unless it went before. The memory goes
/// with it too, but where a server has it registered, or a Client: that keeps it, at its addresses, until Unregister.
/// Move-only; moving does not move the memory.
class SharedMemory {
 public:
  /// Makes an object of `bytes` bytes, 1 or more, all zero, that only this user's processes can open. Its name is
  /// `prefix`, with leading slash, and random characters; a server takes only certain prefixes
  /// (ServerInfo::shared_memory_prefixes). RESOURCE_EXHAUSTED if the host has not as much memory: it is set aside now,
  /// so that no later access fails.
  static absl::StatusOr<SharedMemory> Create(int64_t bytes, absl::string_view prefix = "/corank-");

  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  /// The object's name, with leading slash.
  const std::string& key() const { return key_; }
  char* data() const { return mapping_ == nullptr ? nullptr : mapping_->data; }
  int64_t size() const { return mapping_ == nullptr ? 0 : mapping_->size; }
  /// All of it, or `count` elements from byte `offset_bytes` on, which the caller keeps within the size.
  template <typename T = char>
  absl::Span<T> span() const {
    return absl::MakeSpan(reinterpret_cast<T*>(data()), static_cast<size_t>(size()) / sizeof(T));
  }
  template <typename T = char>
  absl::Span<T> span(int64_t offset_bytes, int64_t count) const {
    return absl::MakeSpan(reinterpret_cast<T*>(data() + offset_bytes), static_cast<size_t>(count));
  }

  /// Takes the name away, so that nothing is left if this process dies: after Client::Register nobody needs it. Does
  /// nothing the second time.
  void Unlink();

  /// The memory stays mapped for as long as this is held too.
  std::shared_ptr<const void> mapping() const { return mapping_; }

 private:
  struct Mapping {
    Mapping(char* data, int64_t size) : data(data), size(size) {}
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    char* const data;
    const int64_t size;
  };

  SharedMemory() = default;

  std::string key_;
  std::shared_ptr<const Mapping> mapping_;
  bool is_linked_ = false;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_SHARED_MEMORY_H_
