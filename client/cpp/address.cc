#include "client/cpp/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace corank::client {
namespace {

/// The host of "host", "host:port" or "[host]:port". An IPv6 address without brackets is a host.
absl::string_view HostOf(absl::string_view address) {
  if (absl::ConsumePrefix(&address, "[")) return address.substr(0, address.find(']'));
  const size_t colon = address.find(':');
  return colon == address.rfind(':') ? address.substr(0, colon) : address;
}

bool IsLoopback(absl::string_view address) {
  const std::string host(HostOf(address));
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/// The port after the host; empty if there is none.
absl::string_view PortOf(absl::string_view address) {
  const absl::string_view host = HostOf(address);
  absl::string_view rest = address.substr(static_cast<size_t>(host.data() - address.data()) + host.size());
  if (host.data() != address.data()) absl::ConsumePrefix(&rest, "]");
  return absl::ConsumePrefix(&rest, ":") ? rest : absl::string_view();
}

/// The same address with a port, as an example.
std::string WithPort(absl::string_view address) {
  const absl::string_view host = HostOf(address);
  return absl::StrCat(absl::StrContains(host, ":") ? absl::StrCat("[", host, "]") : host, ":50051");
}

/// The schemes of targets that may hold commas.
constexpr const char* kListSchemes[] = {
    "unix:", "unix-abstract:", "vsock:", "xds:", "google-c2p:", "dns:", "ipv4:", "ipv6:"};

/// The schemes of addresses that people copy from other programs. gRPC would look them up as names of hosts.
constexpr const char* kForeignSchemes[] = {"http://", "https://", "grpc://", "grpcs://", "tcp://"};

absl::Status CheckHostAndPort(absl::string_view address) {
  const absl::string_view port = PortOf(address);
  if (HostOf(address).empty()) {
    return absl::InvalidArgumentError(absl::StrCat("address: '", address, "' has no host; give host:port, such as ",
                                                   "localhost:", port.empty() ? "50051" : port));
  }
  if (port.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address: '", address, "' has no port; give host:port, such as ", WithPort(address)));
  }
  // A port may be the name of a service, which does not begin with a digit.
  int number = 0;
  const bool is_number = absl::ascii_isdigit(static_cast<unsigned char>(port[0]));
  if (is_number && (port.find_first_not_of("0123456789") != absl::string_view::npos ||
                    !absl::SimpleAtoi(port, &number) || number < 1 || number > 65535)) {
    return absl::InvalidArgumentError(absl::StrCat("address: the port of '", address, "' must be 1 to 65535"));
  }
  return absl::OkStatus();
}

/// Several addresses without a scheme.
bool IsList(absl::string_view target) {
  const bool has_scheme = std::any_of(std::begin(kListSchemes), std::end(kListSchemes),
                                      [target](const char* scheme) { return absl::StartsWith(target, scheme); });
  return absl::StrContains(target, ",") && !absl::StrContains(target, "/") && !has_scheme;
}

/// AF_INET or AF_INET6; 0: not numeric.
int FamilyOf(absl::string_view address) {
  const std::string host(HostOf(address));
  in6_addr any;
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, host.c_str(), &any) == 1) return family;
  }
  return 0;
}

absl::Status CheckList(absl::string_view target) {
  int family = -1;
  for (const absl::string_view address : absl::StrSplit(target, ',')) {
    const int found = FamilyOf(address);
    if (found == 0 || (family != -1 && found != family)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "address: several addresses must be numeric and of one family, as in ", "10.0.0.1:50051,10.0.0.2:50051, not ",
          target, "; for a name that has several addresses write dns:///NAME:50051"));
    }
    family = found;
  }
  return absl::OkStatus();
}

}  // namespace

bool MayBeSeveral(absl::string_view target) {
  return absl::StrContains(target, ",") || (absl::StartsWith(target, "dns:") && !IsThisHost(target));
}

std::string GrpcTarget(absl::string_view address) {
  if (!IsList(address)) return std::string(address);
  return absl::StrCat(FamilyOf(address.substr(0, address.find(','))) == AF_INET ? "ipv4:" : "ipv6:", address);
}

bool IsThisHost(absl::string_view target) {
  if (absl::StartsWith(target, "unix:") || absl::StartsWith(target, "unix-abstract:")) return true;
  // "dns://AUTHORITY/..." asks another host, so it does not count.
  for (const char* scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&target, scheme)) break;
  }
  const std::vector<absl::string_view> addresses = absl::StrSplit(target, ',');
  return std::all_of(addresses.begin(), addresses.end(), IsLoopback);
}

absl::Status CheckAddress(absl::string_view target) {
  const bool is_list = IsList(target);
  if (target.find_first_of(" \t\r\n") != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("address: '", target, "' holds a space; give host:port, such as localhost:50051"));
  }
  for (absl::string_view scheme : kForeignSchemes) {
    absl::string_view rest = target;
    if (!absl::ConsumePrefix(&rest, scheme)) continue;
    rest = rest.substr(0, rest.find('/'));
    return absl::InvalidArgumentError(absl::StrCat("address: '", target, "' is a URL; give host:port, such as ",
                                                   PortOf(rest).empty() ? WithPort(rest) : std::string(rest)));
  }
  for (const char* scheme : {"unix:", "unix-abstract:", "vsock:", "xds:", "google-c2p:"}) {
    if (absl::StartsWith(target, scheme)) return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&target, "dns://")) {
    const size_t path = target.find('/');  // after the address of the name server
    target = path == absl::string_view::npos ? "" : target.substr(path + 1);
  } else if (absl::StrContains(target, "://")) {
    return absl::OkStatus();
  } else {
    for (const char* scheme : {"dns:", "ipv4:", "ipv6:"}) {
      if (absl::ConsumePrefix(&target, scheme)) break;
    }
  }
  for (const absl::string_view address : absl::StrSplit(target, ',')) {
    if (absl::Status checked = CheckHostAndPort(address); !checked.ok()) return checked;
  }
  return is_list ? CheckList(target) : absl::OkStatus();
}

}  // namespace corank::client
