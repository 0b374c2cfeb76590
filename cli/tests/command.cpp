// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/tests/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace streamsan::cli {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TemporaryDirectory::TemporaryDirectory() : path_(::testing::TempDir() + "streamsan-test.XXXXXX") {
  EXPECT_TRUE(mkdtemp(path_.data()));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::vector<std::string> TemporaryDirectory::files() const {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

Result streamsan(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  TemporaryDirectory directory;
  std::string out = directory / "out", error = directory / "error";
  std::vector<std::string> words{STREAMSAN_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    if (!text.starts_with("STREAMSAN_OPTIONS=") && !text.starts_with("LD_PRELOAD=") && !text.starts_with("CI="))
      settings.emplace_back(text);
  }
  settings.insert(settings.end(), environment.begin(), environment.end());
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, error.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  Result result;
  EXPECT_EQ(posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), envp.data()), 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  result.out = contents(out);
  result.error = contents(error);
  return result;
}

Result run(const std::string& sample, std::vector<std::string> options, const std::vector<std::string>& program,
           const std::vector<std::string>& environment) {
  std::vector<std::string> arguments{"run", "--preload_path=" STREAMSAN_FAKE_RECORDER};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), program.begin(), program.end());
  std::vector<std::string> settings = environment;
  if (!sample.empty()) settings.push_back("FAKE_TRACE=" + sample);
  return streamsan(arguments, settings);
}

}  // namespace streamsan::cli
