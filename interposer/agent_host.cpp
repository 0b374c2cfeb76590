// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/agent_host.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/driver.h"
#include "interposer/process.h"
#include "interposer/this_library.h"

namespace streamsan::recorder {
namespace {

constexpr char kAgentName[] = "libstreamsan_footprints.so";

void* entry_for_agent(const char* name) {
  const api::Row* row = api::find_row(name);
  return row ? driver_entry(static_cast<std::size_t>(row - api::kRows)) : nullptr;
}

/// The agent beside this library, or the one the options name.
bool agent_path(char (&path)[1200]) {
  if (!options().agent_path[0]) return beside_this_library(kAgentName, path);
  std::snprintf(path, sizeof path, "%s", options().agent_path);
  return true;
}

/// An address inside of the Sanitizer library; null: it is not loaded.
const void* sanitizer_code(const char* path) {
  void* library = dlopen(path[0] ? path : "libsanitizer-public.so", RTLD_NOW | RTLD_NOLOAD);
  if (!library) {
    dlerror();  // the guest must not find our failure
    return nullptr;
  }
  const void* inside = real_dlsym(library, "sanitizerSubscribe");
  dlclose(library);
  return inside;
}

}  // namespace

bool beside_this_library(const char* name, char (&path)[1200]) {
  Dl_info here{};
  if (!dladdr(__ehdr_start, &here) || !here.dli_fname) return false;
  const char* slash = std::strrchr(here.dli_fname, '/');
  const int folder = slash ? static_cast<int>(slash - here.dli_fname) : 1;
  const int length = std::snprintf(path, sizeof path, "%.*s/%s", folder, slash ? here.dli_fname : ".", name);
  return length > 0 && static_cast<std::size_t>(length) < sizeof path;
}

const StreamSanAgent* load_agent(const char*& problem) {
  // A fork keeps why: it is written before it is read.
  static char why[1400];
  problem = nullptr;
  const Options& wanted = options();
  if (wanted.footprints == FootprintMode::Inferred) return nullptr;
  problem = why;
  if (wanted.timings) {
    std::snprintf(why, sizeof why, "times are taken (timings), and CUPTI and the Sanitizer exclude each other");
    return nullptr;
  }
  // Who has not named a library wants none in vain: by itself the loader does not find it where toolkits keep it.
  if (wanted.footprints == FootprintMode::Auto && !wanted.sanitizer_library[0] && !wanted.agent_script[0]) {
    std::snprintf(why, sizeof why, "the Sanitizer library was not found (`streamsan doctor` tells more)");
    return nullptr;
  }
  char path[1200];
  if (!agent_path(path)) {
    std::snprintf(why, sizeof why, "the folder of libstreamsan.so is not known");
    return nullptr;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = dlerror();
    std::snprintf(why, sizeof why, "%s", error ? error : path);
    return nullptr;
  }
  const auto get = reinterpret_cast<decltype(&::streamsan_agent)>(real_dlsym(library, "streamsan_agent"));
  const StreamSanAgent* agent = get ? get() : nullptr;
  if (!agent || agent->version != kStreamSanAgentVersion) {
    std::snprintf(why, sizeof why, "%s is no agent of this version", path);
    return nullptr;
  }
  const StreamSanHost host{.version = kStreamSanAgentVersion,
                           .driver_entry = entry_for_agent,
                           .sanitizer_library = wanted.sanitizer_library,
                           .script = wanted.agent_script,
                           .most_bytes = std::uint64_t{wanted.footprint_memory} << 20,
                           .patience_ms = wanted.footprint_patience};
  if (const char* fault = agent->start(&host)) {
    std::snprintf(why, sizeof why, "%s", fault);
    return nullptr;
  }
  note_tools(reinterpret_cast<const void*>(get), sanitizer_code(wanted.sanitizer_library));
  problem = nullptr;
  return agent;
}

bool address_range(std::uint64_t address, std::uint64_t& begin, std::uint64_t& end) {
  auto get = SS_DRIVER(cuMemGetAddressRange_v2);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  if (!get || get(&base, &bytes, address) != CUDA_SUCCESS) return false;
  begin = base;
  end = base + bytes;
  return true;
}

}  // namespace streamsan::recorder
