// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/preload.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libstreamsan.so";
/// What /dev/shm must have free to be used: traces are punched as they are read, so this is for a judge that falls
/// behind.
constexpr std::uint64_t kRoomWanted = std::uint64_t{512} << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string find_preload(const Options& options, std::vector<std::string>& tried) {
  std::error_code error;
  if (!options.preload_path.empty()) {
    tried.push_back(options.preload_path);
    if (fs::is_regular_file(options.preload_path, error)) return fs::absolute(options.preload_path).string();
    return {};
  }
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path here = self.parent_path();
  for (const char* relative : {".", "../lib/streamsan", "../lib", "../interposer", "../lib64/streamsan", "../lib64"}) {
    fs::path candidate = (here / relative / kLibrary).lexically_normal();
    tried.push_back(candidate.string());
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs status{};
  if (statvfs(directory.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::string trace_parent(const Options& options) {
  if (!options.trace_dir.empty()) return options.trace_dir;
  if (!options.keep_trace && access("/dev/shm", W_OK | X_OK) == 0 && free_bytes("/dev/shm") >= kRoomWanted) {
    return "/dev/shm";
  }
  std::string temporary = environment("TMPDIR");
  return !temporary.empty() && access(temporary.c_str(), W_OK | X_OK) == 0 ? temporary : "/tmp";
}

std::string make_trace_directory(const Options& options, std::string& error) {
  std::error_code code;
  fs::path parent = fs::absolute(trace_parent(options), code);
  fs::create_directories(parent, code);
  std::string directory = (parent / "streamsan.XXXXXX").string();
  // The recorder splits its options at these.
  if (directory.find_first_of(" ,:\t\n") != std::string::npos) {
    error = "the trace directory " + directory + " must not have a blank, comma or colon in its name (trace_dir)";
    return {};
  }
  if (!mkdtemp(directory.data())) {
    error = "cannot make a directory for traces in " + parent.string() + ": " + std::generic_category().message(errno) +
            " (trace_dir)";
    return {};
  }
  return directory;
}

std::vector<std::string> guest_environment(const Options& options, const std::string& preload,
                                           const std::string& trace_directory) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("STREAMSAN_OPTIONS=")) out.emplace_back(text);
  }
  std::string library = preload;
  // LD_PRELOAD has no way to quote its separators.
  if (library.find_first_of(" :") != std::string::npos) {
    std::error_code error;
    fs::create_symlink(preload, trace_directory + "/" + kLibrary, error);
    if (!error) library = trace_directory + "/" + kLibrary;
  }
  std::string before = environment("LD_PRELOAD");
  out.push_back("LD_PRELOAD=" + library + (before.empty() ? "" : ":" + before));

  std::string settings = environment("STREAMSAN_OPTIONS");
  auto set = [&settings](const std::string& entry) { settings += (settings.empty() ? "" : ":") + entry; };
  set("stacks=" + std::string(options.stacks ? "1" : "0"));
  set("stack_depth=" + std::to_string(options.stack_depth));
  set("follow_children=" + std::string(options.follow_children ? "1" : "0"));
  set("verbosity=" + std::to_string(options.verbosity));
  set("trace_path=" + trace_directory + "/%p.trace");
  out.push_back("STREAMSAN_OPTIONS=" + settings);
  return out;
}

}  // namespace streamsan::cli
