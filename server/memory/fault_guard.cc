#include "server/memory/fault_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <mutex>

namespace corank {
namespace {

constexpr int kPlaces = 4096;

// The handler reads these on any thread. A place is in use while `end` is not 0, and `begin` is set before `end`.
struct Place {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> broken{false};
};

std::array<Place, kPlaces> places;
struct sigaction previous_action;
uintptr_t page_bytes = 0;

// Only calls that are safe in a handler; mmap is a plain system call.
void OnBusError(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Place& place : places) {
    const uintptr_t end = place.end.load(std::memory_order_acquire);
    if (end == 0 || address >= end || address < place.begin.load(std::memory_order_relaxed)) continue;
    place.broken.store(true);
    void* const page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
    if (mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) return;
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    // The faulting instruction repeats when this returns, and then ends the process.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &standard, nullptr);
  }
}

void Install() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous_action);
}

}  // namespace

FaultGuard::FaultGuard(void* begin, size_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, Install);
  for (int i = 0; i < kPlaces; ++i) {
    Place& place = places[static_cast<size_t>(i)];
    if (place.taken.exchange(true)) continue;
    place.broken.store(false);
    place.begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_relaxed);
    place.end.store(reinterpret_cast<uintptr_t>(begin) + bytes, std::memory_order_release);
    place_ = i;
    return;
  }
}

FaultGuard::~FaultGuard() {
  if (place_ < 0) return;
  Place& place = places[static_cast<size_t>(place_)];
  place.end.store(0);
  place.taken.store(false);
}

bool FaultGuard::broken() const { return place_ >= 0 && places[static_cast<size_t>(place_)].broken.load(); }

}  // namespace corank
