/* D2Q9 lattice Boltzmann, slab decomposition, CUDA-aware MPI. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" {
typedef struct mpi_comm_s* MPI_Comm;
typedef struct mpi_req_s* MPI_Request;
typedef struct mpi_type_s* MPI_Datatype;
typedef struct mpi_status_s MPI_Status;
extern MPI_Datatype mpi_float_;
#define MPI_FLOAT mpi_float_
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
int MPI_Isend(const void* buf, int count, MPI_Datatype t, int dest, int tag, MPI_Comm c, MPI_Request* r);
int MPI_Irecv(void* buf, int count, MPI_Datatype t, int src, int tag, MPI_Comm c, MPI_Request* r);
int MPI_Waitall(int n, MPI_Request* r, MPI_Status* s);
}

#define CHK(x) check_((x), #x, __LINE__)
static void check_(cudaError_t e, const char* what, int line) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "line %d: %s -> %s\n", line, what, cudaGetErrorString(e));
  exit(2);
}

typedef struct {
  int nx, ny;
  float* f[2];
  float *send_up, *send_dn, *recv_up, *recv_dn;
  float* mass_d;
  float* mass_h;
  cudaStream_t stream;
  int up, dn;
  MPI_Comm comm;
} lbm_t;

__global__ void collide_stream(const float* src, float* dst, int nx, int ny, float omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + 1;
  if (x >= nx) return;
  for (int q = 0; q < 9; ++q) {
    int i = (q * (ny + 2) + y) * nx + x;
    dst[i] = src[i] - omega * (src[i] - 1.0f / 9.0f);
  }
}

__global__ void pack_rows(const float* f, float* up, float* dn, int nx, int ny) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 9 * nx) return;
  int q = i / nx, x = i % nx;
  up[i] = f[(q * (ny + 2) + ny) * nx + x];
  dn[i] = f[(q * (ny + 2) + 1) * nx + x];
}

__global__ void unpack_rows(float* f, const float* up, const float* dn, int nx, int ny) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 9 * nx) return;
  int q = i / nx, x = i % nx;
  f[(q * (ny + 2) + ny + 1) * nx + x] = up[i];
  f[(q * (ny + 2)) * nx + x] = dn[i];
}

__global__ void total_mass(const float* f, int n, float* out) {
  float acc = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) acc += f[i];
  atomicAdd(out, acc);
}

static void lbm_pack(lbm_t* s, int cur) {
  int n = 9 * s->nx;
  pack_rows<<<(n + 127) / 128, 128, 0, s->stream>>>(s->f[cur], s->send_up, s->send_dn, s->nx, s->ny);
  CHK(cudaGetLastError());
}

static void lbm_exchange(lbm_t* s) {
  int n = 9 * s->nx;
  MPI_Request r[4];
  CHK(cudaStreamSynchronize(s->stream));
  MPI_Irecv(s->recv_up, n, MPI_FLOAT, s->up, 1, s->comm, &r[0]);
  MPI_Irecv(s->recv_dn, n, MPI_FLOAT, s->dn, 0, s->comm, &r[1]);
  MPI_Isend(s->send_up, n, MPI_FLOAT, s->up, 0, s->comm, &r[2]);
  MPI_Isend(s->send_dn, n, MPI_FLOAT, s->dn, 1, s->comm, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void lbm_unpack(lbm_t* s, int cur) {
  int n = 9 * s->nx;
  unpack_rows<<<(n + 127) / 128, 128, 0, s->stream>>>(s->f[cur], s->recv_up, s->recv_dn, s->nx, s->ny);
  CHK(cudaGetLastError());
}

static float lbm_mass(lbm_t* s, int cur) {
  CHK(cudaMemsetAsync(s->mass_d, 0, sizeof(float), s->stream));
  total_mass<<<1, 256, 0, s->stream>>>(s->f[cur], 9 * (s->ny + 2) * s->nx, s->mass_d);
  CHK(cudaMemcpyAsync(s->mass_h, s->mass_d, sizeof(float), cudaMemcpyDeviceToHost, s->stream));
  CHK(cudaStreamSynchronize(s->stream));
  return *s->mass_h;
}

int lbm_run(lbm_t* s, int steps, float omega, float* mass) {
  int cur = 0;
  for (int t = 0; t < steps; ++t) {
    dim3 grid((s->nx + 127) / 128, s->ny);
    collide_stream<<<grid, 128, 0, s->stream>>>(s->f[cur], s->f[1 - cur], s->nx, s->ny, omega);
    CHK(cudaGetLastError());
    cur = 1 - cur;
    lbm_pack(s, cur);
    lbm_exchange(s);
    lbm_unpack(s, cur);
    mass[t] = lbm_mass(s, cur);
  }
  return cur;
}
