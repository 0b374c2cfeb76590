// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of driver functions.
//
// Every export of libcuda has exactly one row in cuda_api.def: what its arguments mean for order and memory (an
// Effect), or why it is passed through. Everything else is derived from the rows:
//   * the interposer's wrappers decode arguments by the positions named here, at compile time (interposer/hooks.cpp);
//   * the judge and the reports take names and default-stream meaning from here;
//   * the null driver exports every symbol listed here;
//   * docs/api-coverage.md is printed from here, and a test compares the rows with the toolkit's exports.
// Signatures are never typed by hand: users take `decltype(&::symbol)` from cuda.h with __CUDA_API_VERSION_INTERNAL
// defined, which declares every version and every _ptds/_ptsz variant.
//
// HOW TO ADD A FUNCTION
//   1. Add one SS_API row to cuda_api.def, in alphabetical order of the symbol. Traces carry the names of the rows: those
//      that exist are read as before.
//   2. Pick the effect builder below. If none fits, decide first whether the semantics are new: a new EffectKind needs
//      a decoder in interposer/, a record kind in trace/records.def, and a rule in ordering/. What code outside of this
//      folder asks of one function (does it prefetch? which context ends?) is a field of Effect, never its name.
//   3. A function that orders or touches memory but is not modelled yet gets `later("...")`: it is forwarded, counted
//      and named at the end of a run. If it may order work in a way that is then not seen, it gets `later_order("...")`:
//      once it was called, findings are at most possible. A function without order and memory gets `pass("why")`.
//
// Positions are argument indices from 0; kAbsent means the function has no such argument.
// This header is free of CUDA headers on purpose; the analyzer reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace streamsan::api {

using Position = std::int8_t;
inline constexpr Position kAbsent = -1;

/// What the handle 0, or an implicit stream, means for this symbol (R-STR-01): plain symbols mean the legacy stream,
/// _ptds/_ptsz symbols the calling thread's per-thread default stream.
enum class DefaultStream : std::uint8_t { Legacy, PerThread };

enum class EffectKind : std::uint8_t {
  Pass,    ///< no order, no memory: forwarded untouched; not wrapped at all
  Lookup,  ///< cuGetProcAddress: hands out entry points, which must be ours
  Share,  ///< names memory, or an event, for other processes or devices: forwarded and counted. Nothing that this process
          ///< does is ordered by it
  Later,  ///< orders or touches memory, not modelled yet: forwarded, counted, named at the end

  Launch,        ///< function, grid/block extents, stream, kernelParams, extra
  LaunchConfig,  ///< cuLaunchKernelEx: CUlaunchConfig* holds extents, stream and attributes
  LaunchList,  ///< cuLaunchCooperativeKernelMultiDevice: several launches, with barriers among their streams (R-LCH-05)

  Copy,    ///< linear copy
  Copy2D,  ///< CUDA_MEMCPY2D*
  Copy3D,  ///< CUDA_MEMCPY3D* or CUDA_MEMCPY3D_PEER*
  Fill,    ///< memset, linear
  Fill2D,  ///< memset with a pitch

  Alloc,       ///< device pointer out, size
  AllocPitch,  ///< device pointer out, pitch out, width, height
  AllocHost,   ///< pinned host pointer out, size
  AllocManaged,
  AllocAsync,    ///< stream-ordered allocation
  Register,      ///< pin existing host memory
  Map,           ///< cuMemMap: address, size
  Import,        ///< cuIpcOpenMemHandle and the like: pointer out, size asked from the driver
  GlobalLookup,  ///< cuModuleGetGlobal and the like: pointer out, size out: a module variable is an allocation

  Free,  ///< cuMemFree: classic free
  FreeHost,
  FreeAsync,  ///< stream-ordered free
  Unregister,
  PointerAttribute,  ///< may change what copies of the range wait for
  Unmap,             ///< cuMemUnmap, cuIpcCloseMemHandle

  StreamCreate,
  StreamDestroy,
  EventCreate,
  EventDestroy,
  EventRecord,
  EventWait,
  ContextRecord,  ///< an event captures all streams of a context (R-EVT-17, R-EVT-19)
  ContextWait,    ///< all later work of a context waits (R-EVT-18, R-EVT-19)

  SyncStream,  ///< host waits for a stream
  SyncEvent,
  SyncContext,  ///< host waits for everything in the current context
  QueryStream,  ///< success is an edge to the host (R-SYN-02)
  QueryEvent,   ///< success is an edge to the host (R-EVT-09)

  HostFunction,    ///< cuLaunchHostFunc, cuStreamAddCallback: an operation in the stream
  StreamAction,    ///< an operation in the stream: a batch, or one whose memory effects are not modelled (prefetch,
                   ///< attach, write value)
  StreamJoinsAll,  ///< an operation that may wait for work this model cannot match (wait value, external semaphore):
                   ///< the stream is taken to be ordered after everything; may miss a race, never invents one

  CaptureBegin,
  CaptureEnd,
  GraphInstantiate,
  GraphLaunch,
  GraphUpdate,      ///< an executable graph becomes like a graph, as a whole
  GraphNodeUpdate,  ///< one node of an executable graph changes; what follows the node says how
  GraphAddNode,     ///< node out, graph. What the node does is read when the graph is instantiated
  GraphClone,       ///< graph out, original: names nodes after those of the original

  FunctionLookup,  ///< cuModuleGetFunction, cuLibraryGetKernel: names a kernel handle
  Unload,          ///< cuModuleUnload, cuLibraryUnload: kernel handles and module variables die
  ContextDestroy,  ///< cuCtxDestroy, cuDevicePrimaryCtxReset/Release: of a context or a device; Release and
                   ///< cuCtxDetach count references, so the context may live on
  Init,            ///< cuInit: CUDA is in use from here
};

/// Which side of the bus the arguments of a copy are on. ByAddress: found from the pointers (R-CPY-19).
enum class Direction : std::uint8_t { ByAddress, HostToDevice, DeviceToHost, DeviceToDevice, Array };

/// Does the *form* of the call promise to wait (`\note_sync`) or not (`\note_async`)? What is really waited for depends
/// on the memory on both sides and is decided in ordering/ (R-CPY-01..18).
enum class CallForm : std::uint8_t { Synchronous, Asynchronous };

/// When the record takes its place in the trace relative to the real call.
/// End: after it (creates, enqueues). Begin: before it, because the call gives an address or a handle back to the
/// driver, which may hand it to another thread before we return (frees, destroys), or because it blocks.
enum class RecordPoint : std::uint8_t { End, Begin };

/// StreamAction: what is known of the memory that it touches. A batch has an array of parts, which are one operation of
/// the stream and have no order among themselves (R-CPY-30).
enum class Batch : std::uint8_t {
  None,        ///< nothing: it is no batch
  Copies,      ///< arrays of destinations, sources and sizes; with attributes: params, the first copies that they are
               ///< of, their number
  Copies3D,    ///< an array of CUDA_MEMCPY3D_BATCH_OP
  Discards,    ///< arrays of addresses and sizes
  Decompress,  ///< an array of CUmemDecompressParams
};

/// ContextDestroy: which context ends with the call.
enum class ContextEnd : std::uint8_t {
  Counted,  ///< the last of its references ends it: after this call it may live on
  Given,    ///< the one that is given
  Primary,  ///< that of the device that is given
};

struct Effect {
  EffectKind kind = EffectKind::Pass;
  Position object =
      kAbsent;  ///< the handle or pointer made (an out-parameter), destroyed, synchronised, launched or freed
  Position dst = kAbsent;
  Position src = kAbsent;
  Position bytes = kAbsent;  ///< size in bytes; for fills the number of elements
  Position pitch = kAbsent;
  Position height = kAbsent;
  Position stream = kAbsent;  ///< explicit stream; absent: the default stream of the symbol
  Position event = kAbsent;
  Position flags = kAbsent;
  Position params = kAbsent;   ///< kernelParams (extra follows it where there is one); for FunctionLookup the name
  Position count = kAbsent;    ///< of a batch: how many parts
  Position extents = kAbsent;  ///< first of gridX gridY gridZ blockX blockY blockZ
  std::uint8_t unit = 1;       ///< bytes per element of a fill
  Direction direction = Direction::ByAddress;
  CallForm form = CallForm::Asynchronous;
  RecordPoint point = RecordPoint::End;
  bool hides_order =
      false;  ///< Later: may make order that is not seen; a process that calls it has no certain findings
              ///< from then on. Of a kind that is modelled: the same in a trace of a recorder for which it was Later
  ContextEnd ends = ContextEnd::Counted;
  bool imported = false;  ///< EventCreate: another process has the event, too; what it does with it is not seen
  bool exports_event =
      false;  ///< Share: the event that is an argument is given to other processes, which may record it
  bool switches_context = false;  ///< Pass: another context, perhaps of another device, becomes the current one
  bool swaps_capture_mode =
      false;                    ///< Pass: the thread's capture mode and the one that argument 0 points to change places
  bool destroys_graph = false;  ///< Pass: the executable graph that is argument 0 is gone
  Batch batch = Batch::None;    ///< StreamAction
  bool semaphores = false;      ///< StreamAction, StreamJoinsAll: signals, or waits for, external semaphores
  bool green = false;           ///< ContextRecord, ContextWait: of a CUgreenCtx
  bool prefetch = false;        ///< StreamAction: it only moves what everybody may touch as before
  bool given_pool = false;      ///< AllocAsync: of a pool that is given, which may be another device's
  bool managed = false;         ///< GlobalLookup: the variable is a __managed__ one; else the driver must be asked
  bool makes_kernel = false;    ///< FunctionLookup: a CUkernel; else a CUfunction
  bool asks_event_time = false;  ///< Pass: asks for the time between the events that are arguments 1 and 2. It is no
                                 ///< order (R-EVT-10), but a wait in front of it may be for the time only
  std::string_view
      why{};  ///< for Pass, Share and Later: one clause, printed in the coverage page; else a remark, see noted()
};

struct Row {
  std::string_view symbol;  ///< the export, with version and _ptds/_ptsz suffix
  std::string_view base;    ///< the name a program writes and cuGetProcAddress is asked for
  std::string_view group;   ///< heading in the coverage page
  DefaultStream default_stream = DefaultStream::Legacy;
  Effect effect;
};

// ---- effect builders, one for each kind --------------------------------------------------------------------------------

constexpr Effect pass(std::string_view why) { return {.kind = EffectKind::Pass, .why = why}; }
constexpr Effect event_time(std::string_view why) {
  return {.kind = EffectKind::Pass, .asks_event_time = true, .why = why};
}
constexpr Effect context_switch(std::string_view why) {
  return {.kind = EffectKind::Pass, .switches_context = true, .why = why};
}
constexpr Effect capture_mode_swap(std::string_view why) {
  return {.kind = EffectKind::Pass, .swaps_capture_mode = true, .why = why};
}
constexpr Effect graph_end(std::string_view why) {
  return {.kind = EffectKind::Pass, .destroys_graph = true, .why = why};
}
constexpr Effect event_export(std::string_view why) {
  return {.kind = EffectKind::Share, .exports_event = true, .why = why};
}
constexpr Effect share(std::string_view why) { return {.kind = EffectKind::Share, .why = why}; }
constexpr Effect later(std::string_view why) { return {.kind = EffectKind::Later, .why = why}; }
/// Not modelled, and a program may rely on the order it makes.
constexpr Effect later_order(std::string_view why) {
  return {.kind = EffectKind::Later, .hides_order = true, .why = why};
}
constexpr Effect lookup() { return {.kind = EffectKind::Lookup}; }
constexpr Effect init() { return {.kind = EffectKind::Init}; }

/// An effect that is modelled, but not wholly: the remark stands in the coverage page.
constexpr Effect noted(std::string_view remark, Effect effect) {
  effect.why = remark;
  return effect;
}

constexpr Effect launch(Position function, Position extents, Position stream, Position params) {
  return {.kind = EffectKind::Launch, .object = function, .stream = stream, .params = params, .extents = extents};
}
constexpr Effect launch_config(Position config, Position function, Position params) {
  return {.kind = EffectKind::LaunchConfig, .object = function, .src = config, .params = params};
}

/// Older recorders did not see it.
constexpr Effect launch_list(Position list, Position count, Position flags) {
  return {.kind = EffectKind::LaunchList, .src = list, .flags = flags, .count = count, .hides_order = true};
}

/// Synchronous copies are recorded at Begin: they block, and their host edge is a second record at their return.
constexpr Effect copy(Position dst, Position src, Position bytes, Direction direction) {
  return {.kind = EffectKind::Copy,
          .dst = dst,
          .src = src,
          .bytes = bytes,
          .direction = direction,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}
constexpr Effect copy_async(Position dst, Position src, Position bytes, Position stream, Direction direction) {
  return {.kind = EffectKind::Copy, .dst = dst, .src = src, .bytes = bytes, .stream = stream, .direction = direction};
}
constexpr Effect copy_2d(Position descriptor) {
  return {.kind = EffectKind::Copy2D, .src = descriptor, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect copy_2d_async(Position descriptor, Position stream) {
  return {.kind = EffectKind::Copy2D, .src = descriptor, .stream = stream};
}
constexpr Effect copy_3d(Position descriptor) {
  return {.kind = EffectKind::Copy3D, .src = descriptor, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect copy_3d_async(Position descriptor, Position stream) {
  return {.kind = EffectKind::Copy3D, .src = descriptor, .stream = stream};
}

constexpr Effect fill(Position dst, Position count, std::uint8_t unit) {
  return {.kind = EffectKind::Fill,
          .dst = dst,
          .bytes = count,
          .unit = unit,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}
constexpr Effect fill_async(Position dst, Position count, std::uint8_t unit, Position stream) {
  return {.kind = EffectKind::Fill, .dst = dst, .bytes = count, .stream = stream, .unit = unit};
}
/// cuMemsetD2D*(dst, pitch, value, width, height): width is counted in elements.
constexpr Effect fill_2d(Position dst, Position pitch, Position width, Position height, std::uint8_t unit) {
  return {.kind = EffectKind::Fill2D,
          .dst = dst,
          .bytes = width,
          .pitch = pitch,
          .height = height,
          .unit = unit,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}
constexpr Effect fill_2d_async(Position dst, Position pitch, Position width, Position height, std::uint8_t unit,
                               Position stream) {
  return {.kind = EffectKind::Fill2D,
          .dst = dst,
          .bytes = width,
          .pitch = pitch,
          .height = height,
          .stream = stream,
          .unit = unit};
}

constexpr Effect alloc(Position out, Position bytes) {
  return {.kind = EffectKind::Alloc, .object = out, .bytes = bytes};
}
constexpr Effect alloc_pitch(Position out, Position pitch_out, Position height) {
  return {.kind = EffectKind::AllocPitch, .object = out, .pitch = pitch_out, .height = height};
}
constexpr Effect alloc_host(Position out, Position bytes) {
  return {.kind = EffectKind::AllocHost, .object = out, .bytes = bytes};
}
constexpr Effect alloc_managed(Position out, Position bytes) {
  return {.kind = EffectKind::AllocManaged, .object = out, .bytes = bytes};
}
constexpr Effect alloc_async(Position out, Position bytes, Position stream) {
  return {.kind = EffectKind::AllocAsync, .object = out, .bytes = bytes, .stream = stream};
}
constexpr Effect alloc_from_pool(Position out, Position bytes, Position stream) {
  return {.kind = EffectKind::AllocAsync, .object = out, .bytes = bytes, .stream = stream, .given_pool = true};
}
constexpr Effect register_host(Position pointer, Position bytes) {
  return {.kind = EffectKind::Register, .object = pointer, .bytes = bytes};
}
constexpr Effect map(Position address, Position bytes) {
  return {.kind = EffectKind::Map, .object = address, .bytes = bytes};
}
constexpr Effect import_memory(Position out) { return {.kind = EffectKind::Import, .object = out}; }
constexpr Effect global_lookup(Position out, Position bytes_out) {
  return {.kind = EffectKind::GlobalLookup, .object = out, .bytes = bytes_out};
}

constexpr Effect managed_lookup(Position out, Position bytes_out) {
  return {.kind = EffectKind::GlobalLookup, .object = out, .bytes = bytes_out, .managed = true};
}

constexpr Effect free_device(Position pointer) {
  return {.kind = EffectKind::Free, .object = pointer, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect free_host(Position pointer) {
  return {.kind = EffectKind::FreeHost, .object = pointer, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect free_async(Position pointer, Position stream) {
  return {.kind = EffectKind::FreeAsync, .object = pointer, .stream = stream, .point = RecordPoint::Begin};
}
constexpr Effect unregister_host(Position pointer) {
  return {
      .kind = EffectKind::Unregister, .object = pointer, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect unmap(Position address, Position bytes = kAbsent) {
  return {.kind = EffectKind::Unmap,
          .object = address,
          .bytes = bytes,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin};
}

constexpr Effect stream_create(Position out, Position flags) {
  return {.kind = EffectKind::StreamCreate, .object = out, .flags = flags};
}
constexpr Effect stream_destroy(Position stream) {
  return {.kind = EffectKind::StreamDestroy, .object = stream, .point = RecordPoint::Begin};
}
constexpr Effect event_create(Position out, Position flags) {
  return {.kind = EffectKind::EventCreate, .object = out, .flags = flags};
}
/// An event of another process.
constexpr Effect event_import(Position out) {
  return {.kind = EffectKind::EventCreate, .object = out, .imported = true};
}
constexpr Effect event_destroy(Position event) {
  return {.kind = EffectKind::EventDestroy, .object = event, .point = RecordPoint::Begin};
}
constexpr Effect event_record(Position event, Position stream, Position flags = kAbsent) {
  return {.kind = EffectKind::EventRecord, .stream = stream, .event = event, .flags = flags};
}
constexpr Effect event_wait(Position stream, Position event, Position flags) {
  return {.kind = EffectKind::EventWait, .stream = stream, .event = event, .flags = flags};
}

/// Their order was not seen by older recorders.
constexpr Effect context_record(Position context, Position event, bool green = false) {
  return {.kind = EffectKind::ContextRecord, .object = context, .event = event, .hides_order = true, .green = green};
}
constexpr Effect context_wait(Position context, Position event, bool green = false) {
  return {.kind = EffectKind::ContextWait, .object = context, .event = event, .hides_order = true, .green = green};
}

constexpr Effect sync_stream(Position stream) {
  return {.kind = EffectKind::SyncStream, .stream = stream, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect sync_event(Position event) {
  return {.kind = EffectKind::SyncEvent, .event = event, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect sync_context(Position context = kAbsent) {
  return {
      .kind = EffectKind::SyncContext, .object = context, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect query_stream(Position stream) { return {.kind = EffectKind::QueryStream, .stream = stream}; }
constexpr Effect query_event(Position event) { return {.kind = EffectKind::QueryEvent, .event = event}; }

/// Begin: the function may run, and another thread act on what it says, before the call that enqueued it has returned.
constexpr Effect host_function(Position stream) {
  return {.kind = EffectKind::HostFunction, .stream = stream, .point = RecordPoint::Begin};
}
constexpr Effect stream_action(Position stream) { return {.kind = EffectKind::StreamAction, .stream = stream}; }
constexpr Effect prefetch(Position stream) {
  return {.kind = EffectKind::StreamAction, .stream = stream, .prefetch = true};
}
constexpr Effect batch_copy(Position dsts, Position srcs, Position sizes, Position count, Position attributes,
                            Position stream) {
  return {.kind = EffectKind::StreamAction,
          .dst = dsts,
          .src = srcs,
          .bytes = sizes,
          .stream = stream,
          .params = attributes,
          .count = count,
          .batch = Batch::Copies};
}
constexpr Effect batch_copy_3d(Position count, Position parts, Position stream) {
  return {.kind = EffectKind::StreamAction, .src = parts, .stream = stream, .count = count, .batch = Batch::Copies3D};
}
constexpr Effect batch_discard(Position addresses, Position sizes, Position count, Position stream) {
  return {.kind = EffectKind::StreamAction,
          .dst = addresses,
          .bytes = sizes,
          .stream = stream,
          .count = count,
          .batch = Batch::Discards};
}
constexpr Effect batch_decompress(Position parts, Position count, Position stream) {
  return {.kind = EffectKind::StreamAction, .src = parts, .stream = stream, .count = count, .batch = Batch::Decompress};
}
constexpr Effect stream_joins_all(Position stream) { return {.kind = EffectKind::StreamJoinsAll, .stream = stream}; }

constexpr Effect signal_semaphores(Position semaphores, Position values, Position count, Position stream) {
  return {.kind = EffectKind::StreamAction,
          .object = semaphores,
          .src = values,
          .stream = stream,
          .count = count,
          .semaphores = true};
}
constexpr Effect wait_semaphores(Position semaphores, Position values, Position count, Position stream) {
  return {.kind = EffectKind::StreamJoinsAll,
          .object = semaphores,
          .src = values,
          .stream = stream,
          .count = count,
          .semaphores = true};
}
/// cuPointerSetAttribute: what of it matters is a range whose synchronous copies and fills wait (R-CPY-08).
constexpr Effect pointer_attribute(Position value, Position attribute, Position pointer) {
  return {.kind = EffectKind::PointerAttribute, .object = pointer, .src = value, .flags = attribute};
}

constexpr Effect capture_begin(Position stream) { return {.kind = EffectKind::CaptureBegin, .stream = stream}; }
constexpr Effect capture_end(Position stream, Position graph_out) {
  return {.kind = EffectKind::CaptureEnd, .object = graph_out, .stream = stream};
}
constexpr Effect graph_instantiate(Position exec_out, Position graph) {
  return {.kind = EffectKind::GraphInstantiate, .object = exec_out, .src = graph};
}
constexpr Effect graph_launch(Position exec, Position stream) {
  return {.kind = EffectKind::GraphLaunch, .object = exec, .stream = stream};
}
constexpr Effect graph_update(Position exec, Position graph) {
  return {.kind = EffectKind::GraphUpdate, .object = exec, .src = graph};
}
constexpr Effect graph_node_update(Position exec, Position node) {
  return {.kind = EffectKind::GraphNodeUpdate, .object = exec, .src = node};
}
/// `child`: the graph that the node is a copy of.
constexpr Effect graph_add_node(Position node_out, Position child = kAbsent) {
  return {.kind = EffectKind::GraphAddNode, .object = node_out, .src = child};
}
/// One that older recorders did not read, and that may make order.
constexpr Effect graph_add_order_node(Position node_out) {
  return {.kind = EffectKind::GraphAddNode, .object = node_out, .hides_order = true};
}
constexpr Effect graph_clone(Position graph_out, Position original) {
  return {.kind = EffectKind::GraphClone, .object = graph_out, .src = original};
}

/// Named by a string, or after another handle (cuKernelGetFunction).
constexpr Effect function_lookup(Position out, Position name, Position named_after = kAbsent) {
  return {.kind = EffectKind::FunctionLookup, .object = out, .src = named_after, .params = name};
}
constexpr Effect kernel_lookup(Position out, Position name) {
  return {.kind = EffectKind::FunctionLookup, .object = out, .params = name, .makes_kernel = true};
}
constexpr Effect unload(Position handle) {
  return {.kind = EffectKind::Unload, .object = handle, .form = CallForm::Synchronous, .point = RecordPoint::Begin};
}
constexpr Effect context_destroy(Position handle, ContextEnd ends = ContextEnd::Counted) {
  return {.kind = EffectKind::ContextDestroy,
          .object = handle,
          .form = CallForm::Synchronous,
          .point = RecordPoint::Begin,
          .ends = ends};
}

// ---- the table ----------------------------------------------------------------------------------------------------------

inline constexpr Row kRows[] = {
#define SS_API(symbol_, base_, group_, default_stream_, ...) \
  Row{.symbol = #symbol_,                                    \
      .base = #base_,                                        \
      .group = group_,                                       \
      .default_stream = DefaultStream::default_stream_,      \
      .effect = __VA_ARGS__},
#include "ordering/api/cuda_api.def"
#undef SS_API
};
inline constexpr std::size_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

/// A name for each row's index, as it stands in trace records: Index::cuLaunchKernel.
struct Index {
  enum : std::uint16_t {
#define SS_API(symbol_, ...) symbol_,
#include "ordering/api/cuda_api.def"
#undef SS_API
  };
};

/// The symbols in table order, each ended by a NUL: what a trace carries, so that its row numbers have a meaning for a
/// reader with other rows.
inline constexpr char kSymbols[] =
#define SS_API(symbol_, ...) #symbol_ "\0"
#include "ordering/api/cuda_api.def"
#undef SS_API
    ;
inline constexpr std::size_t kSymbolBytes = sizeof kSymbols - 1;  // without the NUL of the literal itself

/// FNV-1a over such symbols.
constexpr std::uint64_t table_hash(std::string_view symbols) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : symbols) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}
constexpr std::uint64_t api_table_hash() { return table_hash({kSymbols, kSymbolBytes}); }

/// The enumerator's name, for the coverage page and messages.
std::string_view name(EffectKind kind);

/// Does the function make or change graphs? Answered by the name, so also for one without a row.
bool is_of_graphs(std::string_view symbol);

/// Row of an export, or nullptr. Binary search: the table is sorted by symbol (checked by a static_assert in row.cpp).
const Row* find_row(std::string_view symbol);

}  // namespace streamsan::api
