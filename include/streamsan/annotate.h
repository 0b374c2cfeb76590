// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Annotations for StreamSan: what a program tells it about its own memory pools, its own order and its names.
//
// StreamSan sees CUDA calls. It does not see a pool that hands out parts of one large allocation, nor order that is
// made by other means than events and synchronisation. A pool that says what it hands out is checked as cudaMallocAsync
// is: a block that is handed out again while another stream may still use it is reported, with the place that used it,
// the place that gave it back and the call that is missing. docs/annotations.md has a complete example.
//
//   * One header, C99 or later and C++11 or later, no CUDA header needed: streams and pointers are void*. It works as
//     well where cuda.h or cuda_runtime.h is included: CUstream and cudaStream_t convert to void* by themselves. A
//     CUdeviceptr is a number: cast it, (const void*)address.
//   * Nothing to link (with glibc before 2.34: -ldl) and nothing to initialise. In a program that does not run under
//     StreamSan each function is one load and one comparison; -DSTREAMSAN_NO_ANNOTATIONS removes even those.
//   * All functions may be called from any thread, with any lock held; they take none and call no CUDA function that
//     waits. They do not own what they are given: strings are copied, pointers only named. None of them can fail.
//   * Before CUDA is initialised there is no work to order and no memory to hand out: annotations then do not count
//     (`streamsan run -v 1` says how much that was).
//   * The recorder may be older or newer than this header.
#ifndef STREAMSAN_ANNOTATE_H
#define STREAMSAN_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__linux__) && defined(__GNUC__) && !defined(STREAMSAN_NO_ANNOTATIONS)
#define STREAMSAN_ANNOTATIONS_ 1
#include <dlfcn.h>
#else
#define STREAMSAN_ANNOTATIONS_ 0
#endif

#ifdef __cplusplus
extern "C" {
#define STREAMSAN_POINTER_(type, value) reinterpret_cast<type>(value)
#else
#define STREAMSAN_POINTER_(type, value) ((type)(value))
#endif

// Only the address is passed on: a compiler need not warn that the memory is not initialised.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && __GNUC__ >= 11
#define STREAMSAN_NOT_READ_ __attribute__((access(none, 1)))
#else
#define STREAMSAN_NOT_READ_
#endif

// ---- streams --------------------------------------------------------------------------------------------------------
//
// Every `stream` below is a CUstream or cudaStream_t that lives, or one of these:
//   * NULL, the default stream: the legacy one, or the calling thread's own in a file that is compiled with
//     --default-stream per-thread (CUDA_API_PER_THREAD_DEFAULT_STREAM), as for CUDA's own functions;
//   * cudaStreamLegacy and cudaStreamPerThread;
//   * STREAMSAN_HOST, where the function says so.

/// No stream: the calling host thread itself, with all it has waited for.
#define STREAMSAN_HOST STREAMSAN_POINTER_(void*, UINTPTR_MAX)

/// For streamsan_block_freed(): the stream that the block was handed out for.
#define STREAMSAN_SAME_STREAM STREAMSAN_POINTER_(void*, UINTPTR_MAX - 1)

// ---- the recorder's side --------------------------------------------------------------------------------------------
//
// The recorder exports one object of this type, `streamsan_annotations`. It only ever grows, at its end: a function
// that is not in the first version is there if the table's `bytes` reach behind it, and the header has to look; an
// older header does not know of it. All functions are there always.

struct streamsan_annotation_table {
  uint64_t bytes;  ///< size of the recorder's table
  void (*block_allocated)(const void* block, size_t bytes, void* stream);
  void (*block_freed)(const void* block, void* stream);
  void (*block_used)(const void* block, void* stream);
  void (*name_memory)(const void* memory, const char* name);
  void (*name_stream)(void* stream, const char* name);
  void (*happens_before)(const void* object, void* stream);
  void (*happens_after)(const void* object, void* stream);
  // Not in the first version: what the Python module uses (docs/python.md). A `level` is a MarkLevel of the trace
  // format, a `state` a HostWaitsState.
  void (*mark)(unsigned level, const char* name);
  void (*host_waits)(unsigned state);
  int (*ask)(char* path, size_t room);
  uint64_t (*position)(void);
};

#if STREAMSAN_ANNOTATIONS_

#define STREAMSAN_ABSENT_ STREAMSAN_POINTER_(const struct streamsan_annotation_table*, UINTPTR_MAX)

/// The table, STREAMSAN_ABSENT_, or null as long as nobody has looked.
static inline const struct streamsan_annotation_table** streamsan_known_table_(void) {
  static const struct streamsan_annotation_table* table;
  return &table;
}

/// Several threads may look at once: they find the same.
static inline const struct streamsan_annotation_table* streamsan_find_table_(void) {
  uintptr_t everywhere = 0;  // RTLD_DEFAULT, a name that C99 hides
  const void* found = dlsym(STREAMSAN_POINTER_(void*, everywhere), "streamsan_annotations");
  const struct streamsan_annotation_table* table = STREAMSAN_ABSENT_;
  if (found) {
    table = STREAMSAN_POINTER_(const struct streamsan_annotation_table*, found);
  } else {
    (void)dlerror();  // the program must not find our failure
  }
  __atomic_store_n(streamsan_known_table_(), table, __ATOMIC_RELEASE);
  return table;
}

#define STREAMSAN_TELL_(function, arguments)                                                                      \
  do {                                                                                                            \
    const struct streamsan_annotation_table* table = __atomic_load_n(streamsan_known_table_(), __ATOMIC_ACQUIRE); \
    if (__builtin_expect(table == STREAMSAN_ABSENT_, 1)) break;                                                   \
    if (!table) table = streamsan_find_table_();                                                                  \
    if (table != STREAMSAN_ABSENT_) table->function arguments;                                                    \
  } while (0)

#else

#define STREAMSAN_TELL_(function, arguments) (void)0

#endif

/// What NULL means in this file.
static inline void* streamsan_stream_(void* stream) {
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
  const uintptr_t per_thread = 2;  // cudaStreamPerThread
  return stream ? stream : STREAMSAN_POINTER_(void*, per_thread);
#else
  return stream;
#endif
}

// ---- blocks of a pool -----------------------------------------------------------------------------------------------
//
// A block is memory that a pool hands out of a CUDA allocation (of any kind) which the pool keeps. Live blocks do not
// overlap: of pools in pools, annotate the innermost. What the CUDA allocation itself becomes (cudaMalloc, cudaFree) is
// seen without annotation.
//
// A stream-ordered pool hands a block out again as soon as what uses it is *before* the next user: by the order of one
// stream, by an event the pool records and waits for, or because the host has waited. StreamSan sees all three, so the
// pool's own waits need no annotation. They must only come first: tell of the block when they are done.

/// The pool hands out [block, block + bytes) for use in `stream`; with STREAMSAN_HOST: for use by everybody at once, as
/// cudaMalloc does. `bytes` is what the caller may use, at least 1.
///
/// Call it in the pool's allocation function, under its lock, after the waits that the pool itself makes and before the
/// block is used. Whatever used these bytes before, and is not before this point of the stream, is reported.
STREAMSAN_NOT_READ_ static inline void streamsan_block_allocated(const void* block, size_t bytes, void* stream) {
  (void)block, (void)bytes, (void)stream;
  STREAMSAN_TELL_(block_allocated, (block, bytes, streamsan_stream_(stream)));
}

/// The block goes back to its pool, which may hand it out again to work that follows in `stream`; with STREAMSAN_HOST:
/// to any work that is submitted from now on, as after cudaFree; with STREAMSAN_SAME_STREAM, for pools whose free has
/// no stream: to work in the stream it was handed out for. `block` is the address that was handed out; others are
/// ignored.
///
/// Call it first thing in the pool's free function, before the block can be handed out to another thread.
STREAMSAN_NOT_READ_ static inline void streamsan_block_freed(const void* block, void* stream) {
  (void)block, (void)stream;
  STREAMSAN_TELL_(block_freed, (block, streamsan_stream_(stream)));
}

/// The pool knows that the block is used in one more stream, and will not hand it out again before what is submitted
/// there up to the block's free is done. This is what PyTorch calls record_stream. It is a promise of the pool:
/// StreamSan then leaves that stream's use of this block to the pool. `block` is the address that was handed out.
STREAMSAN_NOT_READ_ static inline void streamsan_block_used(const void* block, void* stream) {
  (void)block, (void)stream;
  STREAMSAN_TELL_(block_used, (block, streamsan_stream_(stream)));
}

// ---- names ----------------------------------------------------------------------------------------------------------

/// Reports call what begins at this address, a block or an allocation of CUDA's, by this name, until it is freed. A
/// later name replaces an earlier one. At most 255 bytes of the name are kept. An empty name or NULL is ignored.
STREAMSAN_NOT_READ_ static inline void streamsan_name_memory(const void* memory, const char* name) {
  (void)memory, (void)name;
  STREAMSAN_TELL_(name_memory, (memory, name));
}

/// Reports call the stream by this name, until it is destroyed. As for memory otherwise.
static inline void streamsan_name_stream(void* stream, const char* name) {
  (void)stream, (void)name;
  STREAMSAN_TELL_(name_stream, (streamsan_stream_(stream), name));
}

// ---- order that CUDA calls do not show ------------------------------------------------------------------------------
//
// For order made by flags in memory, by stream memory operations, or between host threads in a way that is not seen (by
// plain atomics, for example; docs/model.md). The object is any address that both sides know: the flag, the queue, the
// mutex. It is never read.
//
// Both are claims, and StreamSan believes them: one that is not true hides races.

/// All work that was submitted to `stream` up to now is complete before anything starts that follows a later
/// streamsan_happens_after() of the same object. With STREAMSAN_HOST: the work that the calling thread knows to be
/// complete.
/// Call it before the signal is given (the flag is set, the lock is released). Several calls for one object add up.
STREAMSAN_NOT_READ_ static inline void streamsan_happens_before(const void* object, void* stream) {
  (void)object, (void)stream;
  STREAMSAN_TELL_(happens_before, (object, streamsan_stream_(stream)));
}

/// Work that is submitted to `stream` from now on starts after everything that streamsan_happens_before() announced for
/// the same object up to now. With STREAMSAN_HOST: the calling thread now knows it to be complete. Call it after the
/// signal was seen, or for a stream that waits for it on the GPU: after the wait is submitted.
STREAMSAN_NOT_READ_ static inline void streamsan_happens_after(const void* object, void* stream) {
  (void)object, (void)stream;
  STREAMSAN_TELL_(happens_after, (object, streamsan_stream_(stream)));
}

#undef STREAMSAN_TELL_
#undef STREAMSAN_NOT_READ_
#undef STREAMSAN_ANNOTATIONS_
#ifdef STREAMSAN_ABSENT_
#undef STREAMSAN_ABSENT_
#endif

#ifdef __cplusplus
}
#endif

#endif
