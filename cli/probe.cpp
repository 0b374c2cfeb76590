// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the doctor's guest does: as the CUDA run-time, it opens libcuda.so.1, looks up cuGetProcAddress_v2 with dlsym
// and asks it for an entry point. Both must be the recorder's. Nothing of CUDA is initialised, so this works without a
// GPU.
#include "cli/probe.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "cli/preload.h"

namespace streamsan::cli {
namespace {

/// File of the library that an address belongs to.
const char* owner(void* address) {
  Dl_info info{};
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

/// Runs this executable with the arguments, under an environment; what it printed on both streams.
std::string output_of(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                      int& status) {
  status = -1;
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::vector<char*> argv, envp;
  for (const std::string& text : arguments) argv.push_back(const_cast<char*>(text.c_str()));
  for (const std::string& text : environment) envp.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; error == 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  if (error == 0) waitpid(child, &status, 0);
  return out;
}

std::map<std::string, std::string> facts(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t blank = line.find(' ');
    if (blank != std::string::npos) out[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return out;
}

}  // namespace

int probe() {
  // Any symbol of the recorder shows that the loader loaded it.
  std::printf("preload %s\n", owner(dlsym(RTLD_DEFAULT, "dlsym")));
  std::printf("nvtx %s\n", owner(dlsym(RTLD_DEFAULT, "InitializeInjectionNvtxExtension")));
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    std::printf("driver-error %s\n", dlerror());
    return 0;
  }
  void* version = dlsym(driver, "cuDriverGetVersion");
  std::printf("driver %s\n", owner(version));
  int number = 0;
  if (version && reinterpret_cast<int (*)(int*)>(version)(&number) == 0) std::printf("driver-version %d\n", number);
  void* lookup = dlsym(driver, "cuGetProcAddress_v2");
  std::printf("lookup %s\n", owner(lookup));
  using Lookup = int (*)(const char*, void**, int, std::uint64_t, void*);
  void* launch = nullptr;
  if (lookup && reinterpret_cast<Lookup>(lookup)("cuLaunchKernel", &launch, 12000, 0, nullptr) == 0) {
    std::printf("entry %s\n", owner(launch));
  }
  return 0;
}

std::optional<GuestAnswer> ask_guest(const Options& options, const std::string& preload, std::string& error) {
  const std::string directory = make_trace_directory(options, error);
  if (directory.empty()) return std::nullopt;
  std::error_code code;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", code).string();
  GuestAnswer out;
  out.text = output_of({self, "doctor", "--probe"}, guest_environment(options, preload, {}, directory), out.status);
  out.facts = facts(out.text);
  std::filesystem::remove_all(directory, code);
  return out;
}

}  // namespace streamsan::cli
