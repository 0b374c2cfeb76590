// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/doctor.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/footprint_files.h"
#include "cli/preload.h"
#include "cli/probe.h"
#include "judge/symbolizer.h"
#include "report/printable.h"

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;

class Checklist {
 public:
  void ok(const std::string& text) { line("ok  ", text, ""); }
  void warn(const std::string& text, const std::string& advice) { line("warn", text, advice); }
  void fail(const std::string& text, const std::string& advice) {
    line("FAIL", text, advice);
    failed_ = true;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  /// Paths are in it: none may begin a line.
  static void line(const char* mark, const std::string& text, const std::string& advice) {
    std::printf("%s  %s\n", mark, report::one_line(text).c_str());
    if (!advice.empty()) std::printf("        -> %s\n", report::one_line(advice).c_str());
  }
  bool failed_ = false;
};

bool ours(const std::string& path) { return fs::path(path).filename().string().starts_with("libstreamsan"); }

void check_hook(Checklist& list, const Options& options, const std::string& preload) {
  std::string error;
  const std::optional<GuestAnswer> answer = ask_guest(options, preload, error);
  if (!answer) return list.fail(error, "");
  const auto& [status, text, facts] = *answer;
  std::map<std::string, std::string> seen = facts;
  if (status != 0)
    return list.fail("a program with the preload does not run: " + text,
                     "run: LD_DEBUG=libs LD_PRELOAD=" + preload + " /bin/true");
  if (!ours(seen["preload"])) {
    return list.fail("the loader ignores LD_PRELOAD" + (text.empty() ? "" : ": " + text),
                     "setuid programs, statically linked programs and some containers do not honour it");
  }
  list.ok("LD_PRELOAD works");
  if (!ours(seen["nvtx"])) {
    list.warn("NVTX is not read: the recorder was built without nvtx3/nvToolsExtMem.h",
              "pools that are described to NVTX are one allocation each; see docs/annotations.md");
  } else if (const std::optional<std::string> other = other_nvtx_listener()) {
    list.warn("NVTX is not read: NVTX_INJECTION64_PATH is " + *other, "unset it, unless that tool is wanted");
  } else {
    list.ok("NVTX annotations of pools are read");
  }
  if (seen.contains("driver-error")) {
    return list.warn("no CUDA driver: " + seen["driver-error"],
                     "install the NVIDIA driver, or use a null driver for tests");
  }
  std::string version = seen["driver-version"];
  int number = version.empty() ? 0 : std::stoi(version);
  list.ok("driver " + seen["driver"] +
          (number ? ", CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10) : ""));
  if (ours(seen["lookup"]) && (seen["entry"].empty() || ours(seen["entry"]))) {
    list.ok("the hook is active: cuGetProcAddress and what it hands out belong to the recorder");
  } else {
    list.fail("the hook is not active: cuGetProcAddress comes from " + seen["lookup"] + ", cuLaunchKernel from " +
                  seen["entry"],
              "another preloaded library may hook dlsym before us: try with LD_PRELOAD unset");
  }
}

/// Without them everything else works: conflicts between parts of an allocation are then at most possible.
void check_footprints(Checklist& list, const Options& options, const std::string& preload) {
  const std::string loss = ": kernels are not measured, their bytes are computed from their code or only inferred";
  FoundFile agent = find_agent(options, preload);
  if (agent.path.empty()) {
    list.warn("no agent " + agent.tried.front() + loss,
              options.agent_path.empty() ? "it is built where CMake finds sanitizer.h (STREAMSAN_SANITIZER_INCLUDE=DIR)"
                                         : "agent_path names no file");
  } else {
    list.ok("agent " + agent.path);
  }
  FoundFile sanitizer = find_sanitizer(options);
  if (!sanitizer.path.empty()) return list.ok("Sanitizer library " + sanitizer.path);
  list.warn("no libsanitizer-public.so" + loss,
            options.sanitizer_library.empty()
                ? "it comes with the CUDA toolkit (compute-sanitizer) and with the Python package "
                  "nvidia-cuda-sanitizer-api (-cu12 for CUDA 12); elsewhere: --sanitizer_library=FILE"
                : "sanitizer_library names no file");
}

/// Of interest to those who use the option timings only.
void check_timings(Checklist& list, const Options& options, const std::string& preload) {
  const std::string loss = ": with --timings operations on the GPU have no times";
  if (FoundFile agent = find_timings_agent(preload); agent.path.empty())
    return list.warn("no agent " + agent.tried.front() + loss, "it belongs beside libstreamsan.so");
  FoundFile cupti = find_cupti(options);
  if (!cupti.path.empty()) return list.ok("CUPTI library " + cupti.path);
  list.warn("no libcupti.so" + loss, options.cupti_library.empty()
                                         ? "it comes with the CUDA toolkit (extras/CUPTI) and with the Python package "
                                           "nvidia-cuda-cupti (-cu12 for CUDA 12); elsewhere: --cupti_library=FILE"
                                         : "cupti_library names no file");
}

/// Does the file hold the name? Of libraries of a gigabyte, too: names stand near their beginnings.
bool holds(const fs::path& library, const std::string& name) {
  const int file = open(library.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0 || status.st_size <= 0) {
    if (file >= 0) close(file);
    return false;
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (at == MAP_FAILED) return false;
  const bool found = memmem(at, bytes, name.data(), name.size()) != nullptr;
  munmap(at, bytes);
  return found;
}

/// Where the PyTorch of the Python in PATH is; empty: there is none.
std::string torch_folder() {
  // NOLINTNEXTLINE(bugprone-command-processor): the python3 of PATH is what is asked for
  std::FILE* answer = popen(
      "python3 -c 'import importlib.util as u; s = u.find_spec(\"torch\"); "
      "print(s.submodule_search_locations[0] if s else \"\")' 2>/dev/null",
      "r");
  if (!answer) return {};
  char line[4096] = {};
  const bool answered = std::fgets(line, sizeof line, answer) != nullptr;
  pclose(answer);
  std::string out = answered ? line : "";
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

/// Without them each segment of PyTorch's allocator is one allocation (interposer/torch_blocks.cpp), and the threads of
/// autograd have no lines of Python (interposer/torch_forward.cpp).
void check_torch(Checklist& list) {
  const fs::path libraries = fs::path(torch_folder()) / "lib";
  std::error_code ignored;
  if (!fs::exists(libraries / "libc10_cuda.so", ignored)) return;  // no PyTorch, or none with CUDA
  const bool followed = holds(libraries / "libc10_cuda.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") &&
                        holds(libraries / "libtorch_cuda.so", "aoti_torch_get_current_cuda_stream");
  const std::string where = ", " + libraries.parent_path().string();
  const char* lacks = "this version lacks a function that the recorder uses; see docs/python.md";
  if (followed)
    list.ok("PyTorch's allocator: its blocks are followed" + where);
  else
    list.warn("PyTorch's allocator: its blocks are not followed" + where, lacks);

  constexpr const char* kForward[] = {
      "_ZN2at15sequence_number4peekEv", "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE",
      "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_"
      "INS0_10ReadyQueueEE"};
  const bool named = std::all_of(std::begin(kForward), std::end(kForward),
                                 [&](const char* name) { return holds(libraries / "libtorch_cpu.so", name); });
  if (named)
    list.ok("PyTorch's backward pass: its calls name the line of the forward operation" + where);
  else
    list.warn("PyTorch's backward pass: its calls do not name the line of the forward operation" + where, lacks);
}

}  // namespace

int doctor(const Options& options) {
  Checklist list;
  std::printf("streamsan " STREAMSAN_VERSION ", glibc %s\n", gnu_get_libc_version());
  std::vector<std::string> tried;
  std::string preload = find_preload(options, tried);
  if (preload.empty()) {
    std::string places;
    for (const std::string& place : tried) places += " " + place;
    list.fail("libstreamsan.so not found; looked at" + places, "give --preload_path=FILE");
  } else {
    list.ok("recorder " + preload);
    if (getauxval(AT_SECURE))
      list.fail("this process runs with raised privileges", "LD_PRELOAD is ignored for setuid programs");
    check_hook(list, options, preload);
    check_footprints(list, options, preload);
    check_timings(list, options, preload);
    check_torch(list);
  }
  std::string parent = trace_parent(options);
  std::uint64_t room = free_bytes(parent) >> 20;
  std::string where = "traces go to " + parent + ", " + std::to_string(room) + " MiB free";
  room >= 256 ? list.ok(where)
              : list.warn(where, "recording stops when it is full; choose another place with --trace_dir=DIR");

  judge::Symbolizer symbolizer({.enabled = true, .tool = options.external_symbolizer_path});
  if (symbolizer.tool().empty()) {
    list.warn(symbolizer.problem(), "install llvm or binutils, or give --external_symbolizer_path=FILE");
  } else {
    list.ok("symbolizer " + symbolizer.tool());
  }
  return list.failed() ? 2 : 0;
}

}  // namespace streamsan::cli
