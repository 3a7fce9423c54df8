// Log lines to a pipe whose reader stops reading.
#include "server/observe/line_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace corank::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// A few lines fill it.
struct SmallPipe {
  explicit SmallPipe(bool is_blocking) {
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(fcntl(write_end(), F_SETPIPE_SZ, kBytes), kBytes);
    EXPECT_EQ(fcntl(write_end(), F_SETFL, is_blocking ? 0 : O_NONBLOCK), 0);
  }
  ~SmallPipe() {
    CloseReadEnd();
    close(write_end());
  }
  SmallPipe(const SmallPipe&) = delete;
  SmallPipe& operator=(const SmallPipe&) = delete;

  int write_end() const { return ends[1]; }
  void CloseReadEnd() {
    if (ends[0] >= 0) close(ends[0]);
    ends[0] = -1;
  }
  std::string Read() const {
    std::string text(size_t{1} << 16, 0);
    const ssize_t bytes = read(ends[0], text.data(), text.size());
    text.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
    return text;
  }

  static constexpr int kBytes = 4 * 4096;
  int ends[2] = {-1, -1};
};

class LineWriterTest : public ::testing::TestWithParam<bool> {
 protected:
  SmallPipe pipe_{GetParam()};
  LineWriter writer_{pipe_.write_end(), absl::Milliseconds(50),
                     [](int64_t lost) { return absl::StrCat("lost ", lost, "\n"); }};
};

INSTANTIATE_TEST_SUITE_P(Pipes, LineWriterTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Blocking" : "NonBlocking"; });

TEST_P(LineWriterTest, LosesLinesThatNobodyReadsAndSaysHowMany) {
  const std::string line = std::string(999, 'x') + "\n";
  constexpr int kLines = 20'000;  // if each waited, the test would not end in its time
  for (int i = 0; i < kLines; ++i) writer_.Write(line);
  const int64_t lost = writer_.lost();
  EXPECT_GE(lost, kLines - SmallPipe::kBytes / 1000);
  const std::string read = pipe_.Read();
  EXPECT_EQ(read.size(), (kLines - static_cast<size_t>(lost)) * line.size()) << "the others were written";
  writer_.Write("again\n");
  writer_.Write("and again\n");
  EXPECT_EQ(pipe_.Read(), absl::StrCat("lost ", lost, "\nagain\nand again\n"));
  EXPECT_EQ(writer_.lost(), lost);
}

TEST_P(LineWriterTest, EndsALineThatWasCut) {
  const std::string line = std::string(2 * SmallPipe::kBytes, 'x') + "\n";
  writer_.Write(line);
  EXPECT_EQ(writer_.lost(), 1);
  EXPECT_THAT(pipe_.Read(), StartsWith("xxx"));
  writer_.Write("next\n");
  const std::vector<std::string> lines = absl::StrSplit(pipe_.Read(), '\n');
  EXPECT_THAT(lines, ElementsAre("", "lost 1", "next", ""));
}

TEST_P(LineWriterTest, WaitsForAReaderThatIsBusy) {
  std::string all;
  std::thread reader([&] {
    while (all.size() < 400'000) {
      absl::SleepFor(absl::Milliseconds(1));
      all += pipe_.Read();
    }
  });
  const std::string line = std::string(3999, 'x') + "\n";
  for (int i = 0; i < 100; ++i) writer_.Write(line);
  reader.join();
  EXPECT_EQ(writer_.lost(), 0);
  EXPECT_EQ(all.size(), 400'000u);
}

TEST_P(LineWriterTest, AReaderThatIsGoneCostsNothing) {
  signal(SIGPIPE, SIG_IGN);
  pipe_.CloseReadEnd();
  for (int i = 0; i < 10; ++i) writer_.Write("gone\n");
  EXPECT_EQ(writer_.lost(), 10);
}

}  // namespace
}  // namespace corank::testing
