// How a call ends.
#ifndef CORANK_SERVER_BASE_CALL_STATUS_H_
#define CORANK_SERVER_BASE_CALL_STATUS_H_

#include <string>

namespace corank {

/// The numbers are those of google.rpc.Code.
struct CallStatus {
  int code = 0;
  std::string message;
  /// A serialized google.rpc.Status; empty: none.
  std::string details;

  bool ok() const { return code == 0; }
};

}  // namespace corank

#endif  // CORANK_SERVER_BASE_CALL_STATUS_H_
