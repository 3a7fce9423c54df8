// POSIX shared memory that a corank server on the same host can map.
//
//   auto memory = corank::client::SharedMemory::Create(2 * n * sizeof(uint32_t));  // absl::StatusOr
//   absl::Span<uint32_t> keys = memory->span<uint32_t>(0, n);                      // fill it
//   absl::Span<uint32_t> sorted = memory->span<uint32_t>(n * sizeof(uint32_t), n);
//   auto region = client->Register(*memory);                                       // the server maps and pins it,
//   once auto stats = client->SortInto(keys, sorted);                                   // no byte goes through a
//   socket
#ifndef CORANK_SHARED_MEMORY_H_
#define CORANK_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace corank::client {

/// A mapped shared-memory object. The destructor unlinks its key and unmaps the memory; memory that a Client has
/// registered stays mapped until Unregister. Move-only; a move keeps the addresses.
class SharedMemory {
 public:
  /// Makes an object of `bytes` bytes, 1 or more, all zero, that only processes of this user can open. Its key is
  /// `prefix`, which begins with a slash, and random characters; a server accepts only the prefixes in
  /// ServerInfo::shared_memory_prefixes. RESOURCE_EXHAUSTED if the host is short of memory: Create reserves all of it,
  /// so that no later access fails.
  static absl::StatusOr<SharedMemory> Create(int64_t bytes, absl::string_view prefix = "/corank-");

  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  /// The name of the object, with its leading slash.
  const std::string& key() const { return key_; }
  /// The first byte. Aligned to a page.
  char* data() const { return mapping_ == nullptr ? nullptr : mapping_->data; }
  /// In bytes.
  int64_t size() const { return mapping_ == nullptr ? 0 : mapping_->size; }
  /// All of the memory.
  template <typename T = char>
  absl::Span<T> span() const {
    return absl::MakeSpan(reinterpret_cast<T*>(data()), static_cast<size_t>(size()) / sizeof(T));
  }
  /// `count` elements from byte `offset_bytes` on. The caller keeps them within the size.
  template <typename T = char>
  absl::Span<T> span(int64_t offset_bytes, int64_t count) const {
    return absl::MakeSpan(reinterpret_cast<T*>(data() + offset_bytes), static_cast<size_t>(count));
  }

  /// Unlinks the key, so that nothing is left if this process dies. The key is needed only until Client::Register
  /// returns. A second call does nothing.
  void Unlink();

  /// Keeps the memory mapped while the caller holds it.
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

#endif  // CORANK_SHARED_MEMORY_H_
