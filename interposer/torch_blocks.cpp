// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of PyTorch's caching allocator, in wheels as they are.
//
// PyTorch's allocator (libc10_cuda.so) takes few large pieces of memory from CUDA and hands out blocks of them without
// a call of CUDA's. What it does call, for each block that it hands out and for each that it is given back, is a
// function of another library of PyTorch's, through the procedure linkage table (library_function.h):
//
//     c10::reportMemoryUsageToProfiler(void* block, int64_t bytes, size_t, size_t, c10::Device)         (libc10.so)
//
// So the allocator finds the function below, which makes a record and calls PyTorch's own. `bytes` is the block's size,
// negative when it comes back. That is so in PyTorch 2.4.0 and 2.15.0 (docs/python.md), native allocator, with and
// without expandable segments.
//
// WHAT IS TAKEN FOR GRANTED is the function's mangled name, which holds the types of its parameters: a version of
// PyTorch that has it otherwise never calls us, and nothing is known of blocks. c10::Device is two bytes, type and
// number; one that is larger than a register would have moved the parameters behind it, and there are none. No
// structure of PyTorch's is read.
//
// THE STREAM of a block is the one that is current, by a function of PyTorch's stable C interface:
//
//     int aoti_torch_get_current_cuda_stream(int device, void** stream)                             (libtorch_cuda.so)
//
// Where it cannot be had, or says that it failed, no block is recorded: without its stream none could be judged.
//
// RECORD_STREAM. When a block comes back that other streams use, the allocator records an event in each of them, to
// wait for, and only then calls us. So the record of the free says that the events in front of it are the pool's own
// (trace::kOwnEvents); which those are, the judge finds by the call stacks. While a capture is under way the allocator
// puts the events off. Then it is not known what it will wait for, and the record of the free says so
// (trace::kPutsOff).
//
// POOLS OF THE PROGRAM'S OWN (torch.cuda.MemPool). To the allocator, making memory in such a pool is a capture under
// way, and it puts the events off as well, until the pool is left. No call tells us that it is entered or left, but
// whoever enters one asks for its number, in another library than the one that answers:
//
//     std::pair<uint64_t, uint64_t> at::cuda::MemPool::id()                        (libtorch_cuda.so, PyTorch 2.11)
//     std::pair<uint64_t, uint64_t> c10::cuda::MemPool::id()                       (libc10_cuda.so, before)
//
// So once a program has asked, blocks are those of a pool that says neither for which stream they are nor what it waits
// for: nothing is reported at the free, and each use of a block is compared with the uses in its earlier lives. What
// the allocator has waited for is before it, as it asks its events before it hands the block out.
//
// The function is called with the allocator's lock held: what is done here takes no lock that is held while memory of
// PyTorch's is allocated.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/annotations.h"
#include "interposer/learning.h"
#include "interposer/library_function.h"
#include "interposer/options.h"
#include "interposer/process.h"

namespace streamsan::recorder {
namespace {

/// c10::Device, as a register holds it.
struct TorchDevice {
  std::int8_t type;
  std::int8_t index;
};
constexpr std::int8_t kCuda = 1;  // c10::DeviceType::CUDA

using Report = void(void*, std::int64_t, std::size_t, std::size_t, TorchDevice);
using CurrentStream = int(std::int32_t, void**);
/// std::pair<uint64_t, uint64_t>, in registers.
struct PoolId {
  std::uint64_t first, second;
};
using AskPoolId = PoolId(void*);

// A fork keeps g_report, g_current_stream, g_pool_id, g_older_pool_id: the libraries lie where they lay.
constinit LibraryFunction<Report> g_report{"libc10.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"};
constinit LibraryFunction<CurrentStream> g_current_stream{"libtorch_cuda.so", "aoti_torch_get_current_cuda_stream"};
constinit LibraryFunction<AskPoolId> g_pool_id{"libtorch_cuda.so", "_ZN2at4cuda7MemPool2idEv"};
constinit LibraryFunction<AskPoolId> g_older_pool_id{"libc10_cuda.so", "_ZN3c104cuda7MemPool2idEv"};

// A fork keeps g_own_pools: the child has the pools as well.
/// The program has a pool of its own.
constinit std::atomic<bool> g_own_pools{false};

PoolId pool_id(LibraryFunction<AskPoolId>& known, void* pool) {
  g_own_pools.store(true, std::memory_order_relaxed);
  AskPoolId* ask = known.get();
  return ask ? ask(pool) : PoolId{};
}

void note_block(void* block, std::int64_t bytes, TorchDevice device, const void* frame) {
  if (!block || bytes == 0 || device.type != kCuda || !recording() || !options().torch_blocks || !options().stacks)
    return;
  const auto address = reinterpret_cast<std::uint64_t>(block);
  const bool own_pools = g_own_pools.load(std::memory_order_relaxed);
  if (bytes < 0) {
    return block_given_back(address, own_pools || any_capture(), frame);
  }
  if (own_pools) return block_began(address, static_cast<std::uint64_t>(bytes), frame);
  CurrentStream* current = g_current_stream.get();
  void* stream = nullptr;
  if (!current || current(device.index, &stream) != 0) return;
  block_handed_out(address, static_cast<std::uint64_t>(bytes), reinterpret_cast<std::uint64_t>(stream), frame);
}

}  // namespace
}  // namespace streamsan::recorder

extern "C" __attribute__((visibility("default"))) void
_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming): PyTorch's
    void* block, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
    streamsan::recorder::TorchDevice device) {
  using namespace streamsan::recorder;
  note_block(block, bytes, device, __builtin_frame_address(0));
  if (Report* report = g_report.get()) report(block, bytes, allocated, reserved, device);
}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): PyTorch's
extern "C" __attribute__((visibility("default"))) streamsan::recorder::PoolId _ZN2at4cuda7MemPool2idEv(void* pool) {
  return pool_id(streamsan::recorder::g_pool_id, pool);
}

extern "C" __attribute__((visibility("default"))) streamsan::recorder::PoolId _ZN3c104cuda7MemPool2idEv(void* pool) {
  return pool_id(streamsan::recorder::g_older_pool_id, pool);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
