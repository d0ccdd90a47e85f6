! Two ranks: the bindings of Fortran: mpif.h, the module mpi (-DMODULE) and the module mpi_f08 (-DF08).
#if defined(F08)
#define REQUEST type(MPI_Request)
#define TYPE type(MPI_Datatype)
#define COMM type(MPI_Comm)
#define WIN type(MPI_Win)
#define STATUSES(n) type(MPI_Status) :: statuses(n)
#define SOURCE(i) statuses(i)%MPI_SOURCE
#else
#define REQUEST integer
#define TYPE integer
#define COMM integer
#define WIN integer
#define STATUSES(n) integer :: statuses(MPI_STATUS_SIZE, n)
#define SOURCE(i) statuses(MPI_SOURCE, i)
#endif

program bindings
#if defined(F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  integer, parameter :: N = 10
  integer :: rank, ierr, i, other
  integer(MPI_ADDRESS_KIND) :: bytes, zero
  integer, allocatable :: b(:), r(:)
  REQUEST :: requests(2)
  STATUSES(2)
  TYPE :: every
  COMM :: copy
  WIN :: window

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  other = 1 - rank
  allocate (b(N), r(N))
  do i = 1, N - 1
    b(i) = i
  end do
  if (rank == 1) b(N) = N

  call MPI_Irecv(r, N, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(b, N, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2), ierr) ! // FINDS 0: Isend
  call MPI_Waitall(2, requests, statuses, ierr)
  if (SOURCE(1) /= other .or. sum(r) == 12345) print *, 'wrong'

  ! Every second: the last is not among them.
  deallocate (r)
  allocate (r(N))
  call MPI_Type_vector(N / 2, 1, 2, MPI_INTEGER, every, ierr)
  call MPI_Type_commit(every, ierr)
  call MPI_Sendrecv(b, 1, every, other, 2, r, 1, every, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Type_free(every, ierr)
  if (sum(r(1:N:2)) == 12345) print *, 'wrong'
  if (r(2) == 12345) print *, 'wrong' ! // FINDS 0 1: jump

  call MPI_Allreduce(MPI_IN_PLACE, b, N, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr) ! // FINDS 0: Allreduce
  if (b(1) == 12345) print *, 'wrong'
  b(N) = 1

  call MPI_Send_init(b, N, MPI_INTEGER, MPI_PROC_NULL, 3, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Start(requests(1), ierr)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
  call MPI_Request_free(requests(1), ierr)

  bytes = 4 * N
  zero = 0
  deallocate (r)
  allocate (r(N))
  call MPI_Win_create(b, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  call MPI_Win_fence(0, window, ierr)
  call MPI_Get(r, N, MPI_INTEGER, other, zero, N, MPI_INTEGER, window, ierr)
  call MPI_Win_fence(0, window, ierr)
  if (sum(r) == 12345) print *, 'wrong'
  call MPI_Win_free(window, ierr)

  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr) ! // LEFT 1 communicator: Comm_dup
  if (rank == 0) call MPI_Comm_free(copy, ierr)
  call MPI_Finalize(ierr)
end program
