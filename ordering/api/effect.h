// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a driver function means for order and memory: the kinds of effects, and where the arguments are that matter.
// Part of row.h, which explains the table.
#pragma once

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
  Share,   ///< names memory, or an event, for other processes or devices: forwarded and counted. Nothing that this
           ///< process does is ordered by it
  Later,   ///< orders or touches memory, not modelled yet: forwarded, counted, named at the end

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

  ArrayCreate,    ///< array out, descriptor; of a mipmapped one the number of its levels. Memory without an address
  ArrayPart,      ///< part out, whole, number: a level or a plane has a handle of its own
  ArrayFree,      ///< cuArrayDestroy, cuMipmappedArrayDestroy: ends as cuMemFree does
  TextureCreate,  ///< texture or surface object out, what it is made of: a kernel that is given it reads or writes that

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
  /// The handle or pointer made (an out-parameter), destroyed, synchronised, launched or freed.
  Position object = kAbsent;
  Position dst = kAbsent;
  Position src = kAbsent;
  Position bytes = kAbsent;  ///< size in bytes; for fills the number of elements
  Position pitch = kAbsent;
  Position height = kAbsent;
  Position stream = kAbsent;  ///< explicit stream; absent: the default stream of the symbol
  Position event = kAbsent;
  Position flags = kAbsent;
  Position params = kAbsent;     ///< kernelParams (extra follows it where there is one); for FunctionLookup the name
  Position count = kAbsent;      ///< of a batch: how many parts; of an array: how many levels; of its part: the number
  Position dst_array = kAbsent;  ///< of a linear copy: the array, behind which stands the offset in it
  Position src_array = kAbsent;
  Position extents = kAbsent;  ///< first of gridX gridY gridZ blockX blockY blockZ
  std::uint8_t unit = 1;       ///< bytes per element of a fill
  Direction direction = Direction::ByAddress;
  CallForm form = CallForm::Asynchronous;
  RecordPoint point = RecordPoint::End;
  /// Later: may make order that is not seen; a process that calls it has no certain findings from then on. Of a kind
  /// that is modelled: the same in a trace of a recorder for which it was Later.
  bool hides_order = false;
  ContextEnd ends = ContextEnd::Counted;
  bool imported = false;  ///< EventCreate: another process has the event, too; what it does with it is not seen
  /// Share: the event that is an argument is given to other processes, which may record it.
  bool exports_event = false;
  bool switches_context = false;  ///< Pass: another context, perhaps of another device, becomes the current one
  /// Pass: the thread's capture mode and the one that argument 0 points to change places.
  bool swaps_capture_mode = false;
  bool destroys_graph = false;   ///< Pass: the executable graph that is argument 0 is gone
  Batch batch = Batch::None;     ///< StreamAction
  bool semaphores = false;       ///< StreamAction, StreamJoinsAll: signals, or waits for, external semaphores
  std::uint8_t word_bits = 0;    ///< StreamAction, StreamJoinsAll: writes, or waits for, a word of so many bits
  bool green = false;            ///< ContextRecord, ContextWait: of a CUgreenCtx
  bool prefetch = false;         ///< StreamAction: it only moves what everybody may touch as before
  bool runs_code = false;        ///< StreamAction: it launches a kernel, or uploads a graph, which may have kernels
  bool given_pool = false;       ///< AllocAsync: of a pool that is given, which may be another device's
  bool managed = false;          ///< GlobalLookup: the variable is a __managed__ one; else the driver must be asked
  bool makes_kernel = false;     ///< FunctionLookup: a CUkernel; else a CUfunction
  bool surface = false;          ///< TextureCreate: a surface object
  bool asks_event_time = false;  ///< Pass: asks for the time between the events that are arguments 1 and 2. It is no
                                 ///< order (R-EVT-10), but a wait in front of it may be for the time only
  std::string_view
      why{};  ///< for Pass, Share and Later: one clause, printed in the coverage page; else a remark, see noted()
};

}  // namespace streamsan::api
