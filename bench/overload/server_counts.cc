#include "bench/overload/server_counts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace corank::bench {
namespace {

// The whole response of an HTTP server on this host.
absl::StatusOr<std::string> Get(const std::string& address, const std::string& path) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(address, absl::MaxSplits(':', 1));
  sockaddr_in to{};
  int port = 0;
  to.sin_family = AF_INET;
  if (inet_pton(AF_INET, parts.first.c_str(), &to.sin_addr) != 1 || !absl::SimpleAtoi(parts.second, &port)) {
    return absl::InvalidArgumentError(absl::StrCat("no address of metrics: '", address, "'"));
  }
  to.sin_port = htons(static_cast<uint16_t>(port));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience = {5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", address, "\r\nConnection: close\r\n\r\n");
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[16384];
    for (ssize_t n = recv(fd, buffer, sizeof(buffer), 0); n > 0; n = recv(fd, buffer, sizeof(buffer), 0)) {
      answer.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  if (!absl::StartsWith(answer, "HTTP/1.1 200")) return absl::UnavailableError("the metrics cannot be read");
  return answer;
}

}  // namespace

absl::StatusOr<double> SumOf(absl::string_view metrics, absl::string_view name, absl::string_view label) {
  double sum = 0;
  bool found = false;
  for (absl::string_view line : absl::StrSplit(metrics, '\n')) {
    if (!absl::ConsumePrefix(&line, name) || line.empty() || (line[0] != '{' && line[0] != ' ')) continue;
    const size_t end = line.rfind(' ');
    double value = 0;
    if (!absl::StrContains(line.substr(0, end), label)) continue;
    if (!absl::SimpleAtod(absl::StripAsciiWhitespace(line.substr(end)), &value)) continue;
    sum += value;
    found = true;
  }
  if (!found) return absl::NotFoundError(absl::StrCat("there is no metric ", name, " with ", label));
  return sum;
}

absl::StatusOr<int64_t> CountArrivedSorts(const std::string& metrics_address) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (absl::Now() < deadline) {
    const absl::StatusOr<std::string> metrics = Get(metrics_address, "/metrics");
    if (!metrics.ok()) return metrics.status();
    const absl::StatusOr<double> open = SumOf(*metrics, "corank_calls", "");
    const absl::StatusOr<double> ended = SumOf(*metrics, "corank_requests_total", "operator=\"sort\"");
    const absl::StatusOr<double> incomplete = SumOf(*metrics, "corank_refused_total", "reason=\"incomplete\"");
    for (const absl::StatusOr<double>* count : {&open, &ended, &incomplete}) {
      if (!count->ok()) return count->status();
    }
    if (*open == 0) return static_cast<int64_t>(*ended - *incomplete);
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::UnavailableError("calls are open long after the load has ended");
}

}  // namespace corank::bench
