// Tells ThreadSanitizer of Abseil's mutexes.
//
// Debian's Abseil is not instrumented: ThreadSanitizer sees neither Mutex::Lock nor Unlock, and takes all that a mutex
// guards for races. An instrumented Abseil makes the calls below itself; here the linker puts them around its functions
// (--wrap, cmake/Sanitizers.cmake), in this project's code and in gRPC's archives alike, so that what gRPC hands over
// under its own mutexes counts as handed over too. Between a `pre` and its `post` ThreadSanitizer ignores memory
// accesses; the only code of ours that runs there are conditions of Await and LockWhen.
//
// Names are mangled: absl::debian3 is Debian 12's inline namespace. Where Debian changes it, the link fails.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names
#define CORANK_WRAP(result, name, parameters) \
  result __real_##name parameters;            \
  result __wrap_##name parameters

extern "C" {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Time;

// --- Taking and giving back ------------------------------------------------------------------------------------------

CORANK_WRAP(void, _ZN4absl7debian35Mutex4LockEv, (Mutex * mutex)) {
  __tsan_mutex_pre_lock(mutex, 0);
  __real__ZN4absl7debian35Mutex4LockEv(mutex);
  __tsan_mutex_post_lock(mutex, 0, 0);
}
CORANK_WRAP(void, _ZN4absl7debian35Mutex6UnlockEv, (Mutex * mutex)) {
  __tsan_mutex_pre_unlock(mutex, 0);
  __real__ZN4absl7debian35Mutex6UnlockEv(mutex);
  __tsan_mutex_post_unlock(mutex, 0);
}
CORANK_WRAP(bool, _ZN4absl7debian35Mutex7TryLockEv, (Mutex * mutex)) {
  __tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock);
  const bool locked = __real__ZN4absl7debian35Mutex7TryLockEv(mutex);
  __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock | (locked ? 0 : __tsan_mutex_try_lock_failed), 0);
  return locked;
}
CORANK_WRAP(void, _ZN4absl7debian35Mutex10ReaderLockEv, (Mutex * mutex)) {
  __tsan_mutex_pre_lock(mutex, __tsan_mutex_read_lock);
  __real__ZN4absl7debian35Mutex10ReaderLockEv(mutex);
  __tsan_mutex_post_lock(mutex, __tsan_mutex_read_lock, 0);
}
CORANK_WRAP(void, _ZN4absl7debian35Mutex12ReaderUnlockEv, (Mutex * mutex)) {
  __tsan_mutex_pre_unlock(mutex, __tsan_mutex_read_lock);
  __real__ZN4absl7debian35Mutex12ReaderUnlockEv(mutex);
  __tsan_mutex_post_unlock(mutex, __tsan_mutex_read_lock);
}
CORANK_WRAP(void, _ZN4absl7debian35MutexD1Ev, (Mutex * mutex)) {
  __tsan_mutex_destroy(mutex, __tsan_mutex_not_static);
  __real__ZN4absl7debian35MutexD1Ev(mutex);
}

// --- Waiting: the mutex is given back and taken again ----------------------------------------------------------------

static void GiveBack(Mutex* mutex) {
  __tsan_mutex_pre_unlock(mutex, 0);
  __tsan_mutex_post_unlock(mutex, 0);
}
static void Begin(Mutex* mutex) { __tsan_mutex_pre_lock(mutex, 0); }
static void Taken(Mutex* mutex) { __tsan_mutex_post_lock(mutex, 0, 0); }

CORANK_WRAP(void, _ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE, (Mutex * mutex, const Condition& condition)) {
  GiveBack(mutex);
  Begin(mutex);
  __real__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE(mutex, condition);
  Taken(mutex);
}
CORANK_WRAP(bool, _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
            (Mutex * mutex, const Condition& condition, Duration timeout)) {
  GiveBack(mutex);
  Begin(mutex);
  const bool holds =
      __real__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE(mutex, condition, timeout);
  Taken(mutex);
  return holds;
}
CORANK_WRAP(bool, _ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
            (Mutex * mutex, const Condition& condition, Time deadline)) {
  GiveBack(mutex);
  Begin(mutex);
  const bool holds =
      __real__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE(mutex, condition, deadline);
  Taken(mutex);
  return holds;
}
CORANK_WRAP(void, _ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE, (Mutex * mutex, const Condition& condition)) {
  Begin(mutex);
  __real__ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE(mutex, condition);
  Taken(mutex);
}
CORANK_WRAP(bool, _ZN4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE,
            (Mutex * mutex, const Condition& condition, Duration timeout)) {
  Begin(mutex);
  const bool holds =
      __real__ZN4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE(mutex, condition, timeout);
  Taken(mutex);
  return holds;
}
CORANK_WRAP(void, _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE, (CondVar * condition, Mutex* mutex)) {
  GiveBack(mutex);
  Begin(mutex);
  __real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(condition, mutex);
  Taken(mutex);
}
CORANK_WRAP(bool, _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
            (CondVar * condition, Mutex* mutex, Duration timeout)) {
  GiveBack(mutex);
  Begin(mutex);
  const bool passed =
      __real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(condition, mutex, timeout);
  Taken(mutex);
  return passed;
}
CORANK_WRAP(bool, _ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE,
            (CondVar * condition, Mutex* mutex, Time deadline)) {
  GiveBack(mutex);
  Begin(mutex);
  const bool passed =
      __real__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE(condition, mutex, deadline);
  Taken(mutex);
  return passed;
}

// A notification is read without its mutex: an atomic flag behind it, which instrumented code may read itself.
static void* Flag(const absl::Notification* notification) {
  return const_cast<char*>(reinterpret_cast<const char*>(notification)) + sizeof(Mutex);
}

CORANK_WRAP(void, _ZN4absl7debian312Notification6NotifyEv, (absl::Notification * notification)) {
  __tsan_release(Flag(notification));
  __real__ZN4absl7debian312Notification6NotifyEv(notification);
}
CORANK_WRAP(void, _ZNK4absl7debian312Notification19WaitForNotificationEv, (const absl::Notification* notification)) {
  __real__ZNK4absl7debian312Notification19WaitForNotificationEv(notification);
  __tsan_acquire(Flag(notification));
}
CORANK_WRAP(bool, _ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE,
            (const absl::Notification* notification, Duration timeout)) {
  const bool notified =
      __real__ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE(notification, timeout);
  __tsan_acquire(Flag(notification));
  return notified;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
