// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/log_path.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace streamsan::report {
namespace {

TEST(LogPath, Directives) {
  LogNames names{.pid = 42, .program = "/opt/app/train"};
  setenv("STREAMSAN_TEST_RANK", "7", 1);
  unsetenv("STREAMSAN_TEST_UNSET");
  EXPECT_EQ(expand_log_path("out/%b.%p.log", names), "out/train.42.log");
  EXPECT_EQ(expand_log_path("rank%q{STREAMSAN_TEST_RANK}", names), "rank7");
  EXPECT_EQ(expand_log_path("rank%q{STREAMSAN_TEST_UNSET}.log", names), "rank.log");
  EXPECT_EQ(expand_log_path("100%%", names), "100%");
  EXPECT_EQ(expand_log_path("%x %q{open %", names), "%x %q{open %") << "what is no directive stays";
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  EXPECT_EQ(expand_log_path("%h", names), host.data());
}

TEST(LogPath, MakesParents) {
  std::filesystem::path root = std::filesystem::temp_directory_path() / ("streamsan-log-" + std::to_string(getpid()));
  EXPECT_EQ(make_parents((root / "a" / "b" / "x.log").string()), "");
  EXPECT_TRUE(std::filesystem::is_directory(root / "a" / "b"));
  EXPECT_EQ(make_parents("x.log"), "");
  EXPECT_NE(make_parents("/proc/no-such/x.log"), "");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace streamsan::report
