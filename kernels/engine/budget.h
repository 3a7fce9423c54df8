// A limit on memory that several parties share.
#ifndef CORANK_KERNELS_ENGINE_BUDGET_H_
#define CORANK_KERNELS_ENGINE_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace corank {

/// Thread-safe. Outlives its reservations by shared ownership.
class Budget : public std::enable_shared_from_this<Budget> {
 public:
  /// A part of a budget. Destruction releases it.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept : budget_(std::move(other.budget_)), bytes_(other.bytes_) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->used_.fetch_sub(bytes_);
    }
    /// False: the budget has no room.
    explicit operator bool() const { return budget_ != nullptr; }
    int64_t bytes() const { return budget_ == nullptr ? 0 : bytes_; }
    /// Makes a part that was reserved larger or smaller. False: the budget has no room for a larger one.
    bool Resize(int64_t bytes) {
      if (bytes > bytes_ && !budget_->Take(bytes - bytes_, 0)) return false;
      if (bytes < bytes_) budget_->used_.fetch_sub(bytes_ - bytes);
      bytes_ = bytes;
      return true;
    }

   private:
    friend class Budget;
    Reservation(std::shared_ptr<Budget> budget, int64_t bytes) : budget_(std::move(budget)), bytes_(bytes) {}
    std::shared_ptr<Budget> budget_;
    int64_t bytes_ = 0;
  };

  static std::shared_ptr<Budget> Create(int64_t limit) { return std::shared_ptr<Budget>(new Budget(limit)); }

  /// `bytes`: 0 or more. `left`: that must be free afterwards.
  Reservation Reserve(int64_t bytes, int64_t left = 0) {
    return Take(bytes, left) ? Reservation(shared_from_this(), bytes) : Reservation();
  }
  /// A part without bytes, to resize. Always succeeds.
  Reservation Nothing() { return Reservation(shared_from_this(), 0); }
  int64_t used() const { return used_.load(); }
  int64_t limit() const { return limit_.load(); }
  /// Reservations stay as they are.
  void set_limit(int64_t bytes) { limit_.store(bytes); }

 private:
  explicit Budget(int64_t limit) : limit_(limit) {}
  bool Take(int64_t bytes, int64_t left) {
    const int64_t limit = this->limit();
    int64_t used = used_.load();
    do {
      if (bytes > limit - left - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }

  std::atomic<int64_t> limit_;
  std::atomic<int64_t> used_{0};
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_BUDGET_H_
