// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wrappers of libc functions that are handed memory the GPU may be using.
//
//   exported entry -> nothing is lent: jump to the next definition of the function
//                  -> else:            tell loans.h what becomes of the memory, then call the next definition
//
// The entry is a few instructions of assembly. It changes no register of an argument and no stack, so it is right for
// every signature, the variadic ones too, and what follows it (a cancellation, an unwinding, a signal) finds the
// guest's stack as it would be without us.
//
// "The next definition" is dlsym(RTLD_NEXT)'s: another preloaded library, an allocator the guest is linked with, or
// libc. All are looked up by our constructors, so that no later call waits for the loader's lock: not one in a signal
// handler, not one in a forked child. Before them the first call of a function looks it up. The answer is always the
// same, so nobody waits for anybody.
//
// Calls from this library itself pass without a check, so loans.cpp never calls back into itself. Calls by the driver
// are no accesses of the program: nothing is recorded, but the protection is removed.
//
// HOW TO ADD A FUNCTION: one SS_LIBC row in libc_io.cpp or libc_memory.cpp (SS_CLOCK in libc_clock.cpp), and its name
// in exports.map.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "interposer/driver.h"
#include "interposer/host/loans.h"
#include "interposer/machine.h"
#include "interposer/process.h"
#include "interposer/this_library.h"

namespace streamsan::recorder {

/// What a call of libc does to memory, as its row says. Nothing here changes errno.
class HostCall {
 public:
  HostCall(const char* function, const void* frame) : function_(function), frame_(frame) {}

  /// Made by CUDA itself, or by what CUDA calls.
  [[nodiscard]] bool is_of_cuda() const { return is_quiet() || is_in_call(frame_); }
  [[nodiscard]] const char* function() const { return function_; }
  [[nodiscard]] const void* frame() const { return frame_; }
  /// The same call, of which nothing is to be recorded.
  [[nodiscard]] HostCall quietly() const {
    HostCall call = *this;
    call.quiet_ = true;
    return call;
  }

  /// The kernel (or libc in its name) reads or writes up to this many bytes.
  void reads(const void* begin, std::size_t bytes) const { touches(begin, bytes, false); }
  void writes(const void* begin, std::size_t bytes) const { touches(begin, bytes, true); }
  /// The same for all parts of a vector. Nothing, if the kernel would refuse the vector itself.
  void reads(const iovec* parts, std::size_t count) const { touches_parts(parts, count, false); }
  void writes(const iovec* parts, std::size_t count) const { touches_parts(parts, count, true); }
  void reads(const msghdr* message) const { touches_message(message, false); }
  void writes(const msghdr* message) const { touches_message(message, true); }
  void reads(const mmsghdr* messages, unsigned count) const { touches_messages(messages, count, false); }
  void writes(const mmsghdr* messages, unsigned count) const { touches_messages(messages, count, true); }
  /// The range is mapped or protected anew; its bytes are not touched.
  void remaps(const void* begin, std::size_t bytes) const;
  /// Something else, or nothing, is to be mapped there: what host memory of CUDA's was there is no longer guarded.
  void replaces(const void* begin, std::size_t bytes) const;
  /// The range goes away. Only remaps() if the user does not want to hear of it.
  void frees(const void* begin, std::size_t bytes, trace::HostFreeWay way) const;
  /// It has read a clock (libc_clock.cpp).
  void reads_clock() const;

 private:
  void touches(const void* begin, std::size_t bytes, bool writes) const;
  void touches_parts(const iovec* parts, std::size_t count, bool writes) const;
  void touches_message(const msghdr* message, bool writes) const;
  void touches_messages(const mmsghdr* messages, unsigned count, bool writes) const;

  [[nodiscard]] bool is_quiet() const { return quiet_ || is_in_driver(caller()); }
  /// Read from the wrapper's frame, which must still exist, rather than kept: few calls ask.
  [[nodiscard]] const void* caller() const {
    const auto place = reinterpret_cast<const std::uint64_t*>(return_place_of(frame_));
    return reinterpret_cast<const void*>(return_address_in(*place));
  }

  const char* function_;
  const void* frame_;
  bool quiet_ = false;
};

/// The definition behind ours, or null. Leaves errno and dlerror() as they were.
void* find_next(const char* name);
/// The next definition of `name` with this version, or with any if none has it.
void* find_next_version(const char* name, const char* version);
/// Is this thread inside of find_next()?
bool is_finding_next();

/// The code behind one exported entry. `Row` says what the call does to memory, by one of
///   static void before(const HostCall&, Parameters...);
///   static Result instead(const HostCall&, Function next, Parameters...);   // also makes the call
/// and may have
///   static void after(const HostCall&, Result, Parameters...);   // beside before(); changes no errno
///   static Result while_finding(Parameters...);   // for a call out of the look-up of another function
template <class Row, class Function, auto& next>
struct LibcFunction;

template <class Row, class Result, class... Parameters, auto& next>
struct LibcFunction<Row, Result (*)(Parameters...), next> {
  using Function = Result (*)(Parameters...);

  static void find() {
    Function found;
    if constexpr (requires { Row::kVersion; }) {
      found = reinterpret_cast<Function>(find_next_version(Row::kName, Row::kVersion));
    } else {
      found = reinterpret_cast<Function>(find_next(Row::kName));
    }
    next.store(found ? found : absent, std::memory_order_relaxed);
  }

  /// The first call, before our constructors.
  static Result first(Parameters... parameters) {
    // The look-up frees an old text of dlerror(), by the function that is being looked up: it is not given back.
    if constexpr (std::is_void_v<Result>) {
      if (is_finding_next()) return;
    } else if constexpr (requires { Row::while_finding(parameters...); }) {
      // To find this one, too, would free the same text again.
      if (is_finding_next()) return Row::while_finding(parameters...);
    }
    find();
    return next.load(std::memory_order_relaxed)(parameters...);
  }

  /// The call while something is lent. Jumped to, so the frame below is the guest's.
  static Result lent(Parameters... parameters) {
    const Function function = next.load(std::memory_order_relaxed);
    const void* caller = __builtin_return_address(0);
    if (is_in_this_library(caller)) return function(parameters...);
    const HostCall call(Row::kName, __builtin_frame_address(0));
    if constexpr (requires { Row::instead(call, function, parameters...); }) {
      return Row::instead(call, function, parameters...);
    } else {
      Row::before(call, parameters...);
      if constexpr (std::is_same_v<Result, ssize_t> || std::is_same_v<Result, int>) {
        Result result = function(parameters...);
        if constexpr (requires { Row::after(call, result, parameters...); }) Row::after(call, result, parameters...);
        if (result != -1 || errno != EFAULT || !any_loans()) [[likely]]
          return result;
        // While this call waited in the kernel, another thread lent the memory, and it was protected again.
        Row::before(call.quietly(), parameters...);
      }
      return function(parameters...);
    }
  }

 private:
  static Result absent(Parameters...) {
    errno = ENOSYS;
    if constexpr (!std::is_void_v<Result>) return (Result)-1;
  }
};

/// The type of a pointer to the function, without what the headers say besides (noexcept, attributes).
template <class Result, class... Parameters>
auto signature(Result (*)(Parameters...)) -> Result (*)(Parameters...);
#define SS_SIGNATURE(name) decltype(streamsan::recorder::signature(&::name))

}  // namespace streamsan::recorder

/// Exports `name`, of the pointer type `type`, wrapped as `Row` says. At file scope.
#define SS_LIBC_EXPORT(name, type, Row) SS_LIBC_EXPORT_WHILE(7g_loans, name, type, Row)

/// The same, while a counter of loans.h is not 0: its mangled name in streamsan::recorder::detail.
#define SS_LIBC_EXPORT_WHILE(counter, name, type, Row) SS_LIBC_EXPORT_IF(SS_LIBC_IF_COUNTER(counter), name, type, Row)

/// The condition of an entry, as assembly that goes to label 1 if the call is to be observed. It reads a counter as
/// above, or a word of the thread's, named in the same way. SS_LIBC_IF_ORDERS: order between threads is followed, and
/// the call does not come out of a call of CUDA's: is_in_call(), asked here because drivers take several locks in each
/// call.
#define SS_LIBC_DETAIL(word) "_ZN9streamsan8recorder6detail" #word "E"
#define SS_LIBC_TEXT_OF(number) #number
#define SS_LIBC_TEXT(number) SS_LIBC_TEXT_OF(number)
#if defined __x86_64__
#define SS_LIBC_ALWAYS "  jmp 1f\n"
#define SS_LIBC_IF_COUNTER(counter) "  cmpl $0, " SS_LIBC_DETAIL(counter) "(%rip)\n  jne 1f\n"
#define SS_LIBC_IF_THREAD(word) \
  "  movq " SS_LIBC_DETAIL(word) "@gottpoff(%rip), %r11\n  cmpl $0, %fs:(%r11)\n  jne 1f\n"
#define SS_LIBC_IF_OUTSIDE_CALL                                    \
  "  movq _ZN9streamsan8recorder8t_threadE@gottpoff(%rip), %r11\n" \
  "  cmpq %rsp, %fs:" SS_LIBC_TEXT(SS_CALL_FRAME_AT) "(%r11)\n  jbe 1f\n"
#define SS_LIBC_IF_ORDERS "  cmpl $0, " SS_LIBC_DETAIL(8g_orders) "(%rip)\n  je 2f\n" SS_LIBC_IF_OUTSIDE_CALL "2:\n"
#else
#define SS_LIBC_ALWAYS "  b 1f\n"
#define SS_LIBC_IF_COUNTER(counter) \
  "  adrp x16, " SS_LIBC_DETAIL(counter) "\n  ldr w16, [x16, #:lo12:" SS_LIBC_DETAIL(counter) "]\n  cbnz w16, 1f\n"
#define SS_LIBC_IF_THREAD(word) \
  "  adrp x16, :gottprel:" SS_LIBC_DETAIL(word) "\n  ldr x16, [x16, #:gottprel_lo12:" SS_LIBC_DETAIL(word) "]\n" \
  "  mrs x17, tpidr_el0\n  ldr w16, [x17, x16]\n  cbnz w16, 1f\n"
#define SS_LIBC_IF_OUTSIDE_CALL \
  "  adrp x16, :gottprel:_ZN9streamsan8recorder8t_threadE\n"                                                 \
  "  ldr x16, [x16, #:gottprel_lo12:_ZN9streamsan8recorder8t_threadE]\n  mrs x17, tpidr_el0\n"                \
  "  add x16, x16, x17\n  ldr x16, [x16, #" SS_LIBC_TEXT(SS_CALL_FRAME_AT) "]\n  mov x17, sp\n"              \
  "  cmp x16, x17\n  b.ls 1f\n"
#define SS_LIBC_IF_ORDERS \
  "  adrp x16, " SS_LIBC_DETAIL(8g_orders) "\n  ldr w16, [x16, #:lo12:" SS_LIBC_DETAIL(8g_orders) "]\n"        \
  "  cbz w16, 2f\n" SS_LIBC_IF_OUTSIDE_CALL "2:\n"
#endif

#define SS_LIBC_EXPORT_IF(comparison, name, type, Row)                                                      \
  extern "C" {                                                                                              \
  extern std::atomic<type> streamsan_next_##name __attribute__((visibility("hidden")));                     \
  extern const type streamsan_lent_##name __attribute__((visibility("hidden")));                            \
  }                                                                                                         \
  using streamsan_code_##name = streamsan::recorder::LibcFunction<Row, type, streamsan_next_##name>;        \
  constinit std::atomic<type> streamsan_next_##name{streamsan_code_##name::first};                          \
  constinit const type streamsan_lent_##name = streamsan_code_##name::lent;                                 \
  [[gnu::constructor]] static void streamsan_find_##name() { streamsan_code_##name::find(); }               \
  asm("  .text\n  .p2align 4\n  .globl " #name "\n  .type " #name ", %function\n" #name                     \
      ":\n"                                                                                                 \
      "  .cfi_startproc\n" SS_ASM_ENTRY comparison SS_ASM_JUMP("streamsan_next_" #name) "1:\n" SS_ASM_JUMP( \
          "streamsan_lent_" #name) "  .cfi_endproc\n  .size " #name ", .-" #name "\n")

/// The same for a function that is no more than what it does to the memory in its `parameters`: statements about
/// `call`.
#define SS_LIBC(name, type, parameters, ...) SS_LIBC_WHILE(7g_loans, name, type, parameters, __VA_ARGS__)
#define SS_LIBC_WHILE(counter, name, type, parameters, ...)                                                       \
  namespace {                                                                                                     \
  struct Row_##name {                                                                                             \
    static constexpr const char* kName = #name;                                                                   \
    static void before(const streamsan::recorder::HostCall& call, SS_LIBC_PARAMETERS parameters) { __VA_ARGS__; } \
  };                                                                                                              \
  }                                                                                                               \
  SS_LIBC_EXPORT_WHILE(counter, name, type, Row_##name)
#define SS_LIBC_PARAMETERS(...) __VA_ARGS__
