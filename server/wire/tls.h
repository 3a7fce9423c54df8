// TLS 1.2 and 1.3 on a socket that does not block.
#ifndef CORANK_SERVER_WIRE_TLS_H_
#define CORANK_SERVER_WIRE_TLS_H_

#include <openssl/ssl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/wire/call.h"

namespace corank::wire {

/// What new connections are secured with. Immutable; connections keep the one that they began with. Thread-safe.
class TlsContext {
 public:
  /// All are PEM. `certificate`: the server's, then intermediate ones. `client_ca`: roots for client certificates,
  /// which callers must then present; empty: none are asked for. INVALID_ARGUMENT with OpenSSL's reason.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> Create(const std::string& certificate,
                                                                  const std::string& key, const std::string& client_ca);
  ~TlsContext() { SSL_CTX_free(context_); }
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  SSL_CTX* get() const { return context_; }

 private:
  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  SSL_CTX* const context_;
};

/// One connection's TLS. Results are those of read(2) and write(2): -1 with errno EAGAIN if the socket must be waited
/// for, with `wants_write()` saying for what.
class TlsStream {
 public:
  TlsStream(const TlsContext& context, int fd);
  ~TlsStream() { SSL_free(ssl_); }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// 1: done; 0: again when the socket is ready; -1: it failed.
  int Handshake();
  bool is_done() const { return is_done_; }
  bool wants_write() const { return wants_write_; }
  ssize_t Read(char* to, size_t size);
  ssize_t Write(const char* from, size_t size);
  /// Whether bytes of a record are left that the next Read takes without the socket.
  bool has_decrypted() const { return SSL_pending(ssl_) > 0; }
  /// Bytes that came by the socket since the last call.
  size_t TakeReceived();
  /// Tells the peer that nothing more comes.
  void Shutdown();
  /// After the handshake: whether the peer speaks HTTP/2, as it said itself.
  bool IsHttp2() const;
  /// After the handshake: the names of the client's certificate.
  void Name(Peer* peer) const;

 private:
  ssize_t Result(int result);

  SSL* const ssl_;
  bool is_done_ = false;
  bool wants_write_ = false;
  uint64_t received_ = 0;
};

}  // namespace corank::wire

#endif  // CORANK_SERVER_WIRE_TLS_H_
