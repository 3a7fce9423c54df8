// Output files appear completely or not at all.
#include "client/cli/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/cli/arrays.h"
#include "client/cli/failure.h"
#include "client/cli/file_bytes.h"

namespace corank::cli {
namespace {

using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "corank-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  std::string Text(const std::string& name) {
    const auto file = LoadFile(Path(name), &progress_);
    return std::string(file.ok() ? file->bytes() : file.status().message());
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

  std::string folder_;
  Progress progress_{false};
};

TEST_F(Files, TheNameAppearsOnlyWithCommit) {
  auto file = OutputFile::Create(Path("out"), false);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write("hel", &progress_).ok());
  ASSERT_TRUE(file->Write("lo", &progress_).ok());
  EXPECT_FALSE(std::filesystem::exists(Path("out")));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Text("out"), "hello");
  EXPECT_THAT(Names(), ::testing::ElementsAre("out"));
}

TEST_F(Files, WhatIsNotCommittedLeavesNothing) {
  {
    auto file = OutputFile::Create(Path("out"), false);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Write("half", &progress_).ok());
    EXPECT_EQ(Names().size(), 1u);
  }
  EXPECT_THAT(Names(), ::testing::IsEmpty());
}

TEST_F(Files, AnExistingFileIsKeptUnlessForced) {
  Put("out", "old");
  const auto refused = OutputFile::Create(Path("out"), false);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--force"));
  EXPECT_EQ(ExitCodeOf(refused.status()), kExitFile);
  auto forced = OutputFile::Create(Path("out"), true);
  ASSERT_TRUE(forced.ok()) << forced.status();
  ASSERT_TRUE(forced->Write("new", &progress_).ok());
  EXPECT_EQ(Text("out"), "old");
  ASSERT_TRUE(forced->Commit().ok());
  EXPECT_EQ(Text("out"), "new");
}

TEST_F(Files, AFileThatCameMeanwhileIsKept) {
  auto file = OutputFile::Create(Path("out"), false);
  ASSERT_TRUE(file.ok()) << file.status();
  Put("out", "another's");
  EXPECT_EQ(ExitCodeOf(file->Commit()), kExitFile);
  EXPECT_EQ(Text("out"), "another's");
}

TEST_F(Files, ANameThatIsTakenIsFoundByCloseBeforeAnyIsGiven) {
  auto first = OutputFile::Create(Path("first"), false), second = OutputFile::Create(Path("second"), false);
  ASSERT_TRUE(first.ok() && second.ok());
  Put("second", "another's");
  EXPECT_TRUE(first->Close().ok());
  EXPECT_EQ(ExitCodeOf(second->Close()), kExitFile);
  EXPECT_FALSE(std::filesystem::exists(Path("first")));
  EXPECT_TRUE(first->Commit().ok());
  EXPECT_TRUE(std::filesystem::exists(Path("first")));
}

TEST_F(Files, ReplacingKeepsModeAndFollowsALink) {
  Put("real", "old");
  ASSERT_EQ(chmod(Path("real").c_str(), 0640), 0);
  std::filesystem::create_symlink("real", Path("link"));
  auto file = OutputFile::Create(Path("link"), true);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write("new", &progress_).ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(Text("real"), "new");
  struct stat info = {};
  ASSERT_EQ(stat(Path("real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(Files, ALinkToNoFileYetIsFollowed) {
  std::filesystem::create_directory(Path("folder"));
  std::filesystem::create_symlink("folder/next", Path("link"));
  std::filesystem::create_symlink("real", Path("folder/next"));
  for (const bool force : {false, true}) {
    auto file = OutputFile::Create(Path("link"), force);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Write("new", &progress_).ok());
    ASSERT_TRUE(file->Commit().ok());
    EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
    EXPECT_TRUE(std::filesystem::is_symlink(Path("folder/next")));
    EXPECT_EQ(Text("folder/real"), "new");
    std::filesystem::remove(Path("folder/real"));
  }
  EXPECT_TRUE(AreOneFile(Path("link"), Path("folder/real")));
  EXPECT_FALSE(AreOneFile(Path("link"), Path("folder/other")));
}

TEST_F(Files, ANameThatNoFileCanHaveIsFoundAtOnce) {
  Put("file", "");
  std::filesystem::create_symlink("loop", Path("loop"));
  for (const bool force : {false, true}) {
    for (const std::string& name : {Path(std::string(300, 'x')), Path("file/out"), Path("loop")}) {
      EXPECT_EQ(ExitCodeOf(OutputFile::Create(name, force).status()), kExitFile) << name;
    }
  }
}

TEST_F(Files, ADeviceIsWrittenDirectlyAndStaysADevice) {
  auto file = OutputFile::Create("/dev/null", false);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write("gone", &progress_).ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(Files, AFullDeviceIsAFileError) {
  auto file = OutputFile::Create("/dev/full", false);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(ExitCodeOf(file->Write("x", &progress_)), kExitFile);
}

TEST_F(Files, AFolderThatDoesNotExistIsFoundAtOnce) {
  EXPECT_EQ(ExitCodeOf(OutputFile::Create(Path("no/out"), false).status()), kExitFile);
  EXPECT_EQ(ExitCodeOf(OutputFile::Create(folder_, true).status()), kExitFile);
}

TEST_F(Files, LargeAndEmptyFilesAreReadWhole) {
  std::string large(9 << 20, '\0');
  for (size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>(i);
  Put("large", large);
  Put("empty", "");
  EXPECT_TRUE(Text("large") == large);
  EXPECT_EQ(Text("empty"), "");
  EXPECT_THAT(Text("missing"), HasSubstr("No such file"));
  EXPECT_EQ(ExitCodeOf(LoadFile(folder_, &progress_).status()), kExitFile);
}

TEST_F(Files, RawArraysNeedATypeAndWholeElements) {
  Put("keys.bin", "123456789");
  EXPECT_EQ(ExitCodeOf(LoadArray({Path("keys.bin"), std::nullopt, "--type"}, &progress_).status()), kExitUsage);
  EXPECT_EQ(ExitCodeOf(LoadArray({Path("keys.bin"), KeyType::kUint32, "--type"}, &progress_).status()), kExitFile);
  const auto bytes = LoadArray({Path("keys.bin"), KeyType::kUint8, "--type"}, &progress_);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(bytes->view().count(), 9);
  const auto records = LoadArray({Path("keys.bin"), client::ElementType::Record(3), "--type"}, &progress_);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->view().count(), 3);
}

}  // namespace
}  // namespace corank::cli
