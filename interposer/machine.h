// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What depends on the processor: x86-64, and AArch64 (Grace, and what runs it in emulation).
//
//                            x86-64                          AArch64
//   return address           on the stack, above the saved   in a register; a function that calls others keeps it in
//                            frame pointer, at the frame's   its frame record, with locals above, below or around it
//                            end
//   signed return addresses  no                              perhaps (PAC): the upper bits of the word that is stored
//   addresses of a process   47 bits                         48 bits
//   pages                    4 KiB                           4, 16 or 64 KiB, as the kernel was built
//   order of memory          strong                          weak: what one thread publishes to another is stored with
//                                                            release and loaded with acquire, everywhere
//
// Entry points of ours that must leave arguments and stack alone are assembly, made of the macros at the end. They may
// change what a call may change besides its arguments: on AArch64 x9 to x17, of which x16 and x17 are the linker's,
// too.
//
// Elsewhere: system calls (host/raw_syscall.h), the registers of a fault (host/fault_site.h), places of return
// addresses (return_places.h), the hook of dlsym (driver.cpp), sizes of pages (pages.h).
#pragma once

#if !defined __x86_64__ && !defined __aarch64__
#error "StreamSan's recorder is written for x86-64 and AArch64"
#endif

#include <cstdint>

namespace streamsan::recorder {

#if defined __x86_64__
inline constexpr unsigned kAddressBits = 47;
#else
inline constexpr unsigned kAddressBits = 48;
#endif

/// The address of a wrapper's return address, from its __builtin_frame_address(0): above the saved frame pointer. On
/// AArch64 these two are the frame record.
inline std::uint64_t return_place_of(const void* frame) {
  return reinterpret_cast<std::uint64_t>(frame) + sizeof(void*);
}

/// The address in a word of the stack that holds a return address.
inline std::uint64_t return_address_in(std::uint64_t word) {
#if defined __x86_64__
  return word;
#else
  register std::uint64_t link asm("x30") = word;
  asm("hint #7" : "+r"(link));  // xpaclri; on processors without signatures it does nothing
  return link;
#endif
}

}  // namespace streamsan::recorder

/// Where the caller's part of the stack begins, in a function that is not inlined.
#if defined __x86_64__
#define SS_CALLERS_STACK() (static_cast<const void*>(static_cast<const char*>(__builtin_frame_address(0)) + 16))
#elif defined __clang__
#define SS_CALLERS_STACK() (static_cast<const void*>(__builtin_sponentry()))
#else
#define SS_CALLERS_STACK() (static_cast<const void*>(__builtin_dwarf_cfa()))
#endif

// Lines of assembly, as strings. SS_ASM_ENTRY: begins a function that may be called by its address. SS_ASM_JUMP: on to
// the address in `word`, a word of this library's: its name, or a name and an offset.
#if defined __x86_64__
#define SS_ASM_ENTRY "  endbr64\n"
#define SS_ASM_JUMP(word) "  jmp *" word "(%rip)\n"
#else
#define SS_ASM_ENTRY "  hint #34\n"  // bti c
#define SS_ASM_JUMP(word) "  adrp x16, " word "\n  ldr x16, [x16, #:lo12:" word "]\n  br x16\n"
#endif

/// At file scope: the exported function `name`, which goes on to the address in `word`.
#define SS_ASM_EXPORT(name, word)                                                       \
  asm("  .text\n  .p2align 4\n  .globl " #name "\n  .type " #name ", %function\n" #name \
      ":\n" SS_ASM_ENTRY SS_ASM_JUMP(word) "  .size " #name ", .-" #name "\n")
