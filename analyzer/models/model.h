// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function that is known by name does: its Model.
//
// The words are those of the one table of driver functions (ordering/api/row.h): an Effect with argument positions.
// Driver functions are read from that table itself; runtime functions have rows of the same shape in runtime.def, and a
// test compares each with the driver function it is made of, so that static analysis and run time cannot disagree. A
// function without a driver counterpart (library handles, wrapper classes, PyTorch, the C library's touches of host
// memory) has an Action.
//
// HOW TO ADD A FUNCTION: one row in the .def file of its library; a new Action only if its meaning is new, together
// with its lowering in lowering/host_models.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ir/ir.h"
#include "ordering/api/row.h"

namespace streamsan::analyzer {

/// Positions that are no argument. kAbsent (-1) means as in the table that there is no such operand.
inline constexpr int kObject = -2;     ///< the object of a member function; the object made, of a constructor
inline constexpr int kResult = -3;     ///< the value of the call
inline constexpr int kFirstBool = -4;  ///< the first argument of type bool, if there is one

/// Where a modelled call takes its stream from.
enum class StreamFrom : std::uint8_t {
  None,
  Argument,  ///< `stream` of the effect, or stream_argument (kObject: the object); not passed or null: the default
             ///< stream
  Typed,     ///< the first argument whose type is a stream (CUB, RMM, NCCL); none: the default stream
  Default,   ///< the default stream of the translation unit
  Handle,    ///< argument handle_argument (or the object): its `$stream`
  Current,   ///< `$current_stream` (PyTorch)
  Config,    ///< a field `stream` of the struct passed at config_argument (cudaLaunchKernelEx, CUlaunchConfig)
};

/// Effects beyond the table's.
enum class ActionKind : std::uint8_t {
  Effect,           ///< as the row says
  Nothing,          ///< known to have no effect on streams or tracked memory
  SetHandleStream,  ///< cublasSetStream(handle, stream)
  LibraryWork,      ///< cublasSgemm(handle, ...): enqueues on its stream; roles say what it touches. effect.form
                    ///< Synchronous: the host has waited for the stream when it returns
  Wrapper,    ///< the call's value is a stream (or event, pointer, view of a tensor) that its argument `value_argument`
              ///< or its object is; with stream_from Handle: that handle's `$stream`; with Default: the default stream
  Alias,      ///< cudaHostGetDevicePointer: its argument 0 receives another name of the memory at `value_argument`
  Container,  ///< a member of a container of host or device memory: `member` says which
  MakeCurrent,    ///< `$current_stream` := stream. member: None for setCurrentCUDAStream; for a guard Make at its
                  ///< constructor, Reset at reset_stream, End at its destructor, which restores what was before
  GetCurrent,     ///< getCurrentCUDAStream(): value of `$current_stream`
  TensorMake,     ///< a tensor allocated on the current stream
  TensorWork,     ///< an ATen operation on the current stream: roles say what it touches; its value is a new tensor of
                  ///< that stream, or with may_alias nothing is known of it. effect.form as with LibraryWork
  TensorCopy,     ///< to(), copy_(), cpu(): waits for its stream, unless non_blocking_argument is true or neither side
                  ///< is host memory
  KeepAlive,      ///< record_stream(stream): roles[0] names what is kept
  Elapsed,        ///< time from effect.event to the event effect.object
  Post,           ///< MPI_Isend, MPI_Irecv: as HostTouch, and on until the request, `value_argument`, is complete
  Complete,       ///< MPI_Wait: completes the request `value_argument`; -1: any, MPI_Waitall
  HostTouch,      ///< memcpy, memset, printf, std::accumulate ...: the host reads or writes memory by roles, now
  MayThrowAway,   ///< free, munmap, realloc: ends the host memory that roles[0] names
  SyncObject,     ///< stream.synchronize(), stream_view.synchronize(): synchronises the object's stream
  Communication,  ///< LibraryWork that a group holds back until it ends (NCCL)
  GroupBegin,     ///< ncclGroupStart()
  GroupEnd,       ///< ncclGroupEnd()
  SetDevice,      ///< another device becomes the current one: argument `value_argument`; none: not known which
  SwapCaptureMode,  ///< cudaThreadExchangeStreamCaptureMode(&mode); a guard that holds the mode: value_argument kObject
};

/// What a call does with the memory its argument points to. It concerns pointers, and containers and iterators by
/// their `$data`; of an argument of any other type (an integer in another overload) it says nothing.
struct Role {
  int argument = -1;  ///< or kObject, kResult
  ir::Mode mode = ir::Mode::Unknown;
  int bytes_argument = -1;
  bool host = false;     ///< known to be host memory
  bool to_end = false;   ///< this and all later arguments (printf)
  bool by_type = false;  ///< with mode Unknown: a pointer to const reads. The address of a scalar variable (alpha,
                         ///< beta) is no access: such are read during the call
};

/// An argument that points to pointers, in memory of the device: what is done to the memory behind each of them.
struct PointerTable {
  int argument = -1;
  ir::Mode mode = ir::Mode::Unknown;
  int count_argument = -1;
};

enum class Member : std::uint8_t {
  None,
  Make,  ///< constructor: allocates; roles say what it copies from
  Data,  ///< data(), get(), begin(): the pointer
  At,    ///< operator[], at(), front(), back(): an element
  Grow,  ///< resize, push_back, reserve, assign, shrink_to_fit: the block may move or end
  Swap,
  Release,  ///< release(): the block no longer belongs to the object
  Reset,    ///< reset(), operator= of an owner: the block ends
  End,      ///< destructor
};

struct Model {
  std::string name;  ///< qualified, as written in messages
  ActionKind action = ActionKind::Effect;
  /// Positions in this function's own signature, or kObject, kResult. Copy2D and Copy3D of the runtime name dst and src
  /// themselves; where `roles` is empty, src is a descriptor and what is copied is not known.
  api::Effect effect{};
  StreamFrom stream_from = StreamFrom::None;
  int stream_argument = -1;  ///< where effect.stream is not enough
  int handle_argument = -1;  ///< -1 with Handle: the object
  int config_argument = -1;
  int value_argument = -1;         ///< Wrapper; -1: the object
  int count_argument = -1;         ///< of a message: 0 elements are none
  int peer_argument = -1;          ///< of a message: a number below 0 is nobody, or anybody
  int kind_argument = -1;          ///< cudaMemcpyKind
  int symbol_argument = -1;        ///< the side of a copy that is a variable of the device
  int offset_argument = -1;        ///< and where in it, in bytes. Wrapper: the value is a part of its object that
                                   ///< begins where this argument says
  int non_blocking_argument = -1;  ///< TensorCopy: a bool; versions of to() differ: kFirstBool
  int null_argument = -1;  ///< if this argument is null, the call only asks for a size (CUB's temporary storage)
  int first_kernel_argument = -1;  ///< launches that are given the kernel's arguments one by one, from this position
  bool after_policy = false;  ///< Thrust: if argument 0 is an execution policy (policy()), positions begin behind it
                              ///< and the stream is the policy's; else the default stream
  std::vector<Role> roles;    ///< of copies and fills too, from the effect's positions
  std::vector<PointerTable> tables;  ///< LibraryWork: of which a run may know what they hold (interpreter/)
  Member member = Member::None;
  /// Container::Make, Effect allocations: kind made. TensorMake: the same where no device is named; absent: the
  /// device's.
  std::optional<ordering::MemoryKind> memory;
  std::optional<ordering::StreamKind> stream_kind;  ///< StreamCreate without flags
  std::optional<bool> timing;                       ///< EventCreate without flags
  bool per_thread = false;                          ///< a _ptds/_ptsz spelling
  bool may_block_pageable = false;  ///< an asynchronous copy, which pageable memory makes wait (R-CPY-14)
  bool caching = false;             ///< memory of a caching allocator: ir::Op::tensor
  bool may_alias = false;           ///< the value may share memory with the object (contiguous, reshape)
  bool transfers = false;           ///< TensorCopy, TensorWork: perhaps between host and device
  bool pooled = false;              ///< StreamCreate: a pool keeps the stream
  bool makes_handle = false;        ///< Nothing: argument 0 receives a library's handle, on the default stream
  bool uses_work_area = false;      ///< LibraryWork: writes memory that belongs to its handle, in any stream; without
                                    ///< this only what the program has given. SetHandleStream: the handle keeps that
  int work_area_argument = -1;      ///< Nothing: from now on the handle's memory is what this points to
  bool of_c_library = false;        ///< a function that belongs to no namespace: not if the program has its own
  bool host_only = false;           ///< HostTouch, Container: it cannot be given memory of the device
  bool works_on_host = false;       ///< makes_handle: what it is used for the host does, at once. LibraryWork: the host
                                    ///< may do it, by the handle that is given
  std::string maker_for_host;       ///< LibraryWork that works_on_host: the function that makes such handles
  ir::Api of_api = ir::Api::None;   ///< whose function it is: of CUDA's runtime, of the driver, of HIP
  std::string driver;               ///< the driver export this runtime function is made of; empty: none
  bool unsafe_in_capture = false;   ///< refused while this thread captures a stream in global mode, or not captured
                                    ///< though it looks so: synchronisation, queries, synchronous copies, allocation
};

/// An execution policy of Thrust, by its class.
enum class Policy : std::uint8_t {
  None,    ///< not a policy
  Host,    ///< thrust::host, thrust::seq: no stream
  Waits,   ///< thrust::device, thrust::cuda::par, par.on(s): the algorithm waits for its stream (R-LIB-10)
  NoWait,  ///< par_nosync, par_nosync.on(s)
};

/// How the lowering asks. Copies and moves of handles, tensors and containers are values, not calls: not asked for.
/// Overloads are distinguished by the number of arguments where a model says so.
struct Callee {
  std::string qualified;   ///< "cudaMemcpyAsync", "c10::cuda::CUDAStreamGuard::CUDAStreamGuard"; inline namespaces and
                           ///< template arguments dropped; destructors "A::~A", conversions "A::operator cudaStream_t"
  std::string class_name;  ///< "c10::cuda::CUDAStreamGuard"; empty: a free function
  std::string name;        ///< last component
  bool in_system_header = false;
  unsigned arguments = 0;
  /// A function of the program's own, which no library declares: it has a body in sight, or C++ linkage. What the C
  /// library has by that name is another function.
  bool own = false;
};

class Models {
 public:
  Models();  ///< the built-in models
  /// Makes the tables that all Models share, before a fork. Else the first Models makes them.
  static void make_built_in();
  ~Models();
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;

  /// Adds the models of a user's YAML file (docs/analyzer-models.md). They go before built-in ones. On a bad file:
  /// false, and "FILE:LINE:COL: reason" in `error`.
  bool read_yaml(const std::string& path, std::string& error);

  /// The model, or nullptr. The pointer is valid as long as the Models. HIP spellings (hipMemcpyAsync, hipStream_t) are
  /// answered by the CUDA row with HIP's name in `name`.
  [[nodiscard]] const Model* find(const Callee& callee) const;

  /// What a type is, by its qualified name without cv and references ("cudaStream_t", "CUstream",
  /// "rmm::cuda_stream_view"). Wrapper classes of streams and events are Stream and Event themselves when their value
  /// is all that counts.
  [[nodiscard]] ir::TypeKind type(std::string_view qualified_type) const;
  [[nodiscard]] Policy policy(std::string_view qualified_class) const;
  /// Variables that are one of the default streams ("rmm::cuda_stream_default"): an Operand kind.
  [[nodiscard]] std::optional<ir::Operand::Kind> stream_constant(std::string_view qualified_variable) const;
  /// A class that owns host or device memory: what kind, and whether destruction ends it.
  struct Owner {
    ordering::MemoryKind memory = ordering::MemoryKind::Pageable;
    bool tensor = false;
    bool stream_ordered = false;  ///< rmm::device_uvector, device_buffer: frees on the stream it was made with
  };
  [[nodiscard]] std::optional<Owner> owner(std::string_view qualified_class) const;

  /// Extern functions that certainly do not synchronise a device and keep no pointer: the C and C++ libraries.
  [[nodiscard]] bool harmless(const Callee& callee) const;

 private:
  struct BuiltIn;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace streamsan::analyzer
