// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/calls.cuh"

#include <cuda.h>
#include <stdexcept>

// What nvcc calls under --default-stream per-thread; the library has both.
extern "C" cudaError_t CUDARTAPI cudaMemcpy_ptds(void*, const void*, std::size_t, cudaMemcpyKind);
extern "C" cudaError_t CUDARTAPI cudaMemset_ptds(void*, int, std::size_t);

namespace streamsan::lab {
namespace {

void check_driver(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + ": " + std::to_string(result));
}

void answered(Running& running, std::size_t index, cudaError_t answer) {
  if (answer == cudaErrorNotReady) {
    cudaGetLastError();
    return;
  }
  check(answer, "query");
  running.succeeded[index] = true;
}

/// The device is current for as long as this lives: who makes an object there goes on where it was.
class OnDevice {
 public:
  explicit OnDevice(unsigned device) {
    check(cudaGetDevice(&before_), "device");
    check(cudaSetDevice(static_cast<int>(device)), "device");
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

bool uses_event(Op op) {
  return op == Op::Record || op == Op::Wait || op == Op::SyncEvent || op == Op::QueryEvent;
}
bool uses_stream(Op op) {
  switch (op) {
    case Op::SyncEvent:
    case Op::SyncDevice:
    case Op::QueryEvent:
    case Op::DestroyEvent:
    case Op::Free:
    case Op::FreeHost:
    case Op::Allocate:
    case Op::AllocateHost: return false;
    default: return true;
  }
}

bool keeps_launches_out(const Step& step) {
  const bool copies = step.work.op == Op::Copy || step.work.op == Op::Fill;
  return copies && (step.synchronous || step.work.route == Route::PageableToDevice || step.work.route == Route::PageableFromDevice);
}

cudaEvent_t Calls::event_of(Running& running, unsigned object) {
  cudaEvent_t& event = running.events[object];
  if (event) return event;
  const unsigned device = object / kEvents;
  if (device >= places_.size()) throw std::runtime_error("no such device");
  const OnDevice on_device(device);
  const bool timing = object % kEvents >= kEvents / 2;
  check(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming), "event");
  return event;
}

cudaStream_t Calls::stream_of(const Step& step) {
  const StreamRef& ref = step.stream;
  if (ref.device >= places_.size()) throw std::runtime_error("no such device");
  if (ref.type == StreamType::Legacy) return cudaStreamLegacy;
  if (ref.type == StreamType::PerThread) return cudaStreamPerThread;
  cudaStream_t& stream = streams_[{ref.type == StreamType::Blocking, ref.device, ref.index}];
  if (!stream) {
    const OnDevice on_device(ref.device);
    const unsigned flags = ref.type == StreamType::Blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    check(cudaStreamCreateWithFlags(&stream, flags), "stream");
  }
  return stream;
}

void Calls::destroy_fresh_streams() {
  for (auto& [key, stream] : streams_) {
    if (!stream || std::get<2>(key) < kFirstFresh) continue;
    cudaStreamDestroy(stream);
    stream = nullptr;
  }
}

void Calls::make(Running& running, std::size_t index) {
  const Step& step = running.program->steps[index];
  const unsigned device = uses_stream(step.work.op)  ? step.stream.device
                          : step.work.op == Op::SyncDevice ? step.object
                                                           : 0;
  if (device >= places_.size()) throw std::runtime_error("no such device");
  check(cudaSetDevice(static_cast<int>(device)), "device");
  const Places& places = places_[device];
  const cudaStream_t stream = uses_stream(step.work.op) ? stream_of(step) : nullptr;
  const bool own = step.stream.type == StreamType::PerThread;
  switch (step.work.op) {
    case Op::Kernel: launch_work(places, step.work, index, stream); return;
    case Op::Copy: {
      void* to = destination(places, step.work, index);
      const void* from = source(places, step.work, index);
      if (!step.synchronous) return check(cudaMemcpyAsync(to, from, 4, cudaMemcpyDefault, stream), "copy");
      return check((own ? cudaMemcpy_ptds : ::cudaMemcpy)(to, from, 4, cudaMemcpyDefault), "copy");
    }
    case Op::Fill: {
      void* to = destination(places, step.work, index);
      if (!step.synchronous) return check(cudaMemsetAsync(to, 1, 4, stream), "fill");
      return check((own ? cudaMemset_ptds : ::cudaMemset)(to, 1, 4), "fill");
    }
    case Op::Host: return check(cudaLaunchHostFunc(stream, host_work, &running.arguments[index]), "host function");
    case Op::Record: return check(cudaEventRecord(event_of(running, step.object), stream), "record");
    case Op::Wait: return check(cudaStreamWaitEvent(stream, event_of(running, step.object), 0), "wait");
    case Op::SyncStream: return check(cudaStreamSynchronize(stream), "synchronisation");
    case Op::SyncEvent: return check(cudaEventSynchronize(event_of(running, step.object)), "synchronisation");
    case Op::SyncDevice: return check(cudaDeviceSynchronize(), "synchronisation");
    case Op::QueryStream: return answered(running, index, cudaStreamQuery(stream));
    case Op::QueryEvent: return answered(running, index, cudaEventQuery(event_of(running, step.object)));
    case Op::WriteValue: {
      running.writes[step.object] = true;
      const auto where = reinterpret_cast<CUdeviceptr>(&places.shared->written[step.object]);
      return check_driver(cuStreamWriteValue32(stream, where, 1, 0), "write");
    }
    case Op::AwaitValue: {
      if (!running.writes[step.object]) return;  // it would never end
      const auto where = reinterpret_cast<CUdeviceptr>(&places.shared->written[step.object]);
      return check_driver(cuStreamWaitValue32(stream, where, 1, CU_STREAM_WAIT_VALUE_GEQ), "await");
    }
    case Op::Hold: {
      places.shared->gate.started = 1;
      const auto where = reinterpret_cast<CUdeviceptr>(&places.shared->gate.open);
      return check_driver(cuStreamWaitValue32(stream, where, 1, CU_STREAM_WAIT_VALUE_GEQ), "hold");
    }
    case Op::Launch:
      if (step.object < running.graphs.size()) check(cudaGraphLaunch(running.graphs[step.object], stream), "graph launch");
      return;
    case Op::DestroyStream: return destroy(step);
    case Op::DestroyEvent:
      if (running.events[step.object]) check(cudaEventDestroy(running.events[step.object]), "destruction");
      running.events[step.object] = nullptr;
      return;
    case Op::Free:
      check(cudaFree(running.idle), "free");
      running.idle = nullptr;
      return;
    case Op::FreeHost:
      check(cudaFreeHost(running.idle_host), "free");
      running.idle_host = nullptr;
      return;
    case Op::Allocate: running.allocated.emplace_back(); return check(cudaMalloc(&running.allocated.back(), 1 << 20), "memory");
    case Op::AllocateHost:
      running.allocated_host.emplace_back();
      return check(cudaHostAlloc(&running.allocated_host.back(), 1 << 20, 0), "memory");
    case Op::Empty: return;
  }
}

void Calls::destroy(const Step& step) {
  if (step.stream.type == StreamType::Legacy || step.stream.type == StreamType::PerThread) return;
  cudaStream_t& stream = streams_[{step.stream.type == StreamType::Blocking, step.stream.device, step.stream.index}];
  check(cudaStreamDestroy(stream), "destruction");
  stream = nullptr;
}

}  // namespace streamsan::lab
