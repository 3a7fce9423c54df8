#include "client/cpp/regions.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/patience.h"
#include "corank/errors.h"
#include "corank/v1/memory_service.pb.h"

namespace corank::client {
namespace {

constexpr char kRegister[] = "/corank.v1.MemoryService/RegisterSharedMemory";
constexpr char kUnregister[] = "/corank.v1.MemoryService/UnregisterRegion";
constexpr char kList[] = "/corank.v1.MemoryService/ListRegions";

std::string NewName() {
  absl::BitGen random;
  return absl::StrCat("cpp-", absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16));
}

/// The most regions that wait for later calls.
constexpr size_t kMostIdle = 8;
/// A call takes an idle region of at most this many times its need.
constexpr int64_t kMostSlack = 8;
constexpr int64_t kLeastStep = int64_t{1} << 20, kMostStep = int64_t{16} << 20;

/// The size of a region for a call that needs `bytes`, rounded up by at most a quarter, so that calls of about one size
/// can share regions.
int64_t RegionBytes(int64_t bytes) {
  int64_t step = kLeastStep;
  while (step < kMostStep && 8 * step <= bytes) step *= 2;
  return bytes > std::numeric_limits<int64_t>::max() - step ? bytes : (bytes + step - 1) / step * step;
}

/// How long not to ask a server that has no room for regions, if it does not say.
constexpr absl::Duration kFullPause = absl::Seconds(1);

/// A quarter of the host's shared memory.
int64_t MostIdleBytes() {
  struct statvfs info = {};
  if (statvfs("/dev/shm", &info) != 0) return 0;
  return static_cast<int64_t>(info.f_blocks) * static_cast<int64_t>(info.f_frsize) / 4;
}

}  // namespace

Regions::~Regions() {
  std::thread watch;
  {
    absl::MutexLock lock(&mutex_);
    is_ending_ = true;
    watch.swap(watch_);
  }
  if (watch.joinable()) watch.join();
}

Attempt Regions::OpenLease(absl::Time deadline, const CallOptions& call, std::shared_ptr<const Lease>* lease) {
  const auto is_decided = [this] {
    lease_mutex_.AssertReaderHeld();
    return !is_opening_;
  };
  bool opens = false;
  Patience patience(deadline, call.cancellation);
  const bool had_turn = patience.Await([&](absl::Time until) {
    absl::MutexLock lock(&lease_mutex_);
    if (!lease_mutex_.AwaitWithDeadline(absl::Condition(&is_decided), until)) return false;
    *lease = lease_;
    opens = is_opening_ = lease_ == nullptr || !lease_->is_open();
    return true;
  });
  if (!had_turn) return {Lease::NotOpened(patience), {}};
  if (!opens) return {};
  absl::StatusOr<std::unique_ptr<Lease>> opened = Lease::Open(connection_, deadline, call);
  absl::MutexLock lock(&lease_mutex_);
  is_opening_ = false;
  if (!opened.ok()) return {opened.status(), {}};
  lease_ = *std::move(opened);
  *lease = lease_;
  return {};
}

absl::StatusOr<std::pair<std::string, std::shared_ptr<const Lease>>> Regions::RegisterNamed(const SharedMemory& memory,
                                                                                            absl::Time deadline,
                                                                                            const CallOptions& call,
                                                                                            bool repeats) {
  std::shared_ptr<const Lease> lease;
  v1::RegisterSharedMemoryRequest request;
  request.set_key(memory.key());
  request.set_size_bytes(memory.size());
  // A lost attempt may have registered a region, but that ends with its lost lease. The name is new.
  const auto attempt = [&] {
    if (Attempt opened = OpenLease(deadline, call, &lease); !opened.status.ok()) return opened;
    request.set_lease_id(lease->id());
    request.set_name(NewName());
    v1::RegisterSharedMemoryResponse response;
    return connection_->Once(kRegister, request, deadline, call, &response);
  };
  const auto cost = repeats ? connection_->Try(deadline, call, Repeat::kAlways, attempt)
                            : connection_->TryNow(deadline, call, attempt);
  if (!cost.ok()) return cost.status();
  return std::make_pair(request.name(), std::move(lease));
}

absl::StatusOr<std::string> Regions::Register(const SharedMemory& memory, const CallOptions& call) {
  auto registered = RegisterNamed(memory, connection_->Deadline(call), call, /*repeats=*/true);
  if (!registered.ok()) return registered.status();
  absl::MutexLock lock(&mutex_);
  ranges_[memory.data()] = {absl::string_view(memory.data(), static_cast<size_t>(memory.size())), registered->first,
                            memory.mapping(), std::move(registered->second)};
  return std::move(registered->first);
}

absl::Status Regions::Unregister(const std::string& name, const CallOptions& call) {
  v1::UnregisterRegionRequest request;
  request.set_name(name);
  v1::UnregisterRegionResponse response;
  bool was_lost = false;
  const absl::Time deadline = connection_->Deadline(call);
  const auto cost = connection_->Try(deadline, call, Repeat::kAlways, [&] {
    Attempt attempt = connection_->Once(kUnregister, request, deadline, call, &response);
    // A lost attempt has done it; no other region ever has this name.
    if (was_lost && absl::IsNotFound(attempt.status)) attempt.status = absl::OkStatus();
    was_lost = was_lost || FailureOf(attempt.status) == Failure::kLost;
    return attempt;
  });
  if (!cost.ok() && !absl::IsNotFound(cost.status())) return cost.status();
  absl::MutexLock lock(&mutex_);
  const auto found =
      std::find_if(ranges_.begin(), ranges_.end(), [&name](const auto& entry) { return entry.second.name == name; });
  if (found != ranges_.end()) ranges_.erase(found);
  return cost.status();
}

absl::StatusOr<std::vector<RegionInfo>> Regions::List(const CallOptions& call) const {
  v1::ListRegionsRequest request;
  v1::ListRegionsResponse response;
  const absl::Time deadline = connection_->Deadline(call);
  std::vector<RegionInfo> regions;
  do {
    request.set_page_token(response.next_page_token());
    const auto cost = connection_->Unary(kList, request, deadline, call, Repeat::kAlways, &response);
    if (!cost.ok()) return cost.status();
    for (const v1::Region& region : response.regions()) {
      const RegionKind kind = region.kind() == v1::REGION_KIND_SHARED_MEMORY ? RegionKind::kSharedMemory
                              : region.kind() == v1::REGION_KIND_CUDA_IPC    ? RegionKind::kCudaIpc
                                                                             : RegionKind::kUnknown;
      regions.push_back({region.name(), kind, region.size_bytes()});
    }
  } while (!response.next_page_token().empty());
  return regions;
}

std::optional<v1::RegionPlace> Regions::Find(absl::string_view bytes, int element_bytes) const {
  if (bytes.empty()) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  auto found = ranges_.upper_bound(bytes.data());
  if (found == ranges_.begin()) return std::nullopt;
  const Range& range = std::prev(found)->second;
  const int64_t offset = bytes.data() - range.bytes.data();
  if (!range.lease->is_open()) return std::nullopt;
  if (offset + static_cast<int64_t>(bytes.size()) > static_cast<int64_t>(range.bytes.size())) return std::nullopt;
  if (offset % std::min(element_bytes, 16) != 0) return std::nullopt;
  v1::RegionPlace place;
  place.set_region(range.name);
  place.set_offset_bytes(offset);
  return place;
}

absl::StatusOr<std::unique_ptr<OwnRegion>> Regions::Borrow(int64_t bytes, const std::string& prefix,
                                                           absl::Time deadline, const CallOptions& call, bool waits) {
  std::vector<std::string> discarded;
  {
    absl::MutexLock lock(&mutex_);
    discarded.swap(discarded_);
  }
  Unregister(discarded);
  std::vector<std::unique_ptr<OwnRegion>> ended;  // destroyed outside the lock, maybe with their lease
  {
    absl::MutexLock lock(&mutex_);
    for (auto each = idle_.begin(); each != idle_.end();) {
      const auto next = std::next(each);
      if (!each->second.region->lease->is_open()) ended.push_back(TakeIdle(each));
      each = next;
    }
    // Leaves much larger regions to the calls that need them.
    if (const auto found = idle_.lower_bound(bytes);
        found != idle_.end() && found->first / kMostSlack <= std::max(bytes, kLeastStep)) {
      return TakeIdle(found);
    }
    if (!waits && absl::Now() < full_until_) return absl::ResourceExhaustedError("the server has no room for regions");
  }
  absl::StatusOr<SharedMemory> memory = SharedMemory::Create(RegionBytes(bytes), prefix);
  if (!memory.ok()) return memory.status();
  auto registered = RegisterNamed(*memory, deadline, call, /*repeats=*/waits);
  memory->Unlink();
  if (!registered.ok()) {
    const absl::Status& error = registered.status();
    // The server cannot map this process's memory, or may not. Load and a stale token are no reason: they pass.
    if (!absl::IsResourceExhausted(error) && !absl::IsUnavailable(error) && !absl::IsDeadlineExceeded(error) &&
        !absl::IsCancelled(error) && !absl::IsUnauthenticated(error)) {
      is_refused_ = true;
    }
    if (absl::IsResourceExhausted(error)) {
      absl::MutexLock lock(&mutex_);
      full_until_ = absl::Now() + RetryDelay(error).value_or(kFullPause);
    }
    return error;
  }
  return std::make_unique<OwnRegion>(
      OwnRegion{*std::move(memory), std::move(registered->first), std::move(registered->second)});
}

void Regions::Return(std::unique_ptr<OwnRegion> region) {
  const int64_t bytes = region->memory.size(), most_bytes = MostIdleBytes();
  if (bytes > most_bytes) {
    Discard(std::move(region));
    return;
  }
  std::vector<std::unique_ptr<OwnRegion>> given_up;
  {
    absl::MutexLock lock(&mutex_);
    idle_.emplace(bytes, Idle{std::move(region), absl::Now()});
    idle_bytes_ += bytes;
    // The smallest regions are the cheapest to make again.
    while (idle_.size() > kMostIdle || idle_bytes_ > most_bytes) given_up.push_back(TakeIdle(idle_.begin()));
    try {
      if (!watch_.joinable()) watch_ = std::thread([this] { WatchIdle(); });
    } catch (const std::system_error&) {
      // The process is out of threads; a later call starts the watch.
    }
  }
  for (std::unique_ptr<OwnRegion>& each : given_up) Discard(std::move(each));
}

void Regions::Discard(std::unique_ptr<OwnRegion> region) { Unregister({region->name}); }

void Regions::DiscardIdle() {
  IdleRegions idle;
  {
    absl::MutexLock lock(&mutex_);
    idle.swap(idle_);
    idle_bytes_ = 0;
  }
  for (auto& [bytes, each] : idle) {
    if (each.region->lease->is_open()) Discard(std::move(each.region));
  }
}

std::unique_ptr<OwnRegion> Regions::TakeIdle(IdleRegions::iterator idle) {
  idle_bytes_ -= idle->first;
  return std::move(idle_.extract(idle).mapped().region);
}

absl::Time Regions::NextToGo() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [bytes, idle] : idle_) next = std::min(next, idle.since + most_idle_);
  return next;
}

void Regions::WatchIdle() {
  const auto has_work = [this] {
    mutex_.AssertReaderHeld();
    return is_ending_ || !idle_.empty();
  };
  while (true) {
    std::vector<std::unique_ptr<OwnRegion>> old;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      if (mutex_.AwaitWithDeadline(absl::Condition(&is_ending_), NextToGo())) return;
      const absl::Time begin = absl::Now() - most_idle_;
      for (auto each = idle_.begin(); each != idle_.end();) {
        const auto next = std::next(each);
        if (each->second.since <= begin) old.push_back(TakeIdle(each));
        each = next;
      }
    }
    for (std::unique_ptr<OwnRegion>& each : old) Discard(std::move(each));
  }
}

void Regions::Unregister(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    v1::UnregisterRegionRequest request;
    request.set_name(name);
    // After any other failure, the region ends with the lease.
    if (!absl::IsFailedPrecondition(connection_->Tell(kUnregister, request))) continue;
    absl::MutexLock lock(&mutex_);
    discarded_.push_back(name);
  }
}

}  // namespace corank::client
