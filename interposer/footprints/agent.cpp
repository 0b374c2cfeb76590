// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The agent that measures with NVIDIA's Sanitizer API.
//
//   begin:  wait until the GPU is idle, patch the kernel's module     (worker thread, bounded; see worker.h)
//   the launch itself: the callback hands the marks to the patches
//   end:    wait for the kernel and until the GPU is idle (bounded), unpatch, read the marks
//
// So a module is patched only while one launch of it is measured, and costs nothing at any other time: patching and
// unpatching take some 0.2 ms, a patched kernel runs at a fraction of its speed (measured on an H200 with driver 580:
// 28 times slower for a kernel limited by memory bandwidth), an unpatched one at full speed again.
//
// The subscription itself would cost time at every call of the driver and of the run-time library: api_callbacks.h
// avoids that.
//
// Observed behaviour of the library of CUDA 13.0:
//   * The subscription must be there before the context is made; modules of earlier contexts cannot be patched.
//   * Adding or patching inside a launch callback deadlocks for any stream but the default one. Outside a callback it
//     waits until the context has no work left, as loading a module does.
//   * If there is another subscriber (CUPTI: Nsight, torch.profiler), every call succeeds but no callback comes. The
//     agent notices that patches cannot be added, or that a launch was never announced. Unsubscribing then crashes.
//   * Code must not be patched or unpatched under a running kernel of the module (illegal instruction). So patching
//     happens when the GPU is idle, and the recorder holds back other launches until the module is unpatched. A kernel
//     that does not end in time leaves its module patched, which is slow and right, until settle() finds the GPU idle.
//     Nobody goes on while code is being changed, however slow the machine is: only what comes before that, waiting for
//     the GPU, is given up.
#include "interposer/footprints/agent.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <new>

#include "interposer/clock.h"
#include "interposer/footprints/device_marks.h"
#include "interposer/footprints/instrumentation.h"
#include "interposer/footprints/kernel_code.h"
#include "interposer/footprints/tensor_code.h"
#include "interposer/footprints/worker.h"

namespace streamsan::footprints {
namespace {

constexpr std::size_t kMostContexts = 32;
constexpr unsigned kMostUnannounced = 3;
constexpr std::size_t kLeastFreeBytes = std::size_t{512} << 20;  // of device memory, for us to take any
// ms. Whoever goes on earlier may launch code that is being changed. It is not without end, as a host function of the
// guest may wait for a thread that we hold back, and the driver for the host function.
constexpr std::uint32_t kPatchingPatience = 60'000;
constexpr std::uint32_t kStoppingPatience = 100;  // ms
// That there was memory enough holds for a while: the driver takes 30 µs to answer.
constexpr std::uint64_t kMemoryFor = 10 * kNanosecondsPerMillisecond;
// Most kernels that are measured end in less. Who sleeps instead wakes some 50 µs late.
constexpr std::uint64_t kAwakeForKernel = 200'000;  // ns

struct Context {
  CUcontext handle = nullptr;
  bool lost = false;  // it died, or was about to, when nothing could be given back: nothing of it is there any more
  bool patches_added = false;
  CUevent event = nullptr;
  std::uint64_t had_memory_ns = 0;  // when memory was last seen to be enough
  DeviceMarks marks;
};

enum class Stage : int {
  Waiting,    ///< for the GPU to be idle; may be abandoned
  Patching,   ///< the GPU was idle: this does not take long
  Abandoned,  ///< nobody waits for the result any more: nothing is to be patched
};

/// The measurement under way, of the thread that measures, and of the worker while it runs a job for it.
struct Current {
  Context* context = nullptr;
  void* handle = nullptr;  // as launched
  bool is_kernel = false;
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  const char* name = nullptr;
  const char* problem = nullptr;
  StreamSanOutcome failure = kStreamSanFailed;  // what a problem amounts to
  DeviceMarks::Read read{};                     // what became of the marks
  bool late = false;                            // its kernel may still run, its module is patched, its marks are in use
  std::atomic<Stage> stage{Stage::Waiting};
};

constinit StreamSanHost g_host{};
constinit DriverCalls g_driver{};
Context g_contexts[kMostContexts];
Current g_current;
Runs g_runs;
Worker g_worker;
constinit unsigned g_unannounced = 0;
/// Held while a module's code is changed: no other of ours may load code then.
constinit pthread_mutex_t g_code_changes = PTHREAD_MUTEX_INITIALIZER;

/// Our own calls must not end a capture that another thread has under way.
class RelaxedCapture {
 public:
  RelaxedCapture() { g_driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { g_driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

Context* context_of(CUstream stream) {
  CUcontext handle = nullptr;
  // Waiting for a green context does not wait for the primary one, whose kernels have the same code.
  CUgreenCtx green = nullptr;
  if (g_driver.cuStreamGetGreenCtx(stream, &green) != CUDA_SUCCESS || green) return nullptr;
  const bool special = stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD || !stream;
  const CUresult result = special ? g_driver.cuCtxGetCurrent(&handle) : g_driver.cuStreamGetCtx(stream, &handle);
  if (result != CUDA_SUCCESS || !handle) return nullptr;
  Context* unused = nullptr;
  for (Context& context : g_contexts) {
    if (context.handle == handle) return &context;
    if (!context.handle && !unused) unused = &context;
  }
  if (unused) unused->handle = handle;
  return unused;
}

/// Too little memory, and the guest's own next allocation would fail because of us.
bool is_memory_short(Context& context) {
  const std::uint64_t now = monotonic_ns();
  if (context.had_memory_ns && now - context.had_memory_ns < kMemoryFor) return false;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  if (g_driver.cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS || free_bytes < kLeastFreeBytes) return true;
  context.had_memory_ns = now;
  return false;
}

/// The function that the handle launches, its code loaded; null: the driver does not tell.
CUfunction loaded_function(void* handle, bool is_kernel) {
  auto function = static_cast<CUfunction>(handle);
  if (is_kernel && g_driver.cuKernelGetFunction(&function, static_cast<CUkernel>(handle)) != CUDA_SUCCESS)
    return nullptr;
  return g_driver.cuFuncLoad(function) == CUDA_SUCCESS ? function : nullptr;
}

const char* find_module(Current& current) {
  // A function that is loaded at its launch would be patched inside of it.
  current.function = loaded_function(current.handle, current.is_kernel);
  if (!current.function || g_driver.cuFuncGetModule(&current.module, current.function) != CUDA_SUCCESS)
    return "the driver does not tell its function or its module";
  return nullptr;
}

/// The GPU is idle, and stays so.
const char* patch_module(Current& current) {
  Context& context = *current.context;
  if (is_memory_short(context)) return "little device memory is free";
  if (!context.patches_added) {
    if (const char* problem = add_patches(context.handle)) {
      if (problem == kExcluded) current.failure = kStreamSanDead;
      return problem;
    }
    context.patches_added = true;
  }
  if (const char* problem = find_module(current)) return problem;
  CUevent& event = context.event;
  if (!event && g_driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    return "there is no event for it";
  if (const char* problem = context.marks.prepare(g_driver, g_host.most_bytes)) return problem;
  return patch(current.module);
}

/// Runs on the worker, as all of what follows: waiting for the GPU may take for ever.
bool wait_until_idle() {
  if (g_driver.cuCtxSetCurrent(g_current.context->handle) != CUDA_SUCCESS) return false;
  const RelaxedCapture relaxed;
  return g_driver.cuCtxSynchronize() == CUDA_SUCCESS;
}

/// The GPU was idle. False: nobody waits any more.
bool may_change_code() {
  Stage expected = Stage::Waiting;
  return g_current.stage.compare_exchange_strong(expected, Stage::Patching);
}

class CodeChange {
 public:
  CodeChange() { pthread_mutex_lock(&g_code_changes); }
  ~CodeChange() { pthread_mutex_unlock(&g_code_changes); }
  CodeChange(const CodeChange&) = delete;
  CodeChange& operator=(const CodeChange&) = delete;

 private:
  RelaxedCapture relaxed_;
};

void prepare_job(void*) {
  const bool idle = wait_until_idle();
  if (!may_change_code()) return;
  const CodeChange change;
  g_current.problem = idle ? patch_module(g_current) : "its context is in error";
  if (g_current.problem) unpatch();
}

/// The kernel has ended, or there was none; it may be a late one. After an error of its context nothing is known of it.
void finish_job(void*) {
  const bool idle = wait_until_idle();
  if (!may_change_code()) return;
  g_current.late = !idle;
  if (!idle) return;
  const CodeChange change;
  unpatch();
  Context& context = *g_current.context;
  g_current.read = context.lost ? DeviceMarks::Read::Failed : context.marks.read(g_driver, g_runs);
}

/// The kernel still runs.
void stop_job(void*) {
  if (g_driver.cuCtxSetCurrent(g_current.context->handle) != CUDA_SUCCESS) return;
  const RelaxedCapture relaxed;
  g_current.context->marks.stop(g_driver);
}

void drop_context(Context& context) {
  if (g_driver.cuCtxSetCurrent(context.handle) == CUDA_SUCCESS) {
    const RelaxedCapture relaxed;
    context.marks.destroy(g_driver);
    if (context.event) g_driver.cuEventDestroy_v2(context.event);
    g_driver.cuCtxSetCurrent(nullptr);
  }
  context.~Context();
  new (&context) Context();
}

/// All that we had in it is gone.
void forget_context(Context& context) {
  const CUcontext handle = context.handle;
  context.marks.abandon();
  context.~Context();
  new (&context) Context();
  context.handle = handle;
}

/// `which`: a CUcontext, or null for all of them.
void drop_job(void* which) {
  for (Context& context : g_contexts) {
    if (context.handle && (!which || context.handle == which)) drop_context(context);
  }
}

/// Has the job done on the worker. False: the GPU was not idle in time, and the job will do nothing.
bool run_when_idle(Worker::Job job, std::uint32_t patience_ms) {
  if (!g_worker.idle()) return false;
  g_current.stage.store(Stage::Waiting);
  if (g_worker.run(job, nullptr, patience_ms)) return true;
  Stage expected = Stage::Waiting;
  if (g_current.stage.compare_exchange_strong(expected, Stage::Abandoned)) return false;
  // The job has begun, and the GPU was idle. Until it is over no launch may come.
  if (g_worker.wait(kPatchingPatience)) return true;
  g_current.late = true;
  return false;
}

const char* start(const StreamSanHost* host) {
  if (host->version != kStreamSanAgentVersion) return "agent and recorder are of different versions";
  g_host = *host;
  if (!g_driver.find(g_host)) return "the driver is too old (CUDA 12.4 or later is needed)";
  return start_instrumentation(g_host);
}

/// Unpatches, and reads the marks. False: that did not end in time.
bool finish() {
  if (!run_when_idle(finish_job, g_host.patience_ms)) g_current.late = true;
  return !g_current.late;
}

StreamSanMeasurement begin(const StreamSanLaunch* launch) {
  // After a job that was abandoned, or a late kernel, nothing here may be touched.
  if (g_current.late || !g_worker.idle()) return {kStreamSanBusy, nullptr, nullptr, 0};
  Context* context = context_of(static_cast<CUstream>(launch->stream));
  if (!context) return {kStreamSanFailed, nullptr, nullptr, 0};
  if (context->lost) forget_context(*context);
  g_current.context = context;
  g_current.handle = launch->function;
  g_current.is_kernel = launch->is_kernel != 0;
  g_current.stream = static_cast<CUstream>(launch->stream);
  g_current.name = launch->name;
  g_current.problem = nullptr;
  g_current.failure = kStreamSanFailed;
  if (!run_when_idle(prepare_job, g_host.patience_ms)) return {kStreamSanBusy, nullptr, nullptr, 0};
  if (g_current.problem) return {g_current.failure, g_current.problem, nullptr, 0};
  give_marks(context->marks.on_device());
  context->marks.begin();
  return {kStreamSanMeasured, nullptr, nullptr, 0};
}

/// Waits for what was enqueued in the stream up to now.
enum class Wait { Done, Late, Error };
Wait wait_for_kernel() {
  Context& context = *g_current.context;
  if (g_driver.cuEventRecord(context.event, g_current.stream) != CUDA_SUCCESS) return Wait::Error;
  const std::uint64_t began = monotonic_ns();
  for (unsigned naps = 0;;) {
    const CUresult result = g_driver.cuEventQuery(context.event);
    if (result == CUDA_SUCCESS) return Wait::Done;
    if (result != CUDA_ERROR_NOT_READY) return Wait::Error;
    const std::uint64_t waited = monotonic_ns() - began;
    if (waited > g_host.patience_ms * kNanosecondsPerMillisecond) return Wait::Late;
    if (waited < kAwakeForKernel) continue;
    const timespec nap{0, ++naps < 1000 ? 20'000 : 200'000};
    nanosleep(&nap, nullptr);
  }
}

StreamSanMeasurement end(int succeeded) {
  const RelaxedCapture relaxed;
  give_marks(nullptr);
  if (succeeded) {
    const Wait waited = wait_for_kernel();
    // After an error, too, the kernel may run. The guest will meet the error in its own next call.
    if (waited != Wait::Done) {
      g_current.late = true;
      if (waited == Wait::Late) g_worker.run(stop_job, nullptr, kStoppingPatience);
      return {waited == Wait::Late ? kStreamSanLate : kStreamSanFailed, nullptr, nullptr, 0};
    }
  }
  if (!finish()) return {kStreamSanFailed, nullptr, nullptr, 0};
  if (!succeeded) return {kStreamSanFailed, nullptr, nullptr, 0};
  if (!marks_were_taken()) {
    if (++g_unannounced < kMostUnannounced) return {kStreamSanFailed, nullptr, nullptr, 0};
    return {kStreamSanDead, kExcluded, nullptr, 0};
  }
  g_unannounced = 0;
  if (g_current.read == DeviceMarks::Read::Failed) {
    return {kStreamSanFailed, "its marks could not be read", nullptr, 0};
  }
  if (g_current.read == DeviceMarks::Read::Overflow) {
    const bool at_limit = g_current.context->marks.at_limit();
    return {kStreamSanTooLarge,
            at_limit ? "it touches more memory than the marks have room for (footprint_memory)" : nullptr, nullptr, 0};
  }
  StreamSanMeasurement out{kStreamSanMeasured, nullptr, nullptr, 0};
  out.ranges = g_runs.finish(out.count);
  if (g_runs.full()) {
    out.outcome = kStreamSanIncomplete;
    out.reason = "its bytes are in too many pieces";
  } else if (uses_tensor_maps(g_current.name)) {
    out.outcome = kStreamSanIncomplete;
    out.reason = "it moves memory by tensor maps, which the Sanitizer does not show";
  }
  return out;
}

uint64_t code(void* function, int is_kernel, const char* name) {
  if (const uint64_t known = kernel_code(name)) return known;
  // Not while a module is being patched; this is asked again.
  if (pthread_mutex_trylock(&g_code_changes) != 0) return 0;
  const RelaxedCapture relaxed;
  const uint64_t found = loaded_function(function, is_kernel != 0) ? kernel_code(name) : 0;
  pthread_mutex_unlock(&g_code_changes);
  return found;
}

int settle(uint32_t patience_ms) {
  if (g_current.late) run_when_idle(finish_job, patience_ms);
  return !g_current.late;
}

void context_going(void* context) {
  settle(g_host.patience_ms);
  if (!g_worker.run(drop_job, context, g_host.patience_ms)) {
    // Another context may get the handle, and must not get what belongs to this one.
    for (Context& known : g_contexts) {
      if (known.handle && (!context || known.handle == context)) known.lost = true;
    }
    return;
  }
  // What a kernel of the dead context has kept is gone with it. If it does not die (there are other users of it), its
  // module stays patched: launches are listened to until the next measurement is over.
  if (!g_current.late || g_current.context->handle) return;
  g_current.late = false;
  patched_module_is_gone();
}

void module_going() {
  settle(g_host.patience_ms);
  // If its kernel still runs, there will be nothing to unpatch once it has ended.
  if (g_current.late) patched_module_is_gone();
}

void forget() {
  // The parent's GPU is not ours. What it had in flight never ends here.
  g_worker.forget();
  new (&g_current) Current();
  for (Context& context : g_contexts) new (&context) Context();
  g_code_changes = PTHREAD_MUTEX_INITIALIZER;
  forget_instrumentation();
}

constexpr StreamSanAgent kAgent = {kStreamSanAgentVersion, start,        begin, end, code, settle,
                                   context_going,          module_going, forget};

}  // namespace
}  // namespace streamsan::footprints

extern "C" __attribute__((visibility("default"))) const StreamSanAgent* streamsan_agent(void) {
  return &streamsan::footprints::kAgent;
}
