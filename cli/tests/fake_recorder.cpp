// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libstreamsan.so in the tests of `streamsan run`: preloaded into a process whose environment has
// FAKE_TRACE=name, it writes that sample trace where the recorder would have written its own, and keeps it mapped.
// So the launcher is tested without CUDA, and with traces whose content is known.
#include <fcntl.h>
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
  if (!name || path.empty()) return;
  streamsan::trace::TraceBuilder trace = streamsan::cli::sample_trace(name);
  trace.set_pid(static_cast<std::uint32_t>(getpid()));
  trace.set_end(streamsan::trace::End::Running);
  if (!trace.save(path + ".part") || std::rename((path + ".part").c_str(), path.c_str()) != 0) return;
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  mmap(nullptr, streamsan::trace::kHeaderBytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
}

}  // namespace
