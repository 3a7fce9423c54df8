// POSIX shared memory that a corank server on the same host can map.
//
//   auto memory = corank::client::SharedMemory::Create(1 << 30);        // StatusOr
//   absl::Span<uint32_t> keys = memory->span<uint32_t>();               // fill it
//   auto name = client->Register(*memory);                              // the server maps and pins it, once
//   auto sorted = client->SortInto(keys, keys2, ...);                   // no byte goes through a socket
#ifndef CORANK_CLIENT_CPP_SHARED_MEMORY_H_
#define CORANK_CLIENT_CPP_SHARED_MEMORY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace corank::client {

/// A shared-memory object of this process, mapped. Its name goes when this does, unless it went before; a server that
/// has it registered keeps the memory. Move-only; moving does not move the memory.
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
  char* data() const { return data_; }
  int64_t size() const { return size_; }
  /// All of it, or `count` elements from byte `offset_bytes` on, which the caller keeps within the size.
  template <typename T = char>
  absl::Span<T> span() const {
    return absl::MakeSpan(reinterpret_cast<T*>(data_), static_cast<size_t>(size_) / sizeof(T));
  }
  template <typename T = char>
  absl::Span<T> span(int64_t offset_bytes, int64_t count) const {
    return absl::MakeSpan(reinterpret_cast<T*>(data_ + offset_bytes), static_cast<size_t>(count));
  }

  /// Takes the name away, so that nothing is left if this process dies: after Client::Register nobody needs it. Does
  /// nothing the second time.
  void Unlink();

 private:
  SharedMemory() = default;
  void Release();

  std::string key_;
  char* data_ = nullptr;
  int64_t size_ = 0;
  bool is_linked_ = false;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_SHARED_MEMORY_H_
