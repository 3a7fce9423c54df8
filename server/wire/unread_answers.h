// Bytes of finished answers that callers leave unread: of all connections, and of each tenant.
#ifndef CORANK_SERVER_WIRE_UNREAD_ANSWERS_H_
#define CORANK_SERVER_WIRE_UNREAD_ANSWERS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace corank::wire {

/// Thread-safe.
class UnreadAnswers {
 public:
  using Account = std::atomic<int64_t>;
  /// What the calls of one tenant leave unread on one connection.
  struct Debt {
    std::shared_ptr<Account> account;  // of the tenant
    int64_t bytes = 0;                 // as counted last; the account has them
    int64_t counted = 0;               // while they are counted
  };

  explicit UnreadAnswers(int64_t most_bytes) : most_bytes_(most_bytes) {}

  /// The account of a tenant, which exists as long as a connection has it.
  std::shared_ptr<Account> Of(absl::string_view tenant) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    std::weak_ptr<Account>& kept = accounts_[std::string(tenant)];
    std::shared_ptr<Account> account = kept.lock();
    if (account != nullptr) return account;
    kept = account = std::make_shared<Account>(0);
    for (auto other = accounts_.begin(); other != accounts_.end();) {
      other = other->second.expired() ? accounts_.erase(other) : std::next(other);
    }
    return account;
  }
  void Add(int64_t bytes) { bytes_ += bytes; }

  /// Whether a connection or a tenant leaves too many bytes unread: more than all of them have left over, so that
  /// others always find room.
  bool IsTooMuch(int64_t bytes) const { return bytes > std::max(kFew, most_bytes_ - bytes_); }

 private:
  static constexpr int64_t kFew = 256 << 10;  // that each may leave in any case

  const int64_t most_bytes_;
  std::atomic<int64_t> bytes_{0};
  absl::Mutex mutex_;
  std::map<std::string, std::weak_ptr<Account>> accounts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_UNREAD_ANSWERS_H_
