// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the driver refuses while a stream is captured. Each call is made beside a blocking and a non-blocking captured
// stream, in each of the three modes, and gets a line:
//
//   StreamSynchronize other      900/901 900/901 0/0 900/901 900/901 0/0
//
// The columns are global, thread-local, relaxed for the blocking stream, then the same for the non-blocking one; each
// has the error of the call and that of the end of the capture. Nothing is left over from one column to the next.
// What must come out is in suite/cases_captures.py.
#include "check.h"

namespace {

constexpr size_t kBytes = 4096;

__global__ void nothing() {}

/// Everything that the calls are about, made before the capture begins.
struct Cell {
  cudaStream_t captured = nullptr;
  cudaStream_t other = nullptr;     ///< non-blocking, not captured
  cudaStream_t blocking = nullptr;  ///< not captured
  cudaEvent_t recorded = nullptr;
  cudaEvent_t fresh = nullptr;  ///< never recorded
  void* to = nullptr;
  void* from = nullptr;
  void* pinned = nullptr;
  void* page = nullptr;  ///< pageable
  void* registered = nullptr;   ///< pageable, and registered
  void* registered_here = nullptr;  ///< by the call
  // Freed by a call, or made by one.
  void* memory = nullptr;
  void* host = nullptr;
  void* made = nullptr;
  void* made_host = nullptr;
  void* ordered = nullptr;  ///< stream-ordered, of `other`
  cudaStream_t made_stream = nullptr;
  cudaEvent_t made_event = nullptr;
};

alignas(kBytes) char page[kBytes];
alignas(kBytes) char registered_page[kBytes];

Cell make(bool blocking) {
  Cell cell;
  CHECK(cudaStreamCreateWithFlags(&cell.captured, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&cell.other, cudaStreamNonBlocking));
  CHECK(cudaStreamCreate(&cell.blocking));
  CHECK(cudaEventCreate(&cell.recorded));
  CHECK(cudaEventCreate(&cell.fresh));
  CHECK(cudaMalloc(&cell.to, kBytes));
  CHECK(cudaMalloc(&cell.from, kBytes));
  CHECK(cudaMalloc(&cell.memory, kBytes));
  CHECK(cudaMallocHost(&cell.pinned, kBytes));
  CHECK(cudaMallocHost(&cell.host, kBytes));
  CHECK(cudaMemset(cell.from, 0, kBytes));
  CHECK(cudaEventRecord(cell.recorded, cell.other));
  CHECK(cudaHostRegister(registered_page, kBytes, cudaHostRegisterDefault));
  cell.registered = registered_page;
  cell.page = page;
  CHECK(cudaDeviceSynchronize());
  return cell;
}

void clear(const Cell& cell) {
  CHECK(cudaDeviceSynchronize());
  for (void* memory : {cell.registered, cell.registered_here})
    if (memory) CHECK(cudaHostUnregister(memory));
  if (cell.ordered) CHECK(cudaFreeAsync(cell.ordered, cell.other));
  for (void* memory : {cell.to, cell.from, cell.memory, cell.made}) CHECK(cudaFree(memory));
  for (void* memory : {cell.pinned, cell.host, cell.made_host}) CHECK(cudaFreeHost(memory));
  for (cudaStream_t stream : {cell.captured, cell.other, cell.blocking, cell.made_stream})
    if (stream) CHECK(cudaStreamDestroy(stream));
  for (cudaEvent_t event : {cell.recorded, cell.fresh, cell.made_event})
    if (event) CHECK(cudaEventDestroy(event));
}

cudaError_t launch(cudaStream_t stream) {
  nothing<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

/// The pointer is forgotten if the call has done what it says.
cudaError_t release(cudaError_t (*call)(void*), void*& pointer) {
  const cudaError_t error = call(pointer);
  if (error == cudaSuccess) pointer = nullptr;
  return error;
}

struct Call {
  const char* name;
  cudaError_t (*make)(Cell&);
};

const Call kWaits[] = {
    {"StreamSynchronize captured", [](Cell& c) { return cudaStreamSynchronize(c.captured); }},
    {"StreamQuery captured", [](Cell& c) { return cudaStreamQuery(c.captured); }},
    {"StreamSynchronize other", [](Cell& c) { return cudaStreamSynchronize(c.other); }},
    {"StreamQuery other", [](Cell& c) { return cudaStreamQuery(c.other); }},
    {"StreamSynchronize blocking", [](Cell& c) { return cudaStreamSynchronize(c.blocking); }},
    {"StreamSynchronize legacy", [](Cell&) { return cudaStreamSynchronize(cudaStreamLegacy); }},
    {"StreamQuery legacy", [](Cell&) { return cudaStreamQuery(cudaStreamLegacy); }},
    {"DeviceSynchronize", [](Cell&) { return cudaDeviceSynchronize(); }},
    {"EventSynchronize recorded", [](Cell& c) { return cudaEventSynchronize(c.recorded); }},
    {"EventQuery recorded", [](Cell& c) { return cudaEventQuery(c.recorded); }},
    {"EventSynchronize fresh", [](Cell& c) { return cudaEventSynchronize(c.fresh); }},
    {"EventSynchronize captured",
     [](Cell& c) {
       CHECK(cudaEventRecord(c.fresh, c.captured));
       return cudaEventSynchronize(c.fresh);
     }},
    {"EventQuery captured",
     [](Cell& c) {
       CHECK(cudaEventRecord(c.fresh, c.captured));
       return cudaEventQuery(c.fresh);
     }},
    {"EventElapsedTime recorded",
     [](Cell& c) {
       float milliseconds = 0;
       return cudaEventElapsedTime(&milliseconds, c.recorded, c.recorded);
     }},
};

const Call kMemory[] = {
    {"Malloc", [](Cell& c) { return cudaMalloc(&c.made, kBytes); }},
    {"Free", [](Cell& c) { return release(cudaFree, c.memory); }},
    {"Free null", [](Cell&) { return cudaFree(nullptr); }},
    {"MallocHost", [](Cell& c) { return cudaMallocHost(&c.made_host, kBytes); }},
    {"HostAlloc", [](Cell& c) { return cudaHostAlloc(&c.made_host, kBytes, cudaHostAllocDefault); }},
    {"FreeHost", [](Cell& c) { return release(cudaFreeHost, c.host); }},
    {"MallocManaged", [](Cell& c) { return cudaMallocManaged(&c.made, kBytes); }},
    {"HostRegister",
     [](Cell& c) {
       const cudaError_t error = cudaHostRegister(c.page, kBytes, cudaHostRegisterDefault);
       if (error == cudaSuccess) c.registered_here = c.page;
       return error;
     }},
    {"HostUnregister", [](Cell& c) { return release(cudaHostUnregister, c.registered); }},
    {"MallocAsync captured",
     [](Cell& c) {
       void* of_the_graph = nullptr;
       return cudaMallocAsync(&of_the_graph, kBytes, c.captured);
     }},
    {"MallocAsync other", [](Cell& c) { return cudaMallocAsync(&c.ordered, kBytes, c.other); }},
};

const Call kWork[] = {
    {"kernel legacy", [](Cell&) { return launch(cudaStreamLegacy); }},
    {"kernel other", [](Cell& c) { return launch(c.other); }},
    {"kernel blocking", [](Cell& c) { return launch(c.blocking); }},
    {"Memcpy pageable", [](Cell& c) { return cudaMemcpy(c.to, c.page, kBytes, cudaMemcpyHostToDevice); }},
    {"Memcpy pinned", [](Cell& c) { return cudaMemcpy(c.pinned, c.from, kBytes, cudaMemcpyDeviceToHost); }},
    {"Memcpy device", [](Cell& c) { return cudaMemcpy(c.to, c.from, kBytes, cudaMemcpyDeviceToDevice); }},
    {"Memset", [](Cell& c) { return cudaMemset(c.to, 0, kBytes); }},
    {"MemcpyAsync pageable captured",
     [](Cell& c) { return cudaMemcpyAsync(c.to, c.page, kBytes, cudaMemcpyHostToDevice, c.captured); }},
    {"MemcpyAsync to pageable captured",
     [](Cell& c) { return cudaMemcpyAsync(c.page, c.from, kBytes, cudaMemcpyDeviceToHost, c.captured); }},
    {"MemcpyAsync pinned legacy",
     [](Cell& c) { return cudaMemcpyAsync(c.to, c.pinned, kBytes, cudaMemcpyHostToDevice, cudaStreamLegacy); }},
    {"MemcpyAsync pageable other",
     [](Cell& c) { return cudaMemcpyAsync(c.to, c.page, kBytes, cudaMemcpyHostToDevice, c.other); }},
    {"LaunchHostFunc captured",
     [](Cell& c) {
       return cudaLaunchHostFunc(c.captured, [](void*) {}, nullptr);
     }},
};

const Call kHandles[] = {
    {"EventRecord legacy", [](Cell& c) { return cudaEventRecord(c.fresh, cudaStreamLegacy); }},
    {"StreamWaitEvent captured recorded", [](Cell& c) { return cudaStreamWaitEvent(c.captured, c.recorded); }},
    {"StreamWaitEvent legacy recorded", [](Cell& c) { return cudaStreamWaitEvent(cudaStreamLegacy, c.recorded); }},
    {"StreamCreate", [](Cell& c) { return cudaStreamCreateWithFlags(&c.made_stream, cudaStreamNonBlocking); }},
    {"StreamDestroy blocking",
     [](Cell& c) {
       const cudaError_t error = cudaStreamDestroy(c.blocking);
       if (error == cudaSuccess) c.blocking = nullptr;
       return error;
     }},
    {"EventCreate", [](Cell& c) { return cudaEventCreate(&c.made_event); }},
};

void tell(const Call& call) {
  std::printf("%-34s", call.name);
  for (const bool blocking : {true, false}) {
    for (const auto mode :
         {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
      Cell cell = make(blocking);
      CHECK(cudaStreamBeginCapture(cell.captured, mode));
      CHECK(launch(cell.captured));
      const cudaError_t refused = call.make(cell);
      cudaGraph_t graph = nullptr;
      const cudaError_t ended = cudaStreamEndCapture(cell.captured, &graph);
      (void)cudaGetLastError();
      std::printf(" %d/%d", static_cast<int>(refused), static_cast<int>(ended));
      if (graph) CHECK(cudaGraphDestroy(graph));
      clear(cell);
    }
  }
  std::printf("\n");
}

}  // namespace

int main() {
  for (const Call& call : kWaits) tell(call);
  for (const Call& call : kMemory) tell(call);
  for (const Call& call : kWork) tell(call);
  for (const Call& call : kHandles) tell(call);
  return 0;
}
