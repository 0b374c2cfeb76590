// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/source_root.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

namespace fs = std::filesystem;
using Path = std::optional<std::string>;

TEST(SourceRoot, FilesBelowItAreRelative) {
  const SourceRoot root("/home/me/repo");
  EXPECT_EQ(root.relative("/home/me/repo/src/a.cu"), Path("src/a.cu"));
  EXPECT_EQ(root.relative("/home/me/repo/build/../src/a b.cu"), Path("src/a b.cu"));
  EXPECT_EQ(root.relative("/home/me/repo2/a.cu"), std::nullopt);
  EXPECT_EQ(root.relative("/home/me/repo"), std::nullopt);
  EXPECT_EQ(root.relative(""), std::nullopt);
  EXPECT_EQ(root.relative("./src/a.cu"), Path("src/a.cu"));
  EXPECT_EQ(root.relative("../x.cu"), std::nullopt);
  EXPECT_EQ(SourceRoot("/").relative("/a/b.cu"), Path("a/b.cu"));
}

TEST(SourceRoot, ThePrefixComesFirst) {
  const SourceRoot root("/home/me/repo", "/build/machine");
  EXPECT_EQ(root.relative("/build/machine/src/a.cu"), Path("src/a.cu"));
  EXPECT_EQ(root.relative("/home/me/repo/a.cu"), Path("a.cu"));
  EXPECT_EQ(root.relative("/build/machine"), std::nullopt);
}

TEST(SourceRoot, OfTheWorkflowOrTheRepository) {
  const fs::path folder = fs::temp_directory_path() / ("streamsan-root-" + std::to_string(getpid()));
  fs::create_directories(folder / "repo/.git");
  fs::create_directories(folder / "repo/src/deep");
  fs::create_directory_symlink(folder / "repo", folder / "link");
  const fs::path before = fs::current_path();
  fs::current_path(folder / "repo/src/deep");
  unsetenv("GITHUB_WORKSPACE");
  EXPECT_EQ(SourceRoot::here("").path(), fs::canonical(folder / "repo"));
  EXPECT_EQ(SourceRoot::here("").relative((folder / "link/src/a.cu").string()), Path("src/a.cu")) << "a link";
  setenv("GITHUB_WORKSPACE", (folder / "repo/src").c_str(), 1);
  EXPECT_EQ(SourceRoot::here("").path(), folder / "repo/src");
  setenv("GITHUB_WORKSPACE", "/no/such/place", 1);
  EXPECT_EQ(SourceRoot::here("").path(), fs::canonical(folder / "repo"));
  unsetenv("GITHUB_WORKSPACE");
  fs::current_path(before);
  fs::remove_all(folder);
}

TEST(SourceRoot, TheFrameToShowIsOfTheRepositoryIfAnyIs) {
  std::vector<Frame> stack{{.function = "cudaLaunchKernel", .file = "/src/cudart.cpp", .line = 1, .library = true},
                           {.function = "helper", .file = "/opt/vendor/x.h", .line = 5},
                           {.function = "step", .file = "/src/a.cu", .line = 7}};
  EXPECT_EQ(frame_to_show(stack, SourceRoot("/src"))->line, 7u);
  EXPECT_EQ(frame_to_show(stack, SourceRoot("/elsewhere"))->line, 5u) << "the innermost of the user's";
  stack.resize(1);
  EXPECT_EQ(frame_to_show(stack, SourceRoot("/src")), nullptr);
  EXPECT_EQ(frame_to_show(sample_race(), SourceRoot("/src"))->line, 88u);
}

}  // namespace
}  // namespace streamsan::report
