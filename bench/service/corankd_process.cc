#include "bench/service/corankd_process.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/harness/results.h"
#include "bench/service/closed_loop.h"
#include "corank/v1/corank_service.grpc.pb.h"

namespace corank::bench {

TemporaryFolder::TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "corank-bench-XXXXXX") {
  made_ = mkdtemp(path_.data()) != nullptr;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (made_) std::filesystem::remove_all(path_, ignored);
}

std::string Beside(const std::string& flag, const std::string& name) {
  if (!flag.empty()) return flag;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

absl::StatusOr<std::unique_ptr<CorankdProcess>> CorankdProcess::Start(const Options& options) {
  std::unique_ptr<CorankdProcess> corankd(new CorankdProcess);
  if (!corankd->folder_.made()) return absl::UnavailableError("cannot make a temporary folder");
  std::vector<std::string> arguments = {"--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0",
                                        absl::StrCat("--engine=", options.engine)};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  absl::StatusOr<std::unique_ptr<ServerProcess>> process = ServerProcess::Start(
      "corankd", Beside(options.program, "corankd"), std::move(arguments), corankd->folder_.path(), absl::Minutes(1));
  if (!process.ok()) return process.status();
  corankd->process_ = *std::move(process);

  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  const auto stub = v1::CorankService::NewStub(Connect(corankd->address(), 1)[0]);
  if (!stub->GetServerInfo(&context, {}, &info).ok()) return absl::UnavailableError("corankd does not answer");
  corankd->on_gpu_ = info.engine() == v1::ENGINE_CUDA;
  corankd->machine_ =
      absl::StrCat(corankd->on_gpu_ ? "cuda" : "cpu", " engine on ", info.device(), "; ", DescribeHost());
  return corankd;
}

}  // namespace corank::bench
