// Halo exchange of a 2-D decomposed field, NCCL back-end (port of the Julia module).
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>

#define CU(call)  do { cudaError_t err_ = (call); if (err_ != cudaSuccess) { fprintf(stderr, "CUDA %d: %s\n", __LINE__, cudaGetErrorString(err_)); abort(); } } while (0)
#define NCCL(call) do { ncclResult_t r = (call); if (r != ncclSuccess) { fprintf(stderr, "NCCL %d: %s\n", __LINE__, ncclGetErrorString(r)); abort(); } } while (0)

namespace oceananigans {

struct Grid { int nx, ny, halo; };
enum Side { west = 0, east, south, north, nsides };

__global__ void pack_x(const double* c, double* w, double* e, Grid g) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= g.ny) return;
    for (int h = 0; h < g.halo; ++h) {
        w[j * g.halo + h] = c[j * g.nx + g.halo + h];
        e[j * g.halo + h] = c[j * g.nx + g.nx - 2 * g.halo + h];
    }
}

__global__ void pack_y(const double* c, double* s, double* n, Grid g) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= g.nx) return;
    for (int h = 0; h < g.halo; ++h) {
        s[h * g.nx + i] = c[(g.halo + h) * g.nx + i];
        n[h * g.nx + i] = c[(g.ny - 2 * g.halo + h) * g.nx + i];
    }
}

__global__ void unpack(double* c, const double* w, const double* e, const double* s, const double* n, Grid g) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < g.ny)
        for (int h = 0; h < g.halo; ++h) {
            c[k * g.nx + h] = w[k * g.halo + h];
            c[k * g.nx + g.nx - g.halo + h] = e[k * g.halo + h];
        }
    if (k < g.nx)
        for (int h = 0; h < g.halo; ++h) {
            c[h * g.nx + k] = s[h * g.nx + k];
            c[(g.ny - g.halo + h) * g.nx + k] = n[h * g.nx + k];
        }
}

class NCCLHalo {
public:
    NCCLHalo(Grid grid, ncclComm_t comm, const int (&neighbour)[nsides]) : g(grid), comm(comm) {
        for (int s = 0; s < nsides; ++s) {
            peer[s] = neighbour[s];
            CU(cudaMalloc(&send[s], count(s) * sizeof(double)));
            CU(cudaMalloc(&recv[s], count(s) * sizeof(double)));
        }
        for (cudaStream_t* s : {&xstream, &ystream, &comm_stream}) CU(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
        for (cudaEvent_t* e : {&field_ready, &xpacked, &ypacked, &filled}) CU(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    }
    ~NCCLHalo() {
        for (cudaStream_t s : {xstream, ystream, comm_stream}) { cudaStreamSynchronize(s); cudaStreamDestroy(s); }
        for (cudaEvent_t e : {field_ready, xpacked, ypacked, filled}) cudaEventDestroy(e);
        for (int s = 0; s < nsides; ++s) { cudaFree(send[s]); cudaFree(recv[s]); }
    }

    // Work on `compute` that follows sees the filled halos.
    void fill(double* c, cudaStream_t compute) {
        CU(cudaEventRecord(field_ready, compute));
        pack(c);
        exchange();
        unpack<<<blocks(g.nx > g.ny ? g.nx : g.ny), 128, 0, comm_stream>>>(c, recv[west], recv[east], recv[south], recv[north], g);
        CU(cudaGetLastError());
        CU(cudaEventRecord(filled, comm_stream));
        CU(cudaStreamWaitEvent(compute, filled, 0));
    }

private:
    static int blocks(int n) { return (n + 127) / 128; }
    size_t count(int s) const { return size_t(g.halo) * (s < south ? g.ny : g.nx); }

    void pack(const double* c) {
        CU(cudaStreamWaitEvent(xstream, field_ready, 0));
        CU(cudaStreamWaitEvent(ystream, field_ready, 0));
        pack_x<<<blocks(g.ny), 128, 0, xstream>>>(c, send[west], send[east], g);
        CU(cudaGetLastError());
        CU(cudaEventRecord(xpacked, xstream));
        pack_y<<<blocks(g.nx), 128, 0, ystream>>>(c, send[south], send[north], g);
        CU(cudaGetLastError());
        CU(cudaEventRecord(ypacked, ystream));
    }

    void exchange() {
        CU(cudaStreamWaitEvent(comm_stream, xpacked, 0));
        CU(cudaStreamWaitEvent(comm_stream, ypacked, 0));
        NCCL(ncclGroupStart());
        for (int s = 0; s < nsides; ++s) {
            NCCL(ncclSend(send[s], count(s), ncclDouble, peer[s], comm, comm_stream));
            NCCL(ncclRecv(recv[s ^ 1], count(s), ncclDouble, peer[s ^ 1], comm, comm_stream));
        }
        NCCL(ncclGroupEnd());
    }

    Grid g;
    ncclComm_t comm;
    int peer[nsides];
    double *send[nsides], *recv[nsides];
    cudaStream_t xstream, ystream, comm_stream;
    cudaEvent_t field_ready, xpacked, ypacked, filled;
};

}  // namespace oceananigans

void time_step_halos(double* c, oceananigans::Grid grid, ncclComm_t comm, const int (&neighbour)[4], cudaStream_t compute) {
    oceananigans::NCCLHalo halo(grid, comm, neighbour);
    halo.fill(c, compute);
    CU(cudaStreamSynchronize(compute));
}
