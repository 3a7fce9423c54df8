#include "server/wire/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace corank::wire {
namespace {

// Forward secrecy and authenticated encryption, and nothing else.
constexpr char kCiphers12[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr unsigned char kHttp2[] = "\x02h2";

template <typename T, void (*Free)(T*)>
struct Freer {
  void operator()(T* object) const { Free(object); }
};
using Bio = std::unique_ptr<BIO, Freer<BIO, BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;

Bio Open(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

absl::Status Failure(absl::string_view what) {
  char reason[256] = "";
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", reason));
}

int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                   unsigned int in_size, void*) {
  if (SSL_select_next_proto(const_cast<unsigned char**>(out), out_size, kHttp2, sizeof kHttp2 - 1, in, in_size) ==
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

absl::Status UseCertificates(SSL_CTX* context, const std::string& pem) {
  const Bio bio = Open(pem);
  const Certificate own(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1) return Failure("certificate");
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) != 1) {
      X509_free(next);
      return Failure("certificate chain");
    }
  }
  ERR_clear_error();  // the end of the text counts as an error
  return absl::OkStatus();
}

absl::Status RequireClients(SSL_CTX* context, const std::string& pem) {
  const Bio bio = Open(pem);
  int count = 0;
  while (true) {
    const Certificate root(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (root == nullptr) break;
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root.get()) != 1) return Failure("client authorities");
    SSL_CTX_add_client_CA(context, root.get());
    ++count;
  }
  if (count == 0) return Failure("client authorities");
  ERR_clear_error();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return absl::OkStatus();
}

std::string Text(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return "";
  std::string result(reinterpret_cast<const char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  return result;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::Create(const std::string& certificate,
                                                                     const std::string& key,
                                                                     const std::string& client_ca) {
  SSL_CTX* const made = SSL_CTX_new(TLS_server_method());
  if (made == nullptr) return Failure("TLS");
  std::shared_ptr<const TlsContext> context(new TlsContext(made));
  SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
  SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
  // A resumed session would skip the check of the client's certificate: no tickets, by TLS 1.2 and by 1.3.
  SSL_CTX_set_options(made, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(made, 0);
  // The rest of a write may lie elsewhere when it is tried again, and may be written in part.
  SSL_CTX_set_mode(made,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // A peer may send any number of records without data. SSL_read returns after each one.
  SSL_CTX_clear_mode(made, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_cipher_list(made, kCiphers12);
  SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(made, ChooseProtocol, nullptr);
  if (absl::Status status = UseCertificates(made, certificate); !status.ok()) return status;
  const Bio bio = Open(key);
  const PrivateKey private_key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (private_key == nullptr || SSL_CTX_use_PrivateKey(made, private_key.get()) != 1) return Failure("key");
  if (SSL_CTX_check_private_key(made) != 1) return Failure("the key does not belong to the certificate");
  if (!client_ca.empty()) {
    if (absl::Status status = RequireClients(made, client_ca); !status.ok()) return status;
  }
  return context;
}

TlsStream::TlsStream(const TlsContext& context, int fd) : ssl_(SSL_new(context.get())) {
  SSL_set_fd(ssl_, fd);
  SSL_set_accept_state(ssl_);
}

ssize_t TlsStream::Result(int result) {
  if (result > 0) return result;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_WANT_READ:
      wants_write_ = false;
      break;
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      break;
    default:
      ERR_clear_error();
      errno = EPROTO;
      return -1;
  }
  errno = EAGAIN;
  return -1;
}

int TlsStream::Handshake() {
  ERR_clear_error();
  const ssize_t result = Result(SSL_do_handshake(ssl_));
  if (result > 0) {
    is_done_ = true;
    return 1;
  }
  return result < 0 && errno == EAGAIN ? 0 : -1;
}

ssize_t TlsStream::Read(char* to, size_t size) {
  ERR_clear_error();
  return Result(SSL_read(ssl_, to, static_cast<int>(std::min<size_t>(size, INT_MAX))));
}

ssize_t TlsStream::Write(const char* from, size_t size) {
  ERR_clear_error();
  return Result(SSL_write(ssl_, from, static_cast<int>(std::min<size_t>(size, INT_MAX))));
}

size_t TlsStream::TakeReceived() {
  const uint64_t all = BIO_number_read(SSL_get_rbio(ssl_));
  return static_cast<size_t>(all - std::exchange(received_, all));
}

void TlsStream::Shutdown() {
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

bool TlsStream::IsHttp2() const {
  const unsigned char* protocol = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_, &protocol, &size);
  return size == 2 && std::memcmp(protocol, "h2", 2) == 0;
}

void TlsStream::Name(Peer* peer) const {
  const Certificate certificate(SSL_get1_peer_certificate(ssl_));
  if (certificate == nullptr || SSL_get_verify_result(ssl_) != X509_V_OK) return;
  peer->is_verified = true;
  auto* const names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_URI) peer->uris.push_back(Text(name->d.uniformResourceIdentifier));
    if (name->type == GEN_DNS) peer->dns_names.push_back(Text(name->d.dNSName));
  }
  GENERAL_NAMES_free(names);
  const X509_NAME* const subject = X509_get_subject_name(certificate.get());
  for (int i = -1; (i = X509_NAME_get_index_by_NID(subject, NID_commonName, i)) >= 0;) {
    peer->common_names.push_back(Text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i))));
  }
}

}  // namespace corank::wire
