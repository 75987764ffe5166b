/**
 * The filter of system calls that holds in the sandbox, as a program of classic BPF (linux/seccomp.h, linux/filter.h).
 * What it refuses has been the way out of containers, or takes memory that no limit counts; calls that are newer than
 * this list do not exist in the sandbox.
 */

interface Machine {
  /** AUDIT_ARCH of linux/audit.h. */
  readonly audit: number
  readonly clone: number
  readonly socket: number
  readonly socketpair: number
  readonly ioctl: number
  readonly prlimit64: number
}

const MACHINES = {
  x64: { audit: 0xc000003e, clone: 56, socket: 41, socketpair: 53, ioctl: 16, prlimit64: 302 },
  arm64: { audit: 0xc00000b7, clone: 220, socket: 198, socketpair: 199, ioctl: 29, prlimit64: 261 },
} as const satisfies Record<string, Machine>

/** Numbers on x86_64 and on aarch64; null where a machine has no such call. */
type CallNumbers = readonly [x64: number | null, arm64: number | null]

/** Answered with EPERM. */
const REFUSED: Readonly<Record<string, CallNumbers>> = {
  // Keys of the kernel are not in a namespace.
  ...{ keyctl: [250, 219], add_key: [248, 217], request_key: [249, 218] },
  // Other processes: debugging, reading, taking their files.
  ...{ ptrace: [101, 117], process_vm_readv: [310, 270], process_vm_writev: [311, 271], kcmp: [312, 272] },
  ...{ process_madvise: [440, 440], pidfd_getfd: [438, 438] },
  // Programs in the kernel, counters, page faults in user space.
  ...{ bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282] },
  // Mounts and namespaces.
  ...{
    mount: [165, 40],
    umount2: [166, 39],
    pivot_root: [155, 41],
    chroot: [161, 51],
    open_tree: [428, 428],
  },
  ...{ move_mount: [429, 429], fsopen: [430, 430], fsconfig: [431, 431], fsmount: [432, 432] },
  ...{ fspick: [433, 433], mount_setattr: [442, 442], unshare: [272, 97], setns: [308, 268] },
  // Files by handles, past every mount; devices.
  ...{ name_to_handle_at: [303, 264], open_by_handle_at: [304, 265], mknod: [133, null], mknodat: [259, 33] },
  // The machine: kernels, modules, swap, names, quotas, the log, ports, segments.
  ...{ kexec_load: [246, 104], kexec_file_load: [320, 294], init_module: [175, 105], reboot: [169, 142] },
  ...{ finit_module: [313, 273], delete_module: [176, 106], create_module: [174, null], swapon: [167, 224] },
  ...{
    query_module: [178, null],
    get_kernel_syms: [177, null],
    swapoff: [168, 225],
    sethostname: [170, 161],
  },
  ...{ setdomainname: [171, 162], acct: [163, 89], quotactl: [179, 60], quotactl_fd: [443, 443] },
  ...{ syslog: [103, 116], lookup_dcookie: [212, 18], nfsservctl: [180, 42], vhangup: [153, 58] },
  ...{
    iopl: [172, null],
    ioperm: [173, null],
    modify_ldt: [154, null],
    uselib: [134, null],
    ustat: [136, null],
  },
  ...{ sysfs: [139, null], _sysctl: [156, null], personality: [135, 92], remap_file_pages: [216, 234] },
  // Clocks.
  ...{ settimeofday: [164, 170], clock_settime: [227, 112], clock_adjtime: [305, 266], adjtimex: [159, 171] },
  // Where memory lies, and watching whole mounts.
  ...{ mbind: [237, 235], set_mempolicy: [238, 237], migrate_pages: [256, 238], move_pages: [279, 239] },
  ...{ set_mempolicy_home_node: [450, 450], fanotify_init: [300, 262], fanotify_mark: [301, 263] },
  // A session of one's own would have a share of the processor of its own (autogroups of the scheduler).
  ...{ setsid: [112, 157] },
}

/** Answered with ENOSYS, upon which programs take another way; most hold memory that belongs to no process. */
const ABSENT: Readonly<Record<string, CallNumbers>> = {
  ...{ io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  ...{ memfd_create: [319, 279], memfd_secret: [447, 447], shmget: [29, 194], shmat: [30, 196] },
  ...{ shmctl: [31, 195], shmdt: [67, 197], msgget: [68, 186], semget: [64, 190], mq_open: [240, 180] },
  // Its rings count towards a number of the whole machine.
  ...{ io_setup: [206, 0] },
  // Its flags lie in memory, where no filter sees them; libraries then use clone.
  ...{ clone3: [435, 435] },
}

/** The last number of Linux 6.5, on both machines. */
const LAST_KNOWN = 451

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACE = 0x7e020000
/** AF_UNIX; and AF_INET, AF_INET6: others reach the machine's own (vsock, netlink, crypto, packets). */
const UNIX_SOCKETS = 1
const INTERNET_SOCKETS = [2, 10]
/** SOCK_STREAM and SOCK_DGRAM, beside flags; 0, TCP and UDP. For others the kernel would load modules. */
const TYPE_BITS = 0xf
const SOCKET_TYPES = [1, 2]
const PROTOCOLS = [0, 6, 17]
/** TIOCSTI and TIOCLINUX type into terminals. */
const TERMINAL_INPUT = [0x5412, 0x541c]

// linux/bpf_common.h: LD|W|ABS, ALU|AND|K, JMP|JEQ|K, JMP|JGT|K, JMP|JSET|K, RET|K
const [LOAD, AND, EQUAL, GREATER, ANY_BIT, RETURN] = [0x20, 0x54, 0x15, 0x25, 0x45, 0x06]
// struct seccomp_data
const [NUMBER_AT, MACHINE_AT, ARGUMENT_0, ARGUMENT_1, ARGUMENT_2] = [0, 4, 16, 24, 32]

const ALLOW = 0x7fff0000
const KILL_PROCESS = 0x80000000
const answerWith = (errno: number): number => 0x00050000 | errno
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97]

class Program {
  readonly #code: number[][] = []

  add(code: number, k: number, ifTrue = 0, ifFalse = 0): void {
    this.#code.push([code, ifTrue, ifFalse, k])
  }

  /** Returns `answer` if the comparison holds, and goes on otherwise. */
  answerIf(comparison: number, k: number, answer: number): void {
    this.add(comparison, k, 0, 1)
    this.add(RETURN, answer)
  }

  /** Goes on if what is loaded is one of these, and returns `answer` otherwise. */
  oneOf(values: readonly number[], answer: number): void {
    for (const [index, value] of values.entries()) this.add(EQUAL, value, values.length - index, 0)
    this.add(RETURN, answer)
  }

  bytes(): Buffer {
    const out = Buffer.alloc(this.#code.length * 8)
    for (const [index, [code, ifTrue, ifFalse, k]] of this.#code.entries()) {
      out.writeUInt16LE(code!, index * 8)
      out.writeUInt8(ifTrue!, index * 8 + 2)
      out.writeUInt8(ifFalse!, index * 8 + 3)
      out.writeUInt32LE(k! >>> 0, index * 8 + 4)
    }
    return out
  }
}

/** The filter for a kind of machine (`process.arch`), as `bwrap --seccomp` reads it; null where there is none. */
export function seccompProgram(arch: string): Buffer | null {
  if (arch !== 'x64' && arch !== 'arm64') return null
  const machine = MACHINES[arch]
  const column = arch === 'x64' ? 0 : 1
  const program = new Program()
  program.add(LOAD, MACHINE_AT)
  program.add(EQUAL, machine.audit, 1, 0)
  program.add(RETURN, KILL_PROCESS) // calls of another machine have other numbers (int 0x80)
  program.add(LOAD, NUMBER_AT)
  program.answerIf(GREATER, LAST_KNOWN, answerWith(ENOSYS)) // and calls of x32, whose numbers are large
  for (const [calls, errno] of [[REFUSED, EPERM] as const, [ABSENT, ENOSYS] as const]) {
    for (const numbers of Object.values(calls)) {
      const number = numbers[column]
      if (number !== null) program.answerIf(EQUAL, number, answerWith(errno))
    }
  }
  judgeArguments(program, machine)
  program.add(RETURN, ALLOW)
  return program.bytes()
}

/** The lower halves of arguments: upper ones of flags, families and requests are not read by the kernel either. */
function judgeArguments(program: Program, { clone, socket, socketpair, ioctl, prlimit64 }: Machine): void {
  program.add(EQUAL, clone, 0, 4)
  program.add(LOAD, ARGUMENT_0)
  program.answerIf(ANY_BIT, NEW_NAMESPACE, answerWith(EPERM))
  program.add(RETURN, ALLOW)

  program.add(EQUAL, socketpair, 0, 4)
  program.add(LOAD, ARGUMENT_0)
  program.answerIf(EQUAL, UNIX_SOCKETS, ALLOW)
  program.add(RETURN, answerWith(EAFNOSUPPORT))

  program.add(EQUAL, socket, 0, 14 + PROTOCOLS.length)
  program.add(LOAD, ARGUMENT_0)
  program.answerIf(EQUAL, UNIX_SOCKETS, ALLOW)
  program.oneOf(INTERNET_SOCKETS, answerWith(EAFNOSUPPORT))
  program.add(LOAD, ARGUMENT_1)
  program.add(AND, TYPE_BITS)
  program.oneOf(SOCKET_TYPES, answerWith(EAFNOSUPPORT))
  program.add(LOAD, ARGUMENT_2)
  program.oneOf(PROTOCOLS, answerWith(EAFNOSUPPORT))
  program.add(RETURN, ALLOW)

  program.add(EQUAL, prlimit64, 0, 4) // of the caller itself only
  program.add(LOAD, ARGUMENT_0)
  program.answerIf(EQUAL, 0, ALLOW)
  program.add(RETURN, answerWith(EPERM))

  program.add(EQUAL, ioctl, 0, TERMINAL_INPUT.length * 2 + 2)
  program.add(LOAD, ARGUMENT_1)
  for (const request of TERMINAL_INPUT) program.answerIf(EQUAL, request, answerWith(EPERM))
  program.add(RETURN, ALLOW)
}
