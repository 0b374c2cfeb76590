// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace: what the recorder in the guest writes and the judge reads. One file for one process.
//
//   +--------------------+ 0
//   | FileHeader         |   written by the recorder; `consumed` and `judge_attached` by the judge
//   | driver functions   |   their names, in the order of Record::api (format 7)
//   +--------------------+ kHeaderBytes; up to format 6 kOldHeaderBytes
//   | chunk 0, 1 MiB     |   16,384 slots of 64 bytes
//   | chunk 1            |
//   | ...                |   a chunk is allocated on disk before it is used, so a full disk is an error code and
//   +--------------------+   never a SIGBUS in the guest
//
// FUNCTIONS. Record::api is a row of the recorder's own table of driver functions, so a trace carries the names of that
// table. A reader finds its own row by the name (functions.h); its table may have more rows, fewer, or others. Before
// format 7 there was one table only, which functions.h knows by its hash.
//
// The file is mapped shared by both sides. It is a ring in effect: a judge that keeps up punches consumed chunks out of
// the file, so disk use stays at a few chunks; a judge that falls behind, or is absent, leaves them in the file, which
// grows (spills). Nothing is dropped silently: if the file cannot grow the recorder stops recording, says so in
// FileHeader::end and on stderr, and the guest goes on.
//
// ORDER. A slot's position is the order of the call it describes. `reserved` is advanced by one atomic add, by 1 + n
// for a record with n continuation slots, so positions are total over all threads and cost no lock:
//   * RecordPoint::End rows (creates, enqueues, successful queries) reserve after the real call returned;
//   * RecordPoint::Begin rows (frees, destroys, blocking calls, host functions) reserve before the real call, fill in
//   the record, and
//     publish it (or cancel it) when the call has returned. A blocking call publishes a second record, CallEnd, when it
//     has returned; the edge to the host belongs there. Synchronisations are published before the real call, so that
//     the judge does not wait with them: whether they succeeded stands in the CallEnd.
// Any point between call and return is a legal place for a call that other threads do not wait for, so this order
// agrees with every order the program can rely on.
//
// PUBLICATION. Record::state is written last, with release order. 0 means reserved and not yet published: the reader
// waits there (the call is still running), and skips it once the process is gone. A record never spans two chunks: a
// writer whose reservation does fills it with Pad records and reserves again.
//
// Crash safety: the pages belong to the file, so what was published survives SIGKILL of the guest. A trace without
// kEnded flag is complete up to its last published record.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace streamsan::trace {

inline constexpr std::uint64_t kMagic = 0x31656361'72747353ull;  // "Sstrace1"
inline constexpr std::uint32_t kVersion = 7;
inline constexpr std::uint32_t kOldestVersion = 1;  ///< still read: it lacks what is marked "format 2" below
inline constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;  ///< whole pages wherever CUDA runs
inline constexpr std::uint32_t kCarriesFunctionsSince = 7;
inline constexpr std::size_t kOldHeaderBytes = 4096;                ///< up to format 6
inline constexpr std::size_t kSlotBytes = 64;
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
inline constexpr std::size_t kChunkSlots = kChunkBytes / kSlotBytes;
inline constexpr std::size_t kMaxChunks = 262144;  ///< 256 GiB of trace
inline constexpr unsigned kRecordWords = 6;
inline constexpr unsigned kContinuationWords = 8;
inline constexpr unsigned kMaxContinuations = 255;

/// Why a trace ends. Written once by the recorder.
enum class End : std::uint32_t {
  Running = 0,   ///< not ended: the process runs, or died
  Exited = 1,    ///< normal exit of the process
  NoSpace = 2,   ///< the file could not grow; FileHeader::end_errno says why
  TooLong = 3,   ///< kMaxChunks reached
  Internal = 4,  ///< the recorder switched itself off
};

/// How the bytes of kernels are found in this process.
enum class Footprints : std::uint32_t {
  Undecided = 0,  ///< no kernel was launched yet, or format 1
  Inferred = 1,   ///< from pointers among the arguments
  Measured = 2,   ///< first launches are measured on the GPU
};
inline constexpr std::size_t kAskedWords = 32;

/// FileHeader::recorded_with: options that decide which records there are. 0: a recorder that did not tell.
enum RecordedWith : std::uint32_t {
  kOptionsTold = 1,  ///< set by every recorder that tells
  kWithSyncs = 2,    ///< ClockRead and HostIdle
  kWithTimings = 4,  ///< GpuTime, if CUPTI could be used: a Message says why not
};
/// Is it known of FileHeader::recorded_with that the option was off?
constexpr bool recorded_without(std::uint32_t recorded_with, RecordedWith option) {
  return (recorded_with & kOptionsTold) != 0 && (recorded_with & option) == 0;
}

struct FileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t slot_bytes;
  std::uint64_t chunk_bytes;
  std::uint32_t pid;
  std::uint32_t api_rows;       ///< api::kRowCount of the recorder
  std::uint64_t api_hash;       ///< hash of the names of its rows, see api::table_hash()
  std::uint64_t start_time_ns;  ///< CLOCK_REALTIME
  std::atomic<std::uint64_t> reserved;  ///< slots handed out
  std::atomic<std::uint64_t> consumed;  ///< slots the judge has read; only for statistics
  std::atomic<std::uint32_t> judge_attached;
  std::atomic<std::uint32_t> end;  ///< End
  std::atomic<std::uint32_t> end_errno;
  std::atomic<std::uint32_t> cuda_initialised;  ///< cuInit was seen to succeed
  char executable[1024];                        ///< path, NUL-terminated, cut if longer
  char command_line[2048];                      ///< arguments separated by NUL, cut if longer

  // Format 2: measured footprints.
  std::atomic<std::uint64_t>
      asked[kAskedWords];                   ///< the judge wants the next launch of these functions measured: bit
                                            ///< (function id mod 64 kAskedWords); the recorder clears it once it was
  std::atomic<std::uint32_t> asks;          ///< set by the judge after it set a bit, and never cleared: a cheap test
  std::atomic<std::uint32_t> footprints;    ///< Footprints, the mode in force, by the recorder
  std::atomic<std::uint32_t> measured;      ///< launches measured so far
  std::atomic<std::uint32_t> learned;       ///< distinct footprints known so far
  std::atomic<std::uint64_t> measuring_ns;  ///< time launches took longer because they were measured

  std::uint32_t recorded_with;  ///< RecordedWith, when recording began; 0 in traces of format 3 and of older recorders

  // Format 7: the names of the driver functions, `api_rows` of them, each ended by a NUL.
  std::uint32_t header_bytes;     ///< where chunk 0 begins
  std::uint32_t functions_at;     ///< offset of the names in the file
  std::uint32_t functions_bytes;  ///< with the NULs
};
static_assert(sizeof(FileHeader) <= kOldHeaderBytes);
static_assert(offsetof(FileHeader, header_bytes) == 3436);  // other readers know it
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

enum class State : std::uint32_t {
  Reserved = 0,  ///< not yet published
  Published = 1,
  Cancelled = 2,  ///< the real call failed: it had no effect
};

/// What a record says. `w` below are Record::w; "ctx" is the raw CUcontext current at the call (0: unknown or not
/// needed); "stream" is the raw handle as passed, with 0 already resolved by the symbol to 1 (legacy) or 2
/// (per-thread). Sizes are bytes, addresses raw.
enum class Kind : std::uint8_t {
  Pad = 0,  ///< filler before a chunk boundary
  // Definitions: made before the first record that refers to them, by the same thread.
  Module,    ///< w0 load bias, w1 lowest mapped address, w2 highest; continuation: path, then build-id bytes
             ///< w3 length of path, w4 length of build-id
  Stack,     ///< w0 stack id, w1 number of frames, w2 number of Python frames (0 before format 5); continuation: return
             ///< addresses, innermost first, then the ids of the Python frames, innermost first. They come behind and
             ///< not in between: where a frame of the interpreter stands for one of Python's the recorder does not know
  Function,  ///< w0 function id, w1 raw CUfunction, w2 length of name; continuation: mangled name (cut at 2,000 bytes)
  Unmodelled,  ///< w0 calls counted so far (a later record of the same symbol replaces it); w1 length; w2 1 if the
               ///< table does not have the name; continuation: symbol. Written when the count of a function with
               ///< EffectKind::Later reaches a power of two, and at exit for each of them that was called, and for each
               ///< function called that the table does not have
  Message,     ///< w0 length; continuation: text of a warning of the recorder

  // Operations and their neighbours.
  Launch,  ///< w0 stream, w1 ctx, w2 function id, w3 number of device threads, w4 hash of all argument bytes and
           ///< of grid and block, w5 number of pointer words; continuation: pointer words, see pointer_word(), and
           ///< with kHasFootprint one word more: the id of a Footprint
           ///< flags: kProgrammatic, kHasFootprint, kMeasured, kWaits
  Copy,    ///< w0 stream, w1 ctx, w2 dst, w3 src, w4 width in bytes, w5 1 if a shape follows, else 0
           ///< flags: direction and form; continuation if w5 != 0: dst pitch, src pitch, height, dst slice bytes,
           ///< src slice bytes, depth, unused, unused. A side that is an array has address 0
  Fill,    ///< w0 stream, w1 ctx, w2 dst, w3 width in bytes, w4 pitch, w5 height; flags: form
  HostFunction,    ///< w0 stream, w1 ctx
  StreamAction,    ///< w0 stream, w1 ctx
  StreamJoinsAll,  ///< w0 stream, w1 ctx
  Alloc,           ///< w0 address, w1 bytes, w2 ordering::MemoryKind, w3 stream (DeviceAsync), w4 ctx
                   ///< flags: kVariable
  Free,            ///< w0 address, w1 bytes or 0, w2 FreeKind, w3 stream (FreeKind::Async), w4 ctx
  StreamCreate,   ///< w0 handle, w1 1 if non-blocking, w2 ctx, w3 unique id (cuStreamGetId); also written when a handle
                  ///< is met whose creation was not seen
  StreamDestroy,  ///< w0 handle
  EventCreate,    ///< w0 handle, w1 flags
  EventDestroy,   ///< w0 handle
  EventRecord,    ///< w0 stream, w1 ctx, w2 event, w3 flags
  EventWait,      ///< w0 stream, w1 ctx, w2 event, w3 flags
  SyncStream,     ///< w0 stream, w1 ctx; the snapshot: the edge to the host is at CallEnd
  SyncEvent,      ///< w0 event
  SyncContext,    ///< w0 ctx
  CallEnd,        ///< a blocking call of this thread has returned: w0 position of its record. Cancelled: it failed
                  ///< format 4: w1 and w2 when it was made and when it had returned, CLOCK_MONOTONIC nanoseconds; 0: not
                  ///< told
  QueryStream,    ///< w0 stream, w1 ctx: the query succeeded
  QueryEvent,     ///< w0 event: the query succeeded
  CaptureBegin,   ///< w0 stream, w1 ctx
  CaptureEnd,     ///< w0 stream, w1 ctx, w2 graph handle or 0
  GraphInstantiate,  ///< w0 exec handle, w1 graph handle
  GraphLaunch,       ///< w0 stream, w1 ctx, w2 exec handle
  Unload,            ///< w0 module or library handle
  ContextDestroy,    ///< w0 ctx
  Init,              ///< cuInit succeeded
  NameStream,        ///< w0 handle, w1 length; continuation: name

  // Definitions again; trace format 2.
  Footprint,  ///< the bytes a launch touched: w0 footprint id, w1 number of pieces here, w2 FootprintFlags, w3 1 if
              ///< more pieces follow in a further record of the same id; continuation: the pieces, kPieceWords each,
              ///< see Piece
  Arguments,  ///< what a launch was given, for those who can compute its bytes from its code: w0 hash (w4 of the
              ///< Launch), w1 function id, w2 number of argument bytes; continuation: 3 words grid x | y << 32, grid z
              ///< | block x << 32, block y | block z << 32, then the bytes, each parameter at its offset

  // What the host does to memory that is lent to the GPU, and what the program tells by annotations; trace format 3.
  HostAccess,  ///< the host touched memory while an operation that uses it was perhaps under way: w0 address, w1 bytes,
               ///< w2 AccessWay, w3 1 if it wrote, w4 length of name; continuation: for AccessWay::Call the function of
               ///< libc that was called. The stack ends where the access is made. Written before the access
  HostFree,    ///< host memory that is not CUDA's to free goes away: w0 address, w1 bytes, w2 HostFreeWay, w3 length of
               ///< name; continuation: the function of libc that was called. Written before it goes
  BlockAlloc,  ///< a pool of the program hands out a block: w0 address, w1 bytes, w2 stream, w3 ctx; flags: kOnHost,
               ///< kUntold
  BlockFree,   ///< a block goes back to its pool: w0 address, w1 bytes or 0, w2 stream, w3 ctx; flags: kOnHost, kUntold
  BlockUse,    ///< the pool knows that the block is used in one more stream (record_stream): w0 address, w1 unused,
               ///< w2 stream, w3 ctx
  Signal,      ///< what was submitted to the stream up to now comes before what follows the next Await of the object:
               ///< w0 stream, w1 ctx, w2 object; flags: kOnHost
  Await,       ///< w0 stream, w1 ctx, w2 object; flags: kOnHost
  NameMemory,  ///< w0 address, w1 length; continuation: name
  CallFailed,  ///< a call that would have made work or order did not: w0 stream, or 0 if it has none or none that is
               ///< known, w1 ctx, w2 event, executable graph, kernel handle (CUfunction or CUkernel) or address (what a
               ///< copy or fill writes, what FreeAsync frees) or 0, w3 CUresult. The row is that of the call. Follows
               ///< what the call itself left: a cancelled record, a cancelled CallEnd. Not all are written of a row
               ///< that fails often

  // For those who ask which synchronisation is needed, and what it costs; trace format 4. ClockRead and HostIdle only
  // with the option syncs, GpuTime only with timings.
  ClockRead,  ///< the thread read a clock right after a blocking call, with no call of CUDA's in between: w0 length of
              ///< name; continuation: the function of libc that was called
  EventTime,  ///< the time between two events was asked for: w0 first event, w1 second event
  HostIdle,   ///< the host has not touched memory that an operation used (if the operation only reads it: has not
              ///< written it) since that was submitted; the whole range was protected: w0 address, w1 bytes, w2 position
              ///< of the operation's record, w3 0: written when an operation has taken the memory over that whoever
              ///< needs the first to be done must wait for as well, when it ends, or when the process does: no touch of
              ///< the host's needs to wait for that operation. w3 1: until now; the HostAccess that follows is the first
              ///< touch, none before it was missed, and those after it may be. At most one of each for an operation and a
              ///< range, no more after w3 0. No call: may stand in the middle of one of its thread
  GpuTime,    ///< when an operation ran on the GPU: w0 position of its record, w1 start, w2 end, CLOCK_MONOTONIC
              ///< nanoseconds. Written long after the operation, by no thread of the program (thread 0); of some there
              ///< is none, of a call that made several operations perhaps several: from the first start to the last end

  // A definition; trace format 5.
  PythonFrame,  ///< a line of Python that a call stack goes through: w0 id, w1 line or 0, w2 length of the function's
                ///< name (with its class from Python 3.11 on; cut at its end at kMostPythonFunction bytes), w3 length
                ///< of the file's name (cut at its beginning at kMostPythonFile bytes); continuation: both, in UTF-8

  // A definition; trace format 6.
  Context,  ///< a context was current to a thread for the first time: w0 ctx, w1 ordinal of its device. Perhaps behind
            ///< the first record that refers to it
};

inline constexpr std::size_t kMostPythonFunction = 1000;
inline constexpr std::size_t kMostPythonFile = 4000;

/// How the host came to touch memory.
enum class AccessWay : std::uint32_t {
  Instruction,  ///< an instruction of the program: the bytes are the first it touched
  Call,         ///< a function of libc was given the range
  Content,      ///< not seen itself: the bytes were others when the operation began than when it was submitted. Thread,
                ///< stack and row are those of the submission; the range is the first piece that differs
};
enum class HostFreeWay : std::uint32_t {
  Heap,   ///< free, realloc
  Unmap,  ///< munmap, mremap
  Frame,  ///< the function whose local variable it was has returned
};

inline constexpr Kind kLastKind = Kind::Context;

/// Is the record no operation, but something later records refer to?
constexpr bool is_definition(Kind kind) {
  return (kind >= Kind::Module && kind <= Kind::Message) || kind == Kind::Footprint || kind == Kind::Arguments ||
         kind == Kind::PythonFrame || kind == Kind::Context;
}

/// A set of bytes that a kernel touches in one way: `slices` times `rows` runs of `width` bytes, the rows `pitch`
/// apart, the slices `slice_pitch`. As it stands in the continuation of a Footprint record: six words, in this order.
struct Piece {
  static constexpr std::uint32_t kAbsolute = 0xffff;  ///< in `pointer`: `offset` is an address
  enum class Mode : std::uint8_t {
    Read = 0,
    Write = 1,
    Atomic = 2,  ///< only by atomic operations of the GPU, which do not race with one another
  };
  enum Flags : std::uint8_t {
    kWidened = 1,  ///< the kernel touched some of these bytes, not surely all: too many pieces were merged
  };

  std::uint16_t
      pointer;  ///< which of the launch's pointer words the offset is relative to, counted from 0; or kAbsolute
  Mode mode;
  std::uint8_t flags;
  std::uint32_t reserved;
  std::int64_t offset;  ///< bytes from that pointer
  std::uint64_t width;  ///< bytes
  std::uint32_t rows;
  std::uint32_t slices;
  std::uint64_t pitch;        ///< bytes; rows > 1
  std::uint64_t slice_pitch;  ///< bytes; slices > 1
};
inline constexpr std::size_t kPieceWords = 6;
static_assert(sizeof(Piece) == kPieceWords * 8);
inline constexpr std::size_t kMostPiecesPerRecord = kMaxContinuations * kContinuationWords / kPieceWords;

/// Words in front of the bytes of an Arguments record.
inline constexpr std::size_t kExtentWords = 3;

/// w2 of a Footprint record.
enum FootprintFlags : std::uint64_t {
  kIncomplete = 1,  ///< the kernel may have touched more: its pointers count as inferred accesses beside the pieces
};

enum class FreeKind : std::uint32_t { Device, Host, Unregister, Async, Unmap };

/// Record::flags
inline constexpr std::uint16_t kAsyncForm = 1;       ///< Copy, Fill: the asynchronous form of the call
inline constexpr std::uint16_t kDirectionShift = 1;  ///< Copy: api::Direction in bits 1..3
inline constexpr std::uint16_t kVariable = 1;        ///< Alloc: a module variable or an import was looked up: the same
                                                     ///< range met again is the same allocation
inline constexpr std::uint16_t kProgrammatic = 1;    ///< Launch: programmatic stream serialization attribute is set
inline constexpr std::uint16_t kHasFootprint = 2;    ///< Launch: a footprint is known
inline constexpr std::uint16_t kMeasured = 4;  ///< Launch: and it was measured in this very launch; else in an earlier
                                               ///< one that was given the same arguments
inline constexpr std::uint16_t kWaits = 8;     ///< Launch: a launch of this kernel did not end while it was waited for;
                                               ///< it may itself wait for what others write
inline constexpr std::uint16_t kOnHost = 1;    ///< BlockAlloc, BlockFree, Signal, Await: not in a stream: the calling
                                               ///< host thread itself
inline constexpr std::uint16_t kUntold = 2;    ///< BlockFree: the stream was not told: the one the block was handed out
                                               ///< to. BlockAlloc: neither a stream nor the host was told, and nothing
                                               ///< is known to be before it but what is before the block's uses. So for
                                               ///< the BlockFree of such a block
inline constexpr std::uint16_t kImplicitStream = 16;  ///< the program passed 0 or the function has no stream argument

struct Record {
  std::atomic<std::uint32_t> state;  ///< State
  Kind kind;
  std::uint8_t continuations;  ///< slots that follow and belong to this record
  std::uint16_t api;           ///< function that was called: its place among the names of the header
  std::uint16_t flags;
  std::uint16_t thread;  ///< small number of the host thread, from 1; 0: none; 0xffff: 65,535th and later
  std::uint32_t stack;   ///< id of a Stack record; 0: not captured
  std::uint64_t w[kRecordWords];
};
static_assert(sizeof(Record) == kSlotBytes);

/// One pointer among a kernel's arguments: address in the lower 52 bits (they hold every device address of today's
/// 64-bit platforms), parameter index in the 11 bits above (0x7ff: too large), and one bit if the parameter is larger
/// than a pointer: a structure, whose unused parts may hold pointers that were left there by earlier calls.
inline constexpr unsigned kPointerBits = 52;
inline constexpr std::uint64_t kUnknownParameter = 0x7ff;
inline constexpr std::uint64_t kInStructure = std::uint64_t{1} << 63;
constexpr std::uint64_t pointer_word(std::uint64_t parameter, std::uint64_t address, bool in_structure = false) {
  return (in_structure ? kInStructure : 0) |
         (parameter < kUnknownParameter ? parameter : kUnknownParameter) << kPointerBits |
         (address & ((std::uint64_t{1} << kPointerBits) - 1));
}
constexpr bool word_in_structure(std::uint64_t word) { return (word & kInStructure) != 0; }
constexpr std::uint64_t word_parameter(std::uint64_t word) { return word >> kPointerBits & kUnknownParameter; }
constexpr std::uint64_t word_address(std::uint64_t word) { return word & ((std::uint64_t{1} << kPointerBits) - 1); }

/// Special stream handles as they stand in records (CU_STREAM_LEGACY, CU_STREAM_PER_THREAD).
inline constexpr std::uint64_t kLegacyStream = 1;
inline constexpr std::uint64_t kPerThreadStream = 2;

}  // namespace streamsan::trace
