#include "server/memory/region_registry.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/memory/fault_guard.h"

namespace corank {
namespace {

constexpr absl::Duration kLostRegionRetry = absl::Milliseconds(100);

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  /// The file's size; -1 if unknown.
  int64_t size() const {
    struct stat status = {};
    return fstat(fd_, &status) == 0 ? static_cast<int64_t>(status.st_size) : -1;
  }
  ObjectPlace PlaceOf(int64_t offset) const {
    struct stat status = {};
    static_cast<void>(fstat(fd_, &status));  // its size was read before
    return {status.st_dev, status.st_ino, offset};
  }

 private:
  int fd_;
};

class Mapping {
 public:
  Mapping(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  ~Mapping() { munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void* const data_;
  const size_t bytes_;
};

// The mapped objects, by address.
class MappedObjects {
 public:
  // One for the process, because two registries may map the same object.
  static MappedObjects& Get() {
    static auto* const objects = new MappedObjects;
    return *objects;
  }
  void Add(const char* begin, int64_t bytes, const ObjectPlace& place) {
    absl::MutexLock lock(&mutex_);
    objects_[begin] = {bytes, place};
  }
  void Remove(const char* begin) {
    absl::MutexLock lock(&mutex_);
    objects_.erase(begin);
  }
  std::optional<ObjectPlace> Find(const char* address) const {
    absl::MutexLock lock(&mutex_);
    const auto next = objects_.upper_bound(address);
    if (next == objects_.begin()) return std::nullopt;
    const auto& [begin, object] = *std::prev(next);
    if (address - begin >= object.bytes) return std::nullopt;
    ObjectPlace place = object.place;
    place.offset += address - begin;
    return place;
  }

 private:
  struct Object {
    int64_t bytes;
    ObjectPlace place;  // of the first byte
  };
  mutable absl::Mutex mutex_;
  std::map<const char*, Object> objects_ ABSL_GUARDED_BY(mutex_);
};

class MappedObject {
 public:
  MappedObject(const void* begin, int64_t bytes, const ObjectPlace& place) : begin_(static_cast<const char*>(begin)) {
    MappedObjects::Get().Add(begin_, bytes, place);
  }
  ~MappedObject() { MappedObjects::Get().Remove(begin_); }
  MappedObject(const MappedObject&) = delete;
  MappedObject& operator=(const MappedObject&) = delete;

 private:
  const char* const begin_;
};

class SharedMemoryRegion final : public MemoryRegion {
 public:
  SharedMemoryRegion(std::string name, std::string key, FileDescriptor file, void* data, int64_t offset, int64_t bytes)
      : MemoryRegion(std::move(name), v1::REGION_KIND_SHARED_MEMORY),
        key_(std::move(key)),
        file_(std::move(file)),
        data_(data),
        offset_(offset),
        bytes_(bytes),
        mapping_(data, static_cast<size_t>(bytes)),
        object_(data, bytes, file_.PlaceOf(offset)),
        guard_(data, static_cast<size_t>(bytes)) {}

  absl::Status Pin(Engine* engine) {
    if (!guard_.active()) return absl::ResourceExhaustedError("too many regions are mapped");
    CORANK_ASSIGN_OR_RETURN(pinned_, engine->PinHost(data_, bytes_));
    return absl::OkStatus();
  }

  void* data() const override { return data_; }
  int64_t size_bytes() const override { return bytes_; }
  bool intact() const override { return !guard_.broken() && file_.size() >= offset_ + bytes_; }
  RegionFacts Facts() const override { return {name(), bytes_, key_, offset_}; }

 private:
  const std::string key_;
  const FileDescriptor file_;
  void* const data_;
  const int64_t offset_;
  const int64_t bytes_;
  const Mapping mapping_;
  const MappedObject object_;  // destroyed before the mapping, whose addresses may then be reused
  const FaultGuard guard_;
  std::unique_ptr<EngineMemory> pinned_;  // destroyed before the mapping
};

class IpcRegion final : public MemoryRegion {
 public:
  IpcRegion(std::string name, int device, std::unique_ptr<EngineMemory> memory)
      : MemoryRegion(std::move(name), v1::REGION_KIND_CUDA_IPC), device_(device), memory_(std::move(memory)) {}
  void* data() const override { return memory_->data(); }
  int64_t size_bytes() const override { return memory_->size_bytes(); }
  bool intact() const override { return true; }
  int device() const override { return device_; }
  RegionFacts Facts() const override { return {name(), size_bytes(), "", 0, device_}; }

 private:
  const int device_;
  const std::unique_ptr<EngineMemory> memory_;
};

absl::Status CheckRange(int64_t offset, int64_t size, int64_t unit) {
  if (size < 1) return InvalidField("size_bytes", absl::StrCat("must be 1 or more, not ", size));
  if (offset < 0 || offset % unit != 0) {
    return InvalidField("offset_bytes", absl::StrCat("must be 0 or more and a multiple of ", unit, ", not ", offset));
  }
  if (size > std::numeric_limits<int64_t>::max() - offset) {
    return InvalidField("size_bytes", "offset and size together do not fit in 64 bits");
  }
  return absl::OkStatus();
}

absl::Status CheckKey(const std::string& key, const std::vector<std::string>& prefixes) {
  const bool one_component = key.size() > 1 && key.front() == '/' && key.find('/', 1) == std::string::npos &&
                             key.find('\0') == std::string::npos && key.size() <= NAME_MAX;
  if (!one_component) return InvalidField("key", "must be a name for shm_open: one leading slash and no other");
  const bool allowed = std::any_of(prefixes.begin(), prefixes.end(),
                                   [&key](const std::string& prefix) { return absl::StartsWith(key, prefix); });
  if (allowed) return absl::OkStatus();
  return FieldError(v1::ERROR_REASON_NOT_PERMITTED, "key",
                    "the server accepts only objects whose names have a prefix from GetServerInfo");
}

absl::Status OpenError(int error) {
  switch (error) {
    case ENOENT:
      return FieldError(v1::ERROR_REASON_MEMORY_NOT_FOUND, "key", "the server's host has no such shared-memory object");
    case EACCES:
    case EPERM:
      return FieldError(v1::ERROR_REASON_NOT_PERMITTED, "key", "the server's user may not read and write this object");
    case EWOULDBLOCK:
      return InvalidField("key", "a process holds a lease on the object (F_SETLEASE); release it first");
    default:
      return InvalidField("key", absl::StrCat("cannot be opened: ", std::strerror(error)));
  }
}

// Without memory for the pin, the caller should retry; the server is not at fault.
absl::Status PinError(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return RetryLater(v1::ERROR_REASON_MEMORY_FULL, "the server cannot map or pin more memory now",
                    RegionRegistry::kFullRetry);
}

absl::Status IpcError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return InvalidField("handle", status.message());
    case absl::StatusCode::kNotFound:
      return FieldError(v1::ERROR_REASON_MEMORY_NOT_FOUND, "handle", status.message());
    case absl::StatusCode::kUnimplemented:
      return Error(v1::ERROR_REASON_PLACE_DISABLED, status.message());
    default:
      return PinError(status);
  }
}

absl::StatusOr<std::shared_ptr<MemoryRegion>> MapSharedMemory(const v1::RegisterSharedMemoryRequest& request,
                                                              Engine* engine) {
  const int64_t offset = request.offset_bytes(), bytes = request.size_bytes();
  // Where somebody holds a lease on the object, opening would wait for up to /proc/sys/fs/lease-break-time.
  FileDescriptor file(shm_open(request.key().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK, 0));
  if (file.get() < 0) return OpenError(errno);
  if (file.size() < offset + bytes) {
    return InvalidField("size_bytes", absl::StrCat("the object has ", file.size(), " bytes, fewer than offset ", offset,
                                                   " and size ", bytes, " need"));
  }
  void* const data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), offset);
  if (data == MAP_FAILED) return PinError(absl::ResourceExhaustedError(std::strerror(errno)));
  auto region =
      std::make_shared<SharedMemoryRegion>(request.name(), request.key(), std::move(file), data, offset, bytes);
  if (absl::Status status = region->Pin(engine); !status.ok()) return PinError(status);
  return region;
}

v1::Region Describe(const MemoryRegion& region) {
  v1::Region described;
  described.set_name(region.name());
  described.set_kind(region.kind());
  described.set_size_bytes(region.size_bytes());
  return described;
}

absl::Status NoSuchLease() {
  return FieldError(v1::ERROR_REASON_LEASE_NOT_FOUND, "lease_id", "no open lease has this id");
}

absl::Status NoSuchRegion(absl::string_view field, const std::string& name) {
  return FieldError(v1::ERROR_REASON_REGION_NOT_FOUND, field,
                    absl::StrCat("no region is registered under the name '", name, "'"));
}

}  // namespace

std::optional<ObjectPlace> FindObjectPlace(const void* address) {
  return MappedObjects::Get().Find(static_cast<const char*>(address));
}

RegionRegistry::RegionRegistry(Options options, const DeviceSet* devices, const Clock* clock)
    : options_(std::move(options)), devices_(devices), clock_(clock) {}

absl::StatusOr<v1::Region> RegionRegistry::Register(absl::string_view owner,
                                                    const v1::RegisterSharedMemoryRequest& request,
                                                    const Wanted& wanted) {
  if (options_.shared_memory_prefixes.empty()) {
    return Error(v1::ERROR_REASON_PLACE_DISABLED, "shared memory is switched off on this server (--shared-memory)");
  }
  CORANK_RETURN_IF_ERROR(CheckName("name", request.name()));
  CORANK_RETURN_IF_ERROR(CheckKey(request.key(), options_.shared_memory_prefixes));
  const int64_t page = sysconf(_SC_PAGESIZE);
  CORANK_RETURN_IF_ERROR(CheckRange(request.offset_bytes(), request.size_bytes(), page));
  const OwnedName key(owner, request.name());
  CORANK_ASSIGN_OR_RETURN(const uint64_t serial, Reserve(key, request.lease_id()));
  return Publish(key, serial, MapSharedMemory(request, &devices_->host()), wanted);
}

absl::StatusOr<v1::Region> RegionRegistry::Register(absl::string_view owner, const v1::RegisterCudaIpcRequest& request,
                                                    const Wanted& wanted) {
  if (!options_.cuda_ipc) {
    return Error(v1::ERROR_REASON_PLACE_DISABLED, "CUDA IPC is switched off on this server (--cuda-ipc)");
  }
  CORANK_RETURN_IF_ERROR(CheckName("name", request.name()));
  CORANK_RETURN_IF_ERROR(CheckRange(request.offset_bytes(), request.size_bytes(), 1));
  int device = 0;
  while (device < devices_->size() && devices_->engine(device).info().device_uuid != request.device_uuid()) ++device;
  if (device == devices_->size() || !devices_->is_live(device)) {
    return FieldError(v1::ERROR_REASON_DEVICE_NOT_USED, "device_uuid",
                      "the memory is on a GPU that the server does not use; GetServerInfo names those in use");
  }
  const OwnedName key(owner, request.name());
  CORANK_ASSIGN_OR_RETURN(const uint64_t serial, Reserve(key, request.lease_id()));
  absl::StatusOr<std::unique_ptr<EngineMemory>> memory =
      devices_->engine(device).OpenIpc(request.handle(), request.offset_bytes(), request.size_bytes());
  if (memory.ok()) {
    return Publish(key, serial, std::make_shared<IpcRegion>(request.name(), device, *std::move(memory)), wanted);
  }
  return Publish(key, serial, IpcError(memory.status()), wanted);
}

absl::StatusOr<uint64_t> RegionRegistry::Reserve(const OwnedName& key, const std::string& lease_id) {
  std::vector<std::shared_ptr<MemoryRegion>> expired;
  absl::MutexLock lock(&mutex_);
  expired = TakeExpired();
  const auto lease = leases_.find(lease_id);
  if (!lease_id.empty()) {
    if (lease == leases_.end() || lease->second.owner != key.first) return NoSuchLease();
    lease->second.last_used = clock_->Now();
  }
  if (static_cast<int>(regions_.size()) >= options_.max_regions) {
    return RetryLater(v1::ERROR_REASON_TOO_MANY_OPEN,
                      absl::StrCat("the server already has its maximum of regions, ", options_.max_regions),
                      kFullRetry);
  }
  const auto first = regions_.lower_bound(OwnedName(key.first, ""));
  const auto of_owner =
      std::find_if(first, regions_.end(), [&key](const auto& region) { return region.first.first != key.first; });
  if (std::distance(first, of_owner) >= MostOfOwner()) {
    return RetryLater(v1::ERROR_REASON_QUOTA_EXCEEDED,
                      absl::StrCat("the caller has ", MostOfOwner(), " regions, its maximum; unregister others first"),
                      kFullRetry);
  }
  if (!regions_.emplace(key, Entry{nullptr, lease_id, clock_->Now(), ++next_serial_}).second) {
    return FieldError(v1::ERROR_REASON_REGION_EXISTS, "name", "a region of this name is already registered");
  }
  return next_serial_;
}

absl::StatusOr<v1::Region> RegionRegistry::Publish(const OwnedName& key, uint64_t serial,
                                                   absl::StatusOr<std::shared_ptr<MemoryRegion>> region,
                                                   const Wanted& wanted) {
  std::shared_ptr<MemoryRegion> unwanted;  // unmapped without the lock
  absl::MutexLock lock(&mutex_);
  const auto entry = regions_.find(key);
  // During the mapping the lease may have ended, and another region may have taken the name.
  if (entry == regions_.end() || entry->second.serial != serial) {
    return region.ok() ? NoSuchLease() : region.status();
  }
  if (region.ok() && wanted != nullptr && !wanted()) {
    unwanted = *std::move(region);
    region = CallerCancelled();
  }
  if (!region.ok()) {
    regions_.erase(entry);
    return region.status();
  }
  // Under the lock, so that a region published before its device is lost is forgotten then.
  if ((*region)->kind() == v1::REGION_KIND_CUDA_IPC && !devices_->is_live((*region)->device())) {
    lost_.push_back(*std::move(region));
    regions_.erase(entry);
    return RetryLater(v1::ERROR_REASON_DEVICE_LOST, "the server lost the device of the memory", kLostRegionRetry);
  }
  entry->second.region = *std::move(region);
  return Describe(*entry->second.region);
}

v1::ListRegionsResponse RegionRegistry::List(absl::string_view owner, const Page& page) {
  std::vector<std::shared_ptr<MemoryRegion>> expired;
  absl::MutexLock lock(&mutex_);
  expired = TakeExpired();
  v1::ListRegionsResponse response;
  for (auto entry = regions_.upper_bound(OwnedName(owner, page.after));
       entry != regions_.end() && entry->first.first == owner; ++entry) {
    if (entry->second.region == nullptr) continue;
    if (response.regions_size() == page.size) {
      response.set_next_page_token(PageToken(kListName, response.regions().rbegin()->name()));
      break;
    }
    *response.add_regions() = Describe(*entry->second.region);
  }
  return response;
}

std::vector<RegionFacts> RegionRegistry::Facts(absl::string_view owner, v1::RegionKind kind) const {
  std::vector<RegionFacts> facts;
  absl::MutexLock lock(&mutex_);
  for (auto entry = regions_.lower_bound(OwnedName(owner, "")); entry != regions_.end() && entry->first.first == owner;
       ++entry) {
    const std::shared_ptr<MemoryRegion>& region = entry->second.region;
    if (region != nullptr && region->kind() == kind) facts.push_back(region->Facts());
  }
  return facts;
}

absl::Status RegionRegistry::Unregister(absl::string_view owner, const std::string& name) {
  CORANK_RETURN_IF_ERROR(CheckName("name", name));
  std::shared_ptr<MemoryRegion> region;  // unmapped without the lock
  absl::MutexLock lock(&mutex_);
  const auto entry = regions_.find(OwnedName(owner, name));
  if (entry == regions_.end() || entry->second.region == nullptr) return NoSuchRegion("name", name);
  if (entry->second.region.use_count() > 1) {
    return FieldError(v1::ERROR_REASON_IN_USE, "name", "a request is using the region");
  }
  region = std::move(entry->second.region);
  regions_.erase(entry);
  return absl::OkStatus();
}

void RegionRegistry::ForgetDevice(int device) {
  absl::MutexLock lock(&mutex_);
  for (auto entry = regions_.begin(); entry != regions_.end();) {
    const std::shared_ptr<MemoryRegion>& region = entry->second.region;
    if (region != nullptr && region->kind() == v1::REGION_KIND_CUDA_IPC && region->device() == device) {
      lost_.push_back(region);
      entry = regions_.erase(entry);
    } else {
      ++entry;
    }
  }
}

absl::StatusOr<std::shared_ptr<const MemoryRegion>> RegionRegistry::Find(absl::string_view owner,
                                                                         const std::string& name, v1::RegionKind kind,
                                                                         absl::string_view field) {
  CORANK_RETURN_IF_ERROR(CheckName(field, name));
  absl::MutexLock lock(&mutex_);
  const auto entry = regions_.find(OwnedName(owner, name));
  if (entry == regions_.end() || entry->second.region == nullptr || entry->second.region->kind() != kind) {
    return NoSuchRegion(field, name);
  }
  entry->second.last_used = clock_->Now();
  if (!entry->second.region->intact()) {
    return FieldError(v1::ERROR_REASON_MEMORY_TRUNCATED, field,
                      absl::StrCat("the shared memory of region '", name, "' shrank"));
  }
  return std::shared_ptr<const MemoryRegion>(entry->second.region);
}

std::vector<std::shared_ptr<MemoryRegion>> RegionRegistry::TakeExpired() {
  std::vector<std::shared_ptr<MemoryRegion>> expired;
  const Instant now = clock_->Now();
  for (auto entry = regions_.begin(); entry != regions_.end();) {
    const Entry& region = entry->second;
    if (region.region != nullptr && region.lease_id.empty() && region.region.use_count() == 1 &&
        now - region.last_used > options_.expiry) {
      expired.push_back(region.region);
      entry = regions_.erase(entry);
    } else {
      ++entry;
    }
  }
  return expired;
}

void RegionRegistry::GiveBackExpired() {
  std::vector<std::shared_ptr<MemoryRegion>> expired;  // freed without the lock
  {
    absl::MutexLock lock(&mutex_);
    expired = TakeExpired();
  }
  EndIdleLeases();
}

int64_t RegionRegistry::region_count() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(regions_.size());
}

}  // namespace corank
