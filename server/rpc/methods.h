// The methods that a port serves, by their paths.
#ifndef CORANK_SERVER_RPC_METHODS_H_
#define CORANK_SERVER_RPC_METHODS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/wire/connection.h"

namespace corank {

/// Not thread-safe; a router is a copy, which any thread may call.
class Methods {
 public:
  /// `begin` makes what answers a call, as wire::Router does.
  void Add(absl::string_view service, absl::string_view method, wire::Router begin) {
    by_path_[absl::StrCat("/", service, "/", method)] = std::move(begin);
  }
  /// Serves what was added so far.
  wire::Router router() const {
    return [by_path = by_path_](const std::shared_ptr<wire::Call>& call) -> std::shared_ptr<wire::Handler> {
      const auto found = by_path.find(call->head().path);
      return found == by_path.end() ? nullptr : found->second(call);
    };
  }

 private:
  absl::flat_hash_map<std::string, wire::Router> by_path_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_METHODS_H_
