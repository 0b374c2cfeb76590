#!/bin/bash
# cc.sh FILE [torch]
TORCH=/tmp/torch/torch/include
for f in "$@"; do
X="-x cuda --cuda-path=/usr/local/cuda --cuda-gpu-arch=sm_90 -nocudalib -Xclang -target-sdk-version=12.8"
case $f in *.cpp) X="-isystem /usr/local/cuda/include";; esac
if grep -qE "torch/|ATen/|c10/" $f; then
 S="-std=c++20 -isystem $TORCH -isystem $TORCH/torch/csrc/api/include -isystem /usr/local/cuda/include -isystem $(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')"
else S=-std=c++17; fi
nice -n 15 clang++-22 -fsyntax-only -Wno-unknown-cuda-version $S $X -isystem /usr/local/cuda/include/cccl $f && echo OK $f || echo FAIL $f
done
