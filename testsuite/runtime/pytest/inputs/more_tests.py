# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One more file, for a worker of its own."""
import cuda
import gpu_tests


def test_waits_too():
    cuda.start()
    gpu_tests.hand_over((cuda.stream(), cuda.stream()), waits=False)


def test_without_cuda_too():
    pass
