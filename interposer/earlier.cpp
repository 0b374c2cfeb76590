// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/earlier.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/driver.h"
#include "interposer/handle_table.h"
#include "interposer/process.h"

namespace streamsan::recorder {
namespace {

// A fork keeps g_keeps, g_earlier_file: the child measures nothing, and the mapping is as good there.
constinit bool g_keeps = false;
constinit trace::EarlierFile g_earlier_file{};

/// Of what kernels run on: the driver, and what the device of the calling thread is like. False: it is not known.
bool machine(std::uint64_t& hash) {
  const auto version = SS_DRIVER(cuDriverGetVersion);
  const auto device_of_thread = SS_DRIVER(cuCtxGetDevice);
  const auto attribute = SS_DRIVER(cuDeviceGetAttribute);
  int driver = 0;
  CUdevice device = 0;
  if (!version || !device_of_thread || !attribute) return false;
  if (version(&driver) != CUDA_SUCCESS || device_of_thread(&device) != CUDA_SUCCESS) return false;
  hash = mix_bits(static_cast<std::uint64_t>(driver));
  for (const CUdevice_attribute each :
       {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT}) {
    int value = 0;
    if (attribute(&value, each, device) != CUDA_SUCCESS) return false;
    hash = trace::mix_earlier(hash, static_cast<std::uint64_t>(value));
  }
  return true;
}

}  // namespace

void open_earlier() {
  const char* path = options().earlier_footprints;
  if (!path[0]) return;
  g_keeps = true;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status{};
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      g_earlier_file = trace::EarlierFile(bytes, size);
      if (!g_earlier_file) munmap(bytes, size);
    }
  }
  close(file);
}

std::uint64_t earlier_key(const StreamSanAgent& agent, const LaunchSubject& subject) {
  std::uint64_t hash = 0;
  if (!g_keeps || !machine(hash)) return 0;
  const char* name = subject.function->name;
  const std::uint64_t code =
      agent.code(reinterpret_cast<void*>(subject.handle), is_kernel_handle(subject.handle), name);
  if (code == 0) return 0;
  for (const std::uint64_t word : {code, hash_of_text(name), subject.arguments->hashes().shape, subject.shared_bytes})
    hash = trace::mix_earlier(hash, word);
  return hash ? hash : 1;
}

EarlierAnswer find_earlier(std::uint64_t key) {
  if (key == 0) return {};
  const trace::EarlierLaunch* launch = g_earlier_file.find(key);
  const trace::Piece* pieces = launch ? g_earlier_file.pieces(*launch) : nullptr;
  if (!pieces || (launch->flags & trace::EarlierLaunch::kVaries)) return {};
  return {launch, pieces};
}

}  // namespace streamsan::recorder
