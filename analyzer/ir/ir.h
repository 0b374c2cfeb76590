// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream IR: what is left of a function when only streams, events, memory and the host's touches of it matter.
//
// The lowering (lowering/) turns the Clang CFG of one function into a Function of this IR; the analysis (analysis/)
// knows nothing of Clang. Between the two stands this header, so that either can be read, tested and replaced alone,
// and so that a function of another translation unit can be read from a file: its summary is its stream IR (text.h).
//
// THE MODEL
//   A Place is an access path: a variable, then fields, indices and dereferences. `this.streams_[i]`.
//   A Place holds a value. Values are not named here: the analysis gives each place a value at each program point.
//   An Expr is a scalar expression without side effects, kept as text with the places it reads. Two uses of one Expr
//   are equal if those places hold the same values; two constants are equal or not. It versions indices: `buffers[i]`
//   before and after `++i` is one Place with one Expr, whose `i` has another value. An Operand is how an operation
//   names what it uses: the value held by a place, the address of a place, one of the default streams, or something
//   unknown. A pointer operand may carry an offset; its Expr says how many bytes a step is. An Op is one effect, in the
//   terms of ordering/: enqueue, record, wait, synchronise, allocate, free, host access.
//
//   Memory is named by pointer values. `float* p` of cudaMalloc: the operand is the value of the place p. A local array
//   `float h[4]` or an object's own bytes: the operand is the address of the place h. The heap block of a container v
//   (std::vector, thrust::device_vector, unique_ptr) is the value of the place `v.$data`; growing or destroying v ends
//   it. Names with `$` cannot be spelled in C++ and stand for state that has no name there (hidden.def).
//
// WHAT IT LOSES, and in which direction it errs
//   A callee that is not known is an Escape of its arguments and, unless it cannot touch CUDA, a MaySync. Both make the
//   analysis silent about what they touch: they may hide a race and never invent one.
//   A Function that could not be lowered whole says so (`incomplete`); no findings come from it.
//
// Ids are indices into the Function's own tables and mean nothing in another one. Nothing here owns Clang memory: Site
// keeps raw encodings of source locations, valid as long as the translation unit's SourceManager.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ordering/types.h"

namespace streamsan::analyzer::ir {

enum class PlaceId : std::uint32_t {};
enum class ExprId : std::uint32_t {};
enum class SiteId : std::uint32_t {};
enum class BlockId : std::uint32_t {};

inline constexpr PlaceId kNoPlace{UINT32_MAX};
inline constexpr ExprId kNoExpr{UINT32_MAX};
inline constexpr SiteId kNoSite{UINT32_MAX};

/// What a place can hold, as far as the analysis cares.
enum class TypeKind : std::uint8_t {
  Other,    ///< not tracked
  Integer,  ///< scalars: indices, sizes, conditions
  Pointer,  ///< to device, host or unknown memory; references to objects are resolved to places, not pointers
  Stream,   ///< cudaStream_t, CUstream, hipStream_t; wrappers are Objects with a Stream inside
  Event,
  Graph,   ///< cudaGraph_t, cudaGraphExec_t
  Object,  ///< a class, struct, array or container
};

struct Place {
  enum class Kind : std::uint8_t {
    Local,      ///< a local variable, static locals excluded
    Parameter,  ///< `number` is its position; a reference parameter is the caller's place itself
    This,       ///< the object a member function was called on
    Global,     ///< namespace scope, static members, static locals, and the `$` pseudo variables; `name` is qualified
    Temporary,  ///< a value without a name: a call's result, a temporary object
    Field,      ///< `name` is the field's own name, `owner` the qualified class; of `base`
    Index,      ///< element `index` of the array, vector, std::array `base`
    Deref,      ///< what the pointer in `base` points to
  };
  Kind kind = Kind::Local;
  TypeKind type = TypeKind::Other;
  std::string name;          ///< shown to users; never empty for variables and fields
  std::string owner;         ///< Field: the qualified name of the class
  std::uint32_t number = 0;  ///< Parameter: position. Local, Temporary: tells equal names apart. Global: kOfThisFile
  PlaceId base = kNoPlace;   ///< Field, Index, Deref
  ExprId index = kNoExpr;    ///< Index
  bool reference = false;    ///< Parameter: of reference type
  bool inlined = false;      ///< Local, Temporary: of a callee; only in closed functions
  friend bool operator==(const Place&, const Place&) = default;
};

struct Expr {
  std::string text;                      ///< as in the source, white space normalised, casts and parentheses dropped
  std::vector<PlaceId> uses;             ///< integer places read
  std::optional<std::int64_t> constant;  ///< known value
  std::uint32_t unit = 0;                ///< of an index or offset: bytes that one step is; 0: not known
  friend bool operator==(const Expr&, const Expr&) = default;
};

struct Operand {
  enum class Kind : std::uint8_t {
    None,             ///< the op has no such operand
    Value,            ///< the value held by `place`
    Address,          ///< the address of `place`: its bytes, when used as memory
    Null,             ///< nullptr; for memory: no memory
    DefaultStream,    ///< stream 0 as this translation unit means it (Function::per_thread_default_stream)
    LegacyStream,     ///< cudaStreamLegacy
    PerThreadStream,  ///< cudaStreamPerThread
    Number,           ///< the integer that `offset` is worth: only what is assigned, passed or returned, or a device
    Unknown,          ///< something the lowering could not name
  };
  Kind kind = Kind::None;
  PlaceId place = kNoPlace;
  ExprId offset = kNoExpr;  ///< memory only: `p + offset`, in steps of the Expr's unit; absent: no offset
  friend bool operator==(const Operand&, const Operand&) = default;
};

enum class Mode : std::uint8_t { Read, Write, ReadWrite, Atomic, Unknown };  ///< Unknown: may do anything

enum class Certainty : std::uint8_t { No, Perhaps, Yes };

/// The part of the memory behind its pointer that a kernel leaves alone, as its indices and conditions say.
struct Part {
  enum class Kind : std::uint8_t {
    Whole,    ///< nothing: it begins where the pointer points. Of all that is no kernel, too
    Unknown,  ///< nobody knows; it is somewhere in the first `bytes`. Absent: it was given a pointer
    Inside,   ///< the first `bytes`; absent: the first rows, of a length that the launch says
    Single,   ///< all but the element at `bytes`; absent: all but one somewhere, or but the ends
    From,     ///< what is in front of where the launch says, by those of its integers whose bits `arguments` has; by no
              ///< bit: in a way that is not known
  };
  Kind kind = Kind::Whole;
  std::optional<std::int64_t> bytes;
  std::uint32_t arguments = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

/// Memory touched by an enqueued operation, or by the host.
struct Access {
  Operand memory;
  Mode mode = Mode::Unknown;
  ExprId bytes = kNoExpr;  ///< size, where the call states one
  bool pinned = false;     ///< the memory is known by type or call to be pinned host memory
  bool pageable = false;   ///< the same of pageable host memory: the block of a std::vector
  bool by_data = false;    ///< of a kernel: only at indices, or under conditions, that it reads from memory
  Part part;
  std::optional<bool> on_host;  ///< what the call itself says (cudaMemcpyKind, cuMemcpyDtoH)
  /// What of the access the kernel of a programmatic launch does before it has waited for the grid in front.
  Certainty before_wait = Certainty::No;
  Mode early = Mode::Unknown;   ///< unless before_wait is No
  SiteId early_site = kNoSite;  ///< where, in the kernel; not part of the text form
  friend bool operator==(const Access&, const Access&) = default;
};

/// What an Enqueue is. The words of messages follow from it.
/// Communication: a call of a library that can be put into a group, which enqueues it when it ends. A SyncStream with
/// Library is the waiting of a library for its own results: not asked for, and perhaps left out (in a capture).
enum class Work : std::uint8_t { Kernel, Copy, Fill, Library, Communication, HostFunction, GraphLaunch, Other };

enum class OpKind : std::uint8_t {
  // Values. `target` is the place written.
  Assign,  ///< target := source (place by place for objects: copies and moves of wrappers)
  Fresh,   ///< target := a value nothing is known of; for integers a new version

  // Objects. `target` receives the handle or pointer.
  CreateStream,   ///< stream_kind; None: not known
  CreateEvent,    ///< timing
  DestroyHandle,  ///< operand `source`: a stream or an event
  Allocate,       ///< memory (MemoryKind); `stream` for stream-ordered memory and for tensors
  Free,           ///< operand `source`; memory says which free it is; `stream` for cudaFreeAsync and for tensors
  EndOfLife,  ///< host memory of `source` ends: scope left, temporary died, container grew, delete; `detail` says how

  // Order.
  Enqueue,  ///< work, stream, accesses, form
  Record,   ///< event, stream
  Wait,     ///< stream waits for event
  SyncStream,
  SyncEvent,
  SyncDevice,
  QueryStream,  ///< may succeed: may tell the host
  QueryEvent,
  Elapsed,    ///< event (start), event2 (end)
  KeepAlive,  ///< record_stream: memory of `source` is kept until `stream` is done
  CaptureBegin,
  CaptureEnd,
  SwapCaptureMode,  ///< the thread's capture mode and what `source` points to change places
  GroupBegin,       ///< ncclGroupStart: work of kind Communication is enqueued where the outermost group ends
  GroupEnd,
  SetDevice,  ///< another device becomes the current one, `source`: its number; `detail`: that, if it is a constant

  // Host.
  HostAccess,  ///< accesses, by the host, now
  Post,        ///< accesses that a message-passing library makes from now on, until the request `stream` is complete
  Complete,    ///< the host has waited for the request `stream`; Unknown: for all of them

  // The rest.
  Call,     ///< callee, arguments, target = result. Removed by the inliner
  Return,   ///< source: the value returned. Ends a block; removed by the inliner
  Escape,   ///< source is given to code that is not known: forget what it holds and reaches
  MaySync,  ///< a callee that is not known may have synchronised anything
};

/// Which of the three interfaces has the function that a call names.
enum class Api : std::uint8_t { None, Runtime, Driver, Hip };

/// Where in the source, and what stands there.
struct Site {
  /// What the program does there; `text` is worded accordingly.
  enum class Kind : std::uint8_t {
    Call,
    Launch,    ///< of a kernel
    ScopeEnd,  ///< a variable or a member goes out of scope: its destructor's call is written nowhere
  };
  Kind kind = Kind::Call;
  std::string file;        ///< as clang names it
  std::uint32_t line = 0;  ///< 1-based; 0: not known
  std::uint32_t column = 0;
  std::string function;     ///< the enclosing function, as shown to users
  std::string text;         ///< what the message calls it: "kernel 'scale'", "'buffer' goes out of scope"
  std::uint32_t begin = 0;  ///< raw clang::SourceLocation of the whole call, in the file, macros expanded; 0: none
  std::uint32_t end = 0;    ///< of its last token
  /// Raw location of the enclosing statement in its block: a line can be put before it.
  std::uint32_t statement = 0;
  /// Raw location of the statement's last token, the `;` if there is one: a line can be put after it.
  std::uint32_t statement_end = 0;
  std::uint32_t stream_begin = 0;  ///< where the stream argument stands or should be put; 0: there is no such place
  std::uint32_t stream_end = 0;    ///< last token of the stream argument present; 0: insert at stream_begin
  std::string stream_prefix;       ///< put before an inserted stream: ", 0, "
  bool in_macro = false;           ///< the call is written by a macro's body: no fix-it is certain
  bool by_class = false;           ///< a virtual call that is taken to run what stands behind it; not in the text form
  Api api = Api::None;             ///< of the function called
  std::uint32_t leg = kNoLeg;      ///< of a made-up life (ClassHarness): which of its calls; not in the text form
  static constexpr std::uint32_t kNoLeg = UINT32_MAX;
  SiteId call = kNoSite;  ///< after inlining: the call through which the caller came here
};

enum class Form : std::uint8_t { Asynchronous, Synchronous };

struct Op {
  OpKind kind = OpKind::Escape;
  SiteId site = kNoSite;
  PlaceId target = kNoPlace;
  Operand source;
  Operand stream;
  Operand event;
  Operand event2;
  std::vector<Access> accesses;

  Work work = Work::Other;
  Form form = Form::Asynchronous;
  std::string name;    ///< API or kernel: "cudaMemcpyAsync", "scale"
  std::string detail;  ///< EndOfLife: "goes out of scope", "is resized"; SetDevice: see there
  std::optional<ordering::StreamKind> stream_kind;  ///< CreateStream
  std::optional<bool> timing;                       ///< CreateEvent
  std::optional<ordering::MemoryKind> memory;       ///< Allocate, Free; EndOfLife: kind of the memory if known
  /// Allocate, Free: memory of a caching allocator, reused in the order of its own stream. Enqueue: a copy between
  /// tensors, of which it is not known whether one is on the host.
  bool tensor = false;
  bool implicit_stream = false;  ///< Enqueue, Record...: no stream was written and the API has a place for one
  bool unchecked = false;        ///< the call's error code is dropped
  bool relaxed = false;          ///< CaptureBegin: in relaxed mode, or in one that is not known
  bool pooled = false;           ///< CreateStream: a pool keeps it. Allocate: what stands for a block of a pool
  bool of_object = false;        ///< DestroyHandle: by the destructor of the object that holds it
  bool transfers = false;        ///< Enqueue: of a tensor, perhaps between host and device
  bool of_tensors = false;       ///< Enqueue: done by the host, at once, if the memory of its tensors is the host's
  bool limited = false;          ///< Enqueue of a kernel: it is given how much there is, which is no argument here
  bool for_value = false;        ///< Wait for a word or semaphore, whose value work submitted later may set
  bool host_only = false;        ///< HostAccess of a function that cannot be given memory of the device
  /// Enqueue of a kernel that may begin before the kernel in front of it in its stream ends (R-LCH-02). What it does
  /// about that: it waits for the grid in front; it lets its own dependents begin before it has waited.
  Certainty programmatic = Certainty::No;
  Certainty waits = Certainty::No;
  Certainty triggers_first = Certainty::No;

  std::string callee;  ///< Call: USR
  std::vector<Operand>
      arguments;   ///< Call: by position, references as Address; a kernel: its integers but limits, as offsets
  Operand object;  ///< Call: what `this` is, as Address

  /// Copies of one op (paths.h) have the same, their number in the function as it was; kNoOrigin: it has no copies.
  std::uint32_t origin = kNoOrigin;
  static constexpr std::uint32_t kNoOrigin = UINT32_MAX;
  friend bool operator==(const Op&, const Op&) = default;
};

struct Block {
  std::vector<Op> ops;
  std::vector<BlockId> successors;  ///< condition: [0] where it holds, [1] where not
  ExprId condition = kNoExpr;       ///< of a two-way branch, where it is a scalar expression
  bool loop_head = false;           ///< target of a back edge
  friend bool operator==(const Block&, const Block&) = default;
};

/// One function. blocks[0] is the entry; a block without successors ends it: with a Return, or by abort or throw.
struct Function {
  std::string usr;   ///< Clang's Unified Symbol Resolution: equal across translation units
  std::string name;  ///< qualified, as shown to users
  std::vector<Place> places;
  std::vector<Expr> exprs;
  std::vector<Site> sites;
  std::vector<Block> blocks;
  std::vector<PlaceId> parameters;
  bool per_thread_default_stream = false;
  /// Not for callers to call when they like: a constructor, a destructor, an assignment, a method that is not public.
  bool hidden = false;
  std::string incomplete;  ///< why it could not be lowered whole; empty: it was
  SiteId site = kNoSite;   ///< its declaration

  /// Hash-consing: an equal place or expression has one id. Sites are not compared: each gets an id of its own.
  PlaceId add(Place place);
  ExprId add(Expr expr);
  SiteId add(Site site);

  [[nodiscard]] const Place& operator[](PlaceId id) const { return places[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Expr& operator[](ExprId id) const { return exprs[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Site& operator[](SiteId id) const { return sites[static_cast<std::size_t>(id)]; }

  /// "this->streams_[i]", as a person writes it.
  [[nodiscard]] std::string spell(PlaceId place) const;
  [[nodiscard]] std::string spell(const Operand& operand) const;

  /// What add() remembers: hash to id. Tables may be changed behind its back.
  struct Index {
    std::unordered_multimap<std::size_t, std::uint32_t> ids;
    std::size_t size = 0;  ///< how much of the table is in `ids`
  };
  Index place_index;
  Index expr_index;
};

/// A handle kept in a class: if every store to the field that the translation unit shows creates the handle, then two
/// such fields hold two different handles.
struct HandleField {
  bool owned = false;   ///< every store seen creates, destroys or clears it
  bool copied = false;  ///< objects are copied field by field: two of them may hold one handle in it
  std::optional<ordering::StreamKind> stream_kind;
  std::optional<bool> timing;
  bool perhaps_null = false;  ///< it creates it, but perhaps not before each use
  bool passed_on = false;     ///< its value is returned, copied or given to code that is no model's
  bool pooled = false;  ///< not owned, but every store seen takes it from a function that gives out streams of its own
  bool unset = false;   ///< nobody gives it a stream: it is null, as its class says
  Site made;            ///< where it is created or taken first; line 0: not known
};

/// What a place holds into which every store that is seen puts memory of one kind.
struct KeptMemory {
  ordering::MemoryKind kind = {};
  Site made;  ///< where it is allocated; line 0: at several places, or out of sight
};

/// All functions known to an analysis: this translation unit's and those read from summaries.
struct Program {
  std::map<std::string, Function> functions;  ///< by USR
  std::map<std::string, HandleField> fields;  ///< by "Class::field"
  std::map<std::string, KeptMemory> memory;   ///< of fields that hold one kind (field_memory.h)
};

const char* name(OpKind kind);  ///< "enqueue": as in the text form
const char* name(Work work);
const char* name(Mode mode);

}  // namespace streamsan::analyzer::ir
