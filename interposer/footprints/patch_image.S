// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fat binary of patch.cu, as data of the agent.
  .section .rodata
  .balign 64
  .globl streamsan_patch_image
  .hidden streamsan_patch_image
streamsan_patch_image:
  .incbin STREAMSAN_PATCH_IMAGE
  .section .note.GNU-stack,"",@progbits
