// Halo fill of a 2D field split in x over all GPUs of the node (periodic).
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(call)                                                                            \
    do {                                                                                     \
        cudaError_t e_ = (call);                                                             \
        if (e_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(e_));          \
            std::exit(2);                                                                    \
        }                                                                                    \
    } while (0)

struct Architecture {
    int nx, ny, halo;
    int pitch() const { return nx + 2 * halo; }
    size_t face() const { return size_t(halo) * ny; }
    size_t field() const { return size_t(pitch()) * ny; }
};

__global__ void pack_face(const double* c, double* buf, int pitch, int i0, int halo, int ny)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < ny)
        for (int i = 0; i < halo; ++i) buf[j * halo + i] = c[j * pitch + i0 + i];
}

__global__ void unpack_face(double* c, const double* buf, int pitch, int i0, int halo, int ny)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < ny)
        for (int i = 0; i < halo; ++i) c[j * pitch + i0 + i] = buf[j * halo + i];
}

struct Rank {
    int device;
    double* c;
    double *send_west, *send_east, *recv_west, *recv_east;
    cudaStream_t west, east;
    cudaEvent_t packed_west, packed_east;
};

static Rank make_rank(int device, const Architecture& a)
{
    Rank r{};
    r.device = device;
    GPU(cudaSetDevice(device));
    GPU(cudaStreamCreateWithFlags(&r.west, cudaStreamNonBlocking));
    GPU(cudaStreamCreateWithFlags(&r.east, cudaStreamNonBlocking));
    GPU(cudaEventCreateWithFlags(&r.packed_west, cudaEventDisableTiming));
    GPU(cudaEventCreateWithFlags(&r.packed_east, cudaEventDisableTiming));
    GPU(cudaMalloc(&r.c, a.field() * sizeof(double)));
    for (double** b : {&r.send_west, &r.send_east, &r.recv_west, &r.recv_east})
        GPU(cudaMalloc(b, a.face() * sizeof(double)));
    GPU(cudaMemsetAsync(r.c, 0, a.field() * sizeof(double), r.west));
    GPU(cudaStreamSynchronize(r.west));
    return r;
}

static void destroy_rank(Rank& r)
{
    GPU(cudaSetDevice(r.device));
    for (double* b : {r.c, r.send_west, r.send_east, r.recv_west, r.recv_east}) GPU(cudaFree(b));
    GPU(cudaEventDestroy(r.packed_west));
    GPU(cudaEventDestroy(r.packed_east));
    GPU(cudaStreamDestroy(r.west));
    GPU(cudaStreamDestroy(r.east));
}

static void pack_sides(Rank& r, const Architecture& a)
{
    const int threads = 128, blocks = (a.ny + threads - 1) / threads;
    GPU(cudaSetDevice(r.device));
    pack_face<<<blocks, threads, 0, r.west>>>(r.c, r.send_west, a.pitch(), a.halo, a.halo, a.ny);
    GPU(cudaGetLastError());
    GPU(cudaEventRecord(r.packed_west, r.west));
    pack_face<<<blocks, threads, 0, r.east>>>(r.c, r.send_east, a.pitch(), a.nx, a.halo, a.ny);
    GPU(cudaGetLastError());
    GPU(cudaEventRecord(r.packed_east, r.east));
}

static void fill_from_neighbours(Rank& r, const Rank& left, const Rank& right, const Architecture& a)
{
    const int threads = 128, blocks = (a.ny + threads - 1) / threads;
    const size_t bytes = a.face() * sizeof(double);
    GPU(cudaSetDevice(r.device));

    GPU(cudaStreamWaitEvent(r.west, left.packed_east, 0));
    GPU(cudaMemcpyPeerAsync(r.recv_west, r.device, left.send_east, left.device, bytes, r.west));
    unpack_face<<<blocks, threads, 0, r.west>>>(r.c, r.recv_west, a.pitch(), 0, a.halo, a.ny);
    GPU(cudaGetLastError());

    GPU(cudaStreamWaitEvent(r.east, right.packed_west, 0));
    GPU(cudaMemcpyPeerAsync(r.recv_east, r.device, right.send_west, right.device, bytes, r.east));
    unpack_face<<<blocks, threads, 0, r.east>>>(r.c, r.recv_east, a.pitch(), a.nx + a.halo, a.halo, a.ny);
    GPU(cudaGetLastError());
}

static void fill_halo_regions(std::vector<Rank>& ranks, const Architecture& a)
{
    const size_t n = ranks.size();
    for (Rank& r : ranks) pack_sides(r, a);
    for (size_t i = 0; i < n; ++i)
        fill_from_neighbours(ranks[i], ranks[(i + n - 1) % n], ranks[(i + 1) % n], a);
    for (Rank& r : ranks) {
        GPU(cudaStreamSynchronize(r.west));
        GPU(cudaStreamSynchronize(r.east));
    }
}

int main()
{
    const Architecture arch{512, 1024, 3};
    int count = 0;
    GPU(cudaGetDeviceCount(&count));
    std::vector<Rank> ranks;
    for (int d = 0; d < count; ++d) ranks.push_back(make_rank(d, arch));
    for (int step = 0; step < 10; ++step) fill_halo_regions(ranks, arch);
    for (Rank& r : ranks) destroy_rank(r);
    return 0;
}
