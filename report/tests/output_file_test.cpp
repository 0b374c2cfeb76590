// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/output_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace streamsan::report {
namespace {

namespace fs = std::filesystem;

class OutputFile : public ::testing::Test {
 protected:
  OutputFile() : folder_(fs::temp_directory_path() / ("streamsan output " + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~OutputFile() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string contents(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(OutputFile, IsMadeWithItsFolders) {
  EXPECT_EQ(write_output(path("a/b c/\xc3\xa9.json"), "text"), "");
  EXPECT_EQ(contents(path("a/b c/\xc3\xa9.json")), "text");
}

TEST_F(OutputFile, ReplacesAndKeepsPermissions) {
  ASSERT_EQ(write_output(path("x"), "a long text"), "");
  ASSERT_EQ(chmod(path("x").c_str(), 0640), 0);
  EXPECT_EQ(write_output(path("x"), "short"), "");
  EXPECT_EQ(contents(path("x")), "short");
  struct stat file{};
  ASSERT_EQ(stat(path("x").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0640u);
  EXPECT_EQ(files(), 1u) << "nothing is left beside it";
}

TEST_F(OutputFile, FollowsLinks) {
  ASSERT_EQ(write_output(path("x"), "old"), "");
  fs::create_symlink("x", path("link"));
  EXPECT_EQ(write_output(path("link"), "new"), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("x")), "new");
  fs::create_symlink(path("none"), path("further"));
  EXPECT_EQ(write_output(path("further"), "new"), "");
  EXPECT_TRUE(fs::is_symlink(path("further"))) << "also to what was not there";
  EXPECT_EQ(contents(path("none")), "new");
}

TEST_F(OutputFile, SaysWhatWentWrong) {
  EXPECT_EQ(write_output("/dev/full", "text"), "cannot write /dev/full: No space left on device");
  EXPECT_EQ(write_output("/dev/null", "text"), "");
  EXPECT_TRUE(write_output("/proc/no-such/x", "text").starts_with("cannot write /proc/no-such/x: cannot create "));
  EXPECT_EQ(write_output(folder_.string(), "text"), "cannot write " + folder_.string() + ": Is a directory");
}

TEST_F(OutputFile, AFullDiskLeavesTheOldFile) {
  ASSERT_EQ(write_output(path("x"), "old"), "");
  // A limit on the size of files fails like a full disk, if its signal is ignored.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string fault = write_output(path("x"), std::string(10000, 'x'));
  const std::string fresh = write_output(path("y"), std::string(10000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(fault, "cannot write " + path("x") + ": File too large");
  EXPECT_EQ(contents(path("x")), "old");
  EXPECT_NE(fresh, "");
  EXPECT_FALSE(fs::exists(path("y")));
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace streamsan::report
