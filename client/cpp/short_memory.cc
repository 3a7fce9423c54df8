#include "client/cpp/short_memory.h"

#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace corank::client {

absl::Status WithinMemory(absl::string_view what, absl::FunctionRef<void()> work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // larger than any memory
  }
  return absl::ResourceExhaustedError(absl::StrCat("not enough memory here for ", what));
}

}  // namespace corank::client
