// What a person or a monitor sees of an idle server: the status page, the scrape, the settings in force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "prometheus/client_metric.h"
#include "prometheus/metric_family.h"
#include "prometheus/metric_type.h"
#include "server/observe/metrics.h"
#include "server/observe/status_page.h"
#include "tests/server/corankd_process.h"
#include "tests/server/running_server.h"
#include "version/version.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ServerStatus SomeStatus() {
  ServerStatus status;
  status.version = "1.2.3";
  status.commit = "0123abc";
  status.is_serving = true;
  status.state = "serving";
  status.engine = "cuda";
  status.devices = {{0, "NVIDIA H200", int64_t{141} << 30, true}, {3, "another", int64_t{1} << 29, false}};
  status.uptime_seconds = 2 * 86400 + 3 * 3600 + 59;
  status.waiting_requests = 7;
  status.oldest_wait_seconds = 1.25;
  status.active_calls = 9;
  return status;
}

TEST(StatusPage, ShowsTheServer) {
  const std::string page = StatusPage(SomeStatus());
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  for (const char* text :
       {"1.2.3", "0123abc", "<span class=\"up\">serving</span>", "cuda", "0: NVIDIA H200",
        "<span class=\"up\">up</span>, 141.0 GiB", "3: another", "<span class=\"down\">down</span>, 0.5 GiB", "2 d 3 h",
        "7 waiting, the oldest for 1.2 s", "<td>9</td>", "href=\"/metrics\"", "name=\"viewport\""}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST(StatusPage, LeavesOutWhatIsUnknown) {
  ServerStatus status = SomeStatus();
  status.commit = "";
  status.waiting_requests = 0;
  EXPECT_THAT(StatusPage(status), AllOf(Not(HasSubstr("Commit")), HasSubstr("<td>0 waiting</td>")));
}

TEST(StatusPage, EscapesTextAndLoadsNothing) {
  ServerStatus status = SomeStatus();
  status.devices[0].name = "<script>alert('x' & \"y\")</script>";
  status.engine_reason = "<b>reason</b>";
  const std::string page = StatusPage(status);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<b>")), Not(HasSubstr("src=")),
                          Not(HasSubstr("http://")), Not(HasSubstr("https://")), Not(HasSubstr("url("))));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;"));
}

std::string Get(const std::string& address, const std::string& path) {
  return Exchange(address, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

TEST(MonitoringPort, ServesThePageTheMetricsAndNothingElse) {
  Server::Options options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  RunningServer running(options);
  const std::string& address = running.server().metrics_address();
  const std::string page = Get(address, "/");
  EXPECT_THAT(page, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/html; charset=utf-8\r\n"),
                          HasSubstr("Content-Security-Policy: default-src 'none'"), HasSubstr(">serving<"),
                          HasSubstr(Version()), HasSubstr(Commit()), HasSubstr("cpu")));
  EXPECT_THAT(Get(address, "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/plain; version=0.0.4"),
                    HasSubstr("corank_queue_requests 0\n")));
  for (const char* path : {"/favicon.ico", "/index.html", "/metricsX", "/%2e%2e/etc/passwd"}) {
    EXPECT_THAT(Get(address, path), StartsWith("HTTP/1.1 404")) << path;
  }
  running.server().Drain([] {});
  EXPECT_THAT(Get(address, "/"), HasSubstr("<span class=\"down\">draining</span>"));
}

TEST(MonitoringPort, AnIdleServersScrapeIsShort) {
  Server::Options options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  const RunningServer running(options);
  const std::string scrape = Get(running.server().metrics_address(), "/metrics");
  const auto lines = std::count(scrape.begin(), scrape.end(), '\n');
  EXPECT_GT(lines, 100);
  EXPECT_LT(lines, 320);
  EXPECT_THAT(scrape, HasSubstr("corank_requests_total{code=\"INTERNAL\",operator=\"search\"} 0\n"))
      << "a rate needs the series before the first error";
}

TEST(MonitoringPort, AnOperatorsHistogramsComeWithItsFirstRequest) {
  const auto series = [](const Metrics& of) {
    std::string names;
    for (const prometheus::MetricFamily& family : of.Collect()) {
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (family.type == prometheus::MetricType::Histogram) names += family.name + "/" + metric.label[0].value + " ";
      }
    }
    return names;
  };
  Metrics counted;
  EXPECT_EQ(series(counted), "");
  RequestRecord record;
  record.op = Operator::kMerge;
  counted.CountRequest(record);
  for (const char* name : {"corank_request_seconds/merge", "corank_stage_seconds/merge", "corank_batch_requests/merge",
                           "corank_batch_bytes/merge"}) {
    EXPECT_THAT(series(counted), HasSubstr(name));
  }
  EXPECT_THAT(series(counted), Not(HasSubstr("/sort")));
}

std::map<std::string, v1::Setting> SettingsOf(const RunningServer& running) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  const grpc::Status status = running.stub().GetServerInfo(&context, {}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  std::map<std::string, v1::Setting> settings;
  for (const v1::Setting& setting : info.settings()) settings[setting.name()] = setting;
  return settings;
}

v1::Setting Given(const std::string& name, const std::string& value) {
  v1::Setting setting;
  setting.set_name(name);
  setting.set_value(value);
  setting.set_default_value(value);
  return setting;
}

TEST(EffectiveSettings, ReplaceWhatTheServerDerives) {
  constexpr const char* kDerived[] = {"device-budget-bytes", "max-device-bytes", "max-stream-host-bytes",
                                      "max-buffered-bytes",  "host-pool-bytes",  "cpu-threads"};
  Server::Options options = TestOptions();
  options.settings = {Given("engine", "auto"), Given("devices", "all"), Given("canary-interval", "0s"),
                      Given("kept-bytes", "0")};
  for (const char* name : kDerived) options.settings.push_back(Given(name, "0"));
  const RunningServer running(options);
  std::map<std::string, v1::Setting> settings = SettingsOf(running);
  EXPECT_EQ(settings["engine"].value(), "cpu");
  EXPECT_EQ(settings["devices"].value(), "0");
  EXPECT_EQ(settings["cpu-threads"].value(), "2");
  for (const char* name : kDerived) {
    int64_t value = 0;
    EXPECT_TRUE(absl::SimpleAtoi(settings[name].value(), &value)) << name;
    EXPECT_GT(value, 0) << name;
    EXPECT_EQ(settings[name].default_value(), "0") << name;
  }
  EXPECT_EQ(settings["canary-interval"].value(), "0s") << "0 that means off stays";
  EXPECT_EQ(settings["kept-bytes"].value(), "0");
}

TEST(EffectiveSettings, KeepWhatIsGivenAndWhatIsHidden) {
  Server::Options options = TestOptions();
  options.device_budget_bytes = int64_t{1} << 30;
  options.settings = {Given("device-budget-bytes", "1GiB"), Given("engine", "auto")};
  options.settings[1].set_hidden(true);
  options.settings[1].clear_value();
  const RunningServer running(options);
  std::map<std::string, v1::Setting> settings = SettingsOf(running);
  EXPECT_EQ(settings["device-budget-bytes"].value(), "1GiB");
  EXPECT_EQ(settings["engine"].value(), "");
}

}  // namespace
}  // namespace corank::testing
