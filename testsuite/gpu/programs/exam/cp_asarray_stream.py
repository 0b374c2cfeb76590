# Modelled on cupy/cupy#4988.
"""Task runtime on CuPy: every task runs on a worker stream and copies its inputs first."""
import os

import cupy as cp

FIXED = os.environ.get("FIXED") == "1"

N, TASKS = 16 << 20, 8

smooth = cp.ElementwiseKernel(
    "float32 x, int32 rounds", "float32 y",
    """
    float v = x;
    for (int i = 0; i < rounds; ++i) v = 0.5f * (v + sinf(v));
    y = v;
    """, "smooth")


def clone(src, dst):
    """Device-to-device copy used by all tasks."""
    stream = cp.cuda.get_current_stream().ptr if FIXED else cp.cuda.Stream.null.ptr
    cp.cuda.runtime.memcpyAsync(dst.data.ptr, src.data.ptr, src.nbytes,
                                cp.cuda.runtime.memcpyDeviceToDevice, stream)
    return dst


class Task:
    def __init__(self, source):
        self.source = source
        self.local = cp.empty_like(source)
        self.result = cp.empty_like(source)

    def run(self):
        clone(self.source, self.local)
        smooth(self.local, 24, self.result)


class Worker:
    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.done = []

    def execute(self, tasks):
        with self.stream:
            for task in tasks:
                task.run()
                self.done.append(task)

    def wait(self):
        self.stream.synchronize()


class Runtime:
    def __init__(self):
        self.sources = [cp.full(N, 0.1 * (i + 1), dtype=cp.float32) for i in range(TASKS)]
        self.tasks = [Task(s) for s in self.sources]
        self.worker = Worker()
        smooth(self.sources[0], 1, self.tasks[0].result)
        cp.cuda.Device().synchronize()

    def run(self):
        self.worker.execute(self.tasks)
        self.worker.wait()
        return [float(t.result[N // 2]) for t in self.tasks]


def main():
    print("results", [round(v, 4) for v in Runtime().run()])


if __name__ == "__main__":
    main()
