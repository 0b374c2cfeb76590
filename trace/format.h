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
//     the record, and publish it (or cancel it) when the call has returned. A blocking call publishes a second record,
//     CallEnd, when it has returned; the edge to the host belongs there. Synchronisations are published before the real
//     call, so that the judge does not wait with them: whether they succeeded stands in the CallEnd.
// A call that other threads do not wait for may take any place between its start and its return, so this order agrees
// with every order that the program can rely on.
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

namespace streamsan::ordering {
enum class MemoryKind : std::uint8_t;
}

namespace streamsan::trace {

inline constexpr std::uint64_t kMagic = 0x31656361'72747353ull;  // "Sstrace1"
inline constexpr std::uint32_t kVersion = 15;
inline constexpr std::uint32_t kOldestVersion = 1;  ///< still read; `since` in records.def says what old formats lack
inline constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;  ///< whole pages wherever CUDA runs
inline constexpr std::uint32_t kCarriesFunctionsSince = 7;
inline constexpr std::size_t kOldHeaderBytes = 4096;  ///< up to format 6
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
  kOptionsKnown = 1,  ///< set by every recorder that tells
  kWithSyncs = 2,     ///< ClockRead and HostIdle
  kWithThreads = 8,   ///< ThreadOrder
  kWithTimings = 4,   ///< GpuTime, if CUPTI could be used: a Message says why not
};
/// Is it known of FileHeader::recorded_with that the option was off?
constexpr bool recorded_without(std::uint32_t recorded_with, RecordedWith option) {
  return (recorded_with & kOptionsKnown) != 0 && (recorded_with & option) == 0;
}

struct FileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t slot_bytes;
  std::uint64_t chunk_bytes;
  std::uint32_t pid;
  std::uint32_t api_rows;               ///< api::kRowCount of the recorder
  std::uint64_t api_hash;               ///< hash of the names of its rows, see api::table_hash()
  std::uint64_t start_time_ns;          ///< CLOCK_REALTIME
  std::atomic<std::uint64_t> reserved;  ///< slots handed out
  std::atomic<std::uint64_t> consumed;  ///< slots the judge has read; only for statistics
  std::atomic<std::uint32_t> judge_attached;
  std::atomic<std::uint32_t> end;  ///< End
  std::atomic<std::uint32_t> end_errno;
  std::atomic<std::uint32_t> cuda_initialised;  ///< cuInit was seen to succeed
  char executable[1024];                        ///< path, NUL-terminated, cut if longer
  char command_line[2048];                      ///< arguments separated by NUL, cut if longer

  // Format 2: measured footprints.
  std::atomic<std::uint64_t> asked[kAskedWords];  ///< the judge wants the next launch of these functions measured: bit
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

  // Format 10: what earlier runs measured.
  std::atomic<std::uint32_t> known_earlier;  ///< launches that were not measured, because an earlier run had done so
};
static_assert(sizeof(FileHeader) <= kOldHeaderBytes);
static_assert(offsetof(FileHeader, header_bytes) == 3436);  // other readers know it
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

enum class State : std::uint32_t {
  Reserved = 0,  ///< not yet published
  Published = 1,
  Cancelled = 2,  ///< the real call failed: it had no effect
};

/// What a record says: see records.def, which has the words of each kind.
enum class Kind : std::uint8_t {
#define SS_RECORD(kind_, ...) kind_,
#include "records.def"
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

enum class Role : std::uint8_t {
  Definition,  ///< no operation, but something later records refer to
  Call,        ///< a call of the driver
  Remark,      ///< anything else
};
inline constexpr Role kRoles[] = {
#define SS_RECORD(kind_, role_, ...) Role::role_,
#include "records.def"
};
inline constexpr std::size_t kKinds = sizeof kRoles / sizeof kRoles[0];

constexpr bool is_definition(Kind kind) { return kRoles[static_cast<std::size_t>(kind)] == Role::Definition; }

/// A set of bytes that a kernel touches in one way: `slices` times `rows` runs of `width` bytes, the rows `pitch`
/// apart, the slices `slice_pitch`. As it stands in the continuation of a Footprint record: six words, in this order.
struct [[gnu::may_alias]] Piece {
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

/// Form of a copy whose bytes are not in one run: the continuation of a Copy record.
struct [[gnu::may_alias]] Shape {
  std::uint64_t dst_pitch;  ///< bytes from row to row
  std::uint64_t src_pitch;
  std::uint64_t height;
  std::uint64_t dst_slice;  ///< bytes from slice to slice
  std::uint64_t src_slice;
  std::uint64_t depth;
  std::uint64_t unused[2];
};
static_assert(sizeof(Shape) == kSlotBytes);

/// When a copy of a batch reads its source.
enum class SourceOrder : std::uint32_t {
  Stream,      ///< in stream order
  DuringCall,  ///< before the call returns
  Any,         ///< from the call on, before the batch is complete
};

/// One part of a batch: moves `width` bytes of each row from the source to the destination. A part without a source
/// only writes, one without a destination only reads; an array that is not known is such a side.
struct [[gnu::may_alias]] BatchPart {
  std::uint64_t dst;
  std::uint64_t src;
  std::uint64_t width;
  std::uint64_t order;  ///< SourceOrder
  std::uint64_t dst_pitch;
  std::uint64_t src_pitch;
  std::uint64_t height;
  std::uint64_t dst_slice;
  std::uint64_t src_slice;
  std::uint64_t depth;
};
inline constexpr std::size_t kPartWords = sizeof(BatchPart) / 8;
inline constexpr std::size_t kMostPartsPerRecord = kMaxContinuations * kContinuationWords / kPartWords;

/// Grid and block of a launch, in front of the bytes of an Arguments record.
struct [[gnu::may_alias]] Extent {
  std::uint32_t grid[3];
  std::uint32_t block[3];
};
inline constexpr std::size_t kExtentWords = sizeof(Extent) / 8;

/// Footprint: footprint_flags.
enum FootprintFlags : std::uint64_t {
  kIncomplete = 1,  ///< the kernel may have touched more: its pointers count as inferred accesses beside the pieces
  kPromised = 2,  ///< the documents of the library that launches it say so: as sure as if this very launch was measured
};

/// What a node of a graph does.
enum class NodeKind : std::uint32_t {
  Empty,
  Kernel,
  Copy,
  Fill,
  Host,   ///< a host function
  Child,  ///< a child graph, whose nodes follow
  RecordEvent,
  WaitEvent,
  Alloc,
  Free,
  JoinsAll,     ///< waits for something that is not seen: a word in memory, an external semaphore
  Opaque,       ///< something else, or it cannot be read
  Disabled,     ///< of a GraphUpdate: does nothing from now on
  Enabled,      ///< and does what it did again
  Conditional,  ///< a conditional node, whose bodies follow (format 12; before it was Opaque)
  Body,         ///< a graph that it may run, whose nodes follow. Its handle is that of the graph plus one: no node's
};
/// Bits of the first word of an edge, in GraphEdges.
inline constexpr std::uint64_t kEdgeProgrammatic = std::uint64_t{1} << 63;
inline constexpr unsigned kEdgePortShift = 56;
inline constexpr std::uint64_t kEdgeNode = (std::uint64_t{1} << kEdgePortShift) - 1;

/// Two nodes of a graph, the second of which comes after the first: an element of GraphEdges.
struct [[gnu::may_alias]] Edge {
  std::uint64_t leaves;  ///< the first node, and how the edge leaves it
  std::uint64_t enters;  ///< the second node

  static constexpr Edge of(std::uint64_t from, std::uint64_t to, bool programmatic, std::uint64_t port) {
    return {(from & kEdgeNode) | port << kEdgePortShift | (programmatic ? kEdgeProgrammatic : 0), to & kEdgeNode};
  }
  [[nodiscard]] constexpr std::uint64_t from() const { return leaves & kEdgeNode; }
  [[nodiscard]] constexpr std::uint64_t to() const { return enters & kEdgeNode; }
  [[nodiscard]] constexpr bool programmatic() const { return (leaves & kEdgeProgrammatic) != 0; }
  [[nodiscard]] constexpr unsigned port() const {
    return static_cast<unsigned>((leaves & ~kEdgeProgrammatic) >> kEdgePortShift);
  }
};
inline constexpr std::size_t kMostEdgesPerRecord = kMaxContinuations * kSlotBytes / sizeof(Edge);

/// A thread, and the position of one of its records: an element of ThreadOrder.
struct [[gnu::may_alias]] ThreadPosition {
  std::uint64_t thread;  ///< 65535: all threads, and the position means nothing
  std::uint64_t position;
};

enum class FreeKind : std::uint32_t { Device, Host, Unregister, Async, Unmap };

/// Mark: what the name is of. Each has one name at a time, and the two do not end one another.
enum class MarkLevel : std::uint32_t {
  Part,  ///< a part of the run, as the program calls it
  Test,  ///< a test of a test runner
};

/// HostWaits: may the thread wait for the GPU, by what the program says of itself?
enum class HostWaitsState : std::uint32_t {
  Unwatched,  ///< nothing is said
  Forbidden,  ///< each wait is a fault
  Allowed,    ///< inside of a part in which they are forbidden
};

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
inline constexpr std::uint16_t kHasPromise = 32;  ///< Launch: the call that launches it promised something
inline constexpr std::uint16_t kAtStart = 1;  ///< EventRecord: by a launch, when its kernel begins. Older recorders set
                                              ///< neither: such an event counts as recorded behind the kernel
inline constexpr std::uint16_t kAtTrigger = 2;  ///< EventRecord: by a launch, when its kernel has triggered, or ended
inline constexpr std::uint16_t kOnHost = 1;     ///< BlockAlloc, BlockFree, Signal, Await: not in a stream: the calling
                                                ///< host thread itself
/// Await: of an object that nobody has signalled yet, everything submitted so far.
inline constexpr std::uint16_t kOrEverything = 8;
inline constexpr std::uint16_t kNoStream = 2;  ///< BlockFree: no stream stated: it is the one the block was handed out
                                               ///< to. BlockAlloc: neither a stream nor the host was stated, and only
                                               ///< what is before the block's uses is known to be before it. The same
                                               ///< for the BlockFree of such a block
/// BlockFree: the pool waits for the events that it recorded in this very call, before this record: each stands for a
/// BlockUse of its stream. BlockAlloc: the pool is one that does so.
inline constexpr std::uint16_t kOwnEvents = 4;
inline constexpr std::uint16_t kPutsOff = 32;  ///< BlockFree: the pool may record such events later as well, so nothing
                                               ///< is known of what it waits for
inline constexpr std::uint16_t kImplicitStream = 16;  ///< the program passed 0 or the function has no stream argument

/// A word of a record that holds a value of an enumeration.
template <class Enum>
struct [[gnu::may_alias]] WordOf {
  std::uint64_t raw;  ///< of a damaged trace any number

  WordOf() = default;
  // It is the value: NOLINTBEGIN(google-explicit-constructor)
  constexpr WordOf(Enum value) : raw(static_cast<std::uint64_t>(value)) {}
  constexpr operator Enum() const { return static_cast<Enum>(raw); }
  // NOLINTEND(google-explicit-constructor)
};
template <class Type>
struct WordType {
  using type = WordOf<Type>;
};
template <>
struct WordType<std::uint64_t> {
  using type = std::uint64_t;
};

/// The words of a kind of record by their names. They lie on Record::w, which is what may_alias allows. A kind that a
/// list follows has the type of the list's elements, too, Listed, and how many there are.
template <Kind kKind>
struct Words;
#define SS_RECORD(kind_, ...) \
  template <>                 \
  struct [[gnu::may_alias]] Words<Kind::kind_> {
#define SS_WORD(type_, name_, ...) WordType<type_>::type name_;
#define SS_LIST(type_, count_) \
  using Listed = type_;        \
  [[nodiscard]] std::uint64_t listed() const { return count_; }
#define SS_END(...) \
  }                 \
  ;
#include "records.def"

/// What all kinds begin with that are of a stream.
struct [[gnu::may_alias]] InStream {
  std::uint64_t stream;
  std::uint64_t context;
};

struct Record {
  std::atomic<std::uint32_t> state;  ///< State
  Kind kind;
  std::uint8_t continuations;  ///< slots that follow and belong to this record
  std::uint16_t api;           ///< function that was called: its place among the names of the header
  std::uint16_t flags;
  std::uint16_t thread;  ///< small number of the host thread, from 1; 0: none; 0xffff: 65,535th and later
  std::uint32_t stack;   ///< id of a Stack record; 0: not captured
  std::uint64_t w[kRecordWords];

  /// The words by the names that the kind has for them. The caller knows the kind.
  template <Kind kKind>
  Words<kKind>& as() {
    static_assert(sizeof(Words<kKind>) <= sizeof w);
    return *reinterpret_cast<Words<kKind>*>(w);
  }
  template <Kind kKind>
  const Words<kKind>& as() const {
    static_assert(sizeof(Words<kKind>) <= sizeof w);
    return *reinterpret_cast<const Words<kKind>*>(w);
  }
  /// The words of the kinds that begin with stream and context.
  InStream& in_stream() { return *reinterpret_cast<InStream*>(w); }
  const InStream& in_stream() const { return *reinterpret_cast<const InStream*>(w); }
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
