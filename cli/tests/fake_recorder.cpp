// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libstreamsan.so in the tests of `streamsan run`: preloaded into a process whose environment has
// FAKE_TRACE=name, it writes that sample trace where the recorder would have written its own, and keeps it mapped and
// locked (the mapping holds the lock; forked children do not get it). With FAKE_FAILURE=reason it does what a recorder
// does that cannot make its trace; with FAKE_PID=number the trace names that process, as one from another process
// namespace would; with FAKE_CUT the file is shorter than it says; with FAKE_MEASURED=number so many launches were
// measured (0: none, and none will be), with FAKE_GAVE_UP until nothing could be measured any more.
// So the launcher is tested without CUDA, and with traces whose content is known.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/tests/sample_trace.h"

namespace {

/// The last trace_path in the environment, with %p expanded.
std::string trace_path() {
  const char* text = std::getenv("STREAMSAN_OPTIONS");
  std::string options = text ? text : "";
  std::size_t at = options.rfind("trace_path=");
  if (at == std::string::npos) return {};
  std::string path = options.substr(at + std::strlen("trace_path="));
  path = path.substr(0, path.find_first_of(" :,"));
  std::size_t pid = path.find("%p");
  return pid == std::string::npos ? path : path.replace(pid, 2, std::to_string(getpid()));
}

__attribute__((constructor)) void write_trace() {
  const char* name = std::getenv("FAKE_TRACE");
  std::string path = trace_path();
  if (path.empty()) return;
  if (const char* reason = std::getenv("FAKE_FAILURE")) {
    std::string failed = path.substr(0, path.rfind('.')) + ".failed";
    if (symlink(reason, failed.c_str()) != 0) std::abort();
    return;
  }
  if (!name) return;
  streamsan::trace::TraceBuilder trace = streamsan::cli::sample_trace(name);
  const char* number = std::getenv("FAKE_PID");
  trace.set_pid(number ? static_cast<std::uint32_t>(std::atol(number)) : static_cast<std::uint32_t>(getpid()));
  trace.set_end(streamsan::trace::End::Running);
  std::string partial = path + ".part";
  if (!trace.save(partial)) return;
  int file = open(partial.c_str(), O_RDWR | O_CLOEXEC);
  if (flock(file, LOCK_SH) != 0) std::abort();
  void* map = mmap(nullptr, streamsan::trace::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (const char* measured = std::getenv("FAKE_MEASURED")) {
    auto launches = static_cast<std::uint32_t>(std::atol(measured));
    auto& header = *static_cast<streamsan::trace::FileHeader*>(map);
    using streamsan::trace::Footprints;
    header.footprints = static_cast<std::uint32_t>(launches && !std::getenv("FAKE_GAVE_UP") ? Footprints::Measured
                                                                                            : Footprints::Inferred);
    header.measured = launches;
    header.learned = launches / 2;
    header.measuring_ns = launches * std::uint64_t{10'000'000};
  }
  madvise(map, streamsan::trace::kHeaderBytes, MADV_DONTFORK);
  constexpr auto kShort = static_cast<off_t>(streamsan::trace::kHeaderBytes + 3 * streamsan::trace::kSlotBytes);
  if (std::getenv("FAKE_CUT") && ftruncate(file, kShort) != 0) std::abort();
  close(file);
  std::rename(partial.c_str(), path.c_str());
}

}  // namespace
