/**
 * How a sandbox is made of `unshare`, `bwrap` and a shell. Three programs in one process, one after the other: the first
 * gives way to the server, and is what the kernel ends first when memory runs out; the second has one file system in memory, with
 * room for so many bytes and files, as all that is writable; the third leaves the machine. Its first process is a shell of
 * ours, which no process within can end: it unpacks the container, runs the command, ends what is left of it, and
 * packs the container again. The command itself, and the bridge to the proxy, are idle work: they get what nobody else
 * wants of the processor. `timeout` also gives each a process group of its own: a signal to the one that they are born
 * into would reach this server and all other sandboxes, past every namespace.
 */
import { existsSync } from 'node:fs'

export interface SandboxLimits {
  /** Of the container and of all else that a command writes. */
  readonly diskBytes: number
  readonly files: number
  readonly memoryBytes: number
  readonly processes: number
  readonly openFiles: number
  readonly cpuSeconds: number
  readonly fileBytes: number
}

/** The socket of an egress proxy, and the program that makes it a port of the sandbox's loopback. */
export interface EgressRelay {
  readonly socketPath: string
  readonly node: string
  readonly programPath: string
}

/** Descriptors of the sandbox's first process, beside its three usual ones. */
export const DESCRIPTORS = { input: 3, output: 4, info: 5, filter: 6 } as const

/** Uid and gid within: those of nobody. */
const NOBODY = '65534'

/** Descriptors that this server was started with are closed, all but those of the sandbox. */
const LAUNCH = `
for open in /proc/self/fd/*; do
  number=\${open##*/}
  if [ "$number" -gt ${DESCRIPTORS.filter} ]; then eval "exec $number>&-"; fi
done
umask 022
echo 1000 >/proc/self/oom_score_adj || exit 120
time=; [ ! -e /proc/self/ns/time ] || time=--time
exec nice -n 10 unshare --user --map-root-user --mount $time -- bash -c "$@"`

/** Over a folder that every Linux has, and that nothing is read from. */
const STAGE = `
mount -t tmpfs -o "size=$1,nr_inodes=$2,mode=0755,nosuid,nodev" tmpfs /dev/shm || exit 121
mkdir /dev/shm/work /dev/shm/tmp /dev/shm/shm || exit 121
shift 2
exec bwrap "$@"`

/** $1: time limit of the command, \$2: the egress program or nothing, the rest: limits for prlimit. */
const INSIDE = `
limit=$1 relay=$2
shift 2
IFS= read -r -d '' command <&3 || exit 122
tar -x -i --no-same-owner -f - -C / <&3 >/dev/null 2>&1 || exit 122
exec 3<&-
if [ -n "$relay" ]; then
  exec 7< <(exec chrt --idle 0 timeout --signal=KILL "$limit" /opt/egress/node --jitless --max-old-space-size=64 /opt/egress/relay.cjs 4>&- 2>/dev/null)
  read -r _ <&7 || exit 123
fi
cd /work
exec 8>&2 2>/dev/null
chrt --idle 0 prlimit "$@" -- timeout --signal=KILL "$limit" bash -c "$command" bash </dev/null 2>&8 4>&- 7<&- 8>&-
code=$?
exec >/dev/null 7<&- 8>&-
kill -9 -1
while wait -n; do :; done
echo "$code" >&4
exec tar -c --format=gnu --hard-dereference --ignore-failed-read -f - -C / work >&4`

/** What of the machine is seen, for reading: its programs and libraries, and how they find each other. */
const VISIBLE = ['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libx32']
const VISIBLE_BESIDE = [
  ...['/usr/libexec', '/usr/share', '/usr/include'],
  ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/localtime'],
  ...[
    '/etc/ssl/certs',
    '/etc/ssl/openssl.cnf',
    '/etc/pki/tls/certs',
    '/etc/ca-certificates',
    '/etc/mime.types',
  ],
]
const ROOT_FOLDERS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']
const DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom']
/** What the kernel tells of the whole machine. */
const HIDDEN = [
  '/proc/kcore',
  '/proc/keys',
  '/proc/key-users',
  '/proc/kallsyms',
  '/proc/cmdline',
  '/proc/kmsg',
]
const HIDDEN_BESIDE = [
  '/proc/config.gz',
  '/proc/sched_debug',
  '/proc/timer_list',
  '/proc/iomem',
  '/proc/modules',
]

/** All folders and files of the machine that a sandbox sees. */
export function visiblePaths(): string[] {
  return [...VISIBLE, ...VISIBLE_BESIDE].filter((path) => existsSync(path))
}

/** Program and arguments of a sandbox that runs for `timeoutMs`. */
export function sandboxCommandLine(
  limits: SandboxLimits,
  timeoutMs: number,
  egress: EgressRelay | null,
): readonly string[] {
  const inside = [INSIDE, 'bash', `${(timeoutMs / 1000).toFixed(3)}s`, egress === null ? '' : 'relay']
  const wrapped = [
    ...bubblewrapArguments(egress),
    '--',
    '/usr/bin/bash',
    '-c',
    ...inside,
    ...prlimits(limits),
  ]
  const stage = [STAGE, 'bash', String(limits.diskBytes), String(limits.files), ...wrapped]
  return ['/bin/bash', '-c', LAUNCH, 'bash', ...stage]
}

/** Soft and hard alike. Memory is bounded for each process here, over the whole tree by who watches it. */
function prlimits(limits: SandboxLimits): string[] {
  const both = (name: string, value: number): string => `--${name}=${value}:${value}`
  return [
    both('nproc', limits.processes),
    both('nofile', limits.openFiles),
    both('fsize', limits.fileBytes),
    both('cpu', limits.cpuSeconds),
    both('data', limits.memoryBytes),
    // Runtimes reserve far more than they use.
    both('as', Math.max(limits.memoryBytes * 4, 2 ** 32)),
    ...[both('core', 0), both('memlock', 0), both('msgqueue', 0), both('sigpending', limits.processes)],
  ]
}

function bubblewrapArguments(egress: EgressRelay | null): string[] {
  return [
    ...[
      '--unshare-user',
      '--unshare-ipc',
      '--unshare-pid',
      '--unshare-net',
      '--unshare-uts',
      '--unshare-cgroup',
    ],
    ...['--disable-userns', '--uid', NOBODY, '--gid', NOBODY, '--hostname', 'sandbox'],
    ...['--die-with-parent', '--as-pid-1', '--cap-drop', 'ALL', '--clearenv'],
    ...['--seccomp', String(DESCRIPTORS.filter), '--info-fd', String(DESCRIPTORS.info)],
    ...VISIBLE.flatMap((path) => ['--ro-bind-try', path, path]),
    ...VISIBLE_BESIDE.flatMap((path) => ['--ro-bind-try', path, path]),
    ...ROOT_FOLDERS.filter((name) => existsSync(`/usr/${name}`)).flatMap((name) => [
      '--symlink',
      `usr/${name}`,
      `/${name}`,
    ]),
    ...['--dir', '/etc', '--symlink', '/proc/mounts', '/etc/mtab'],
    ...['--proc', '/proc'],
    ...[...HIDDEN, ...HIDDEN_BESIDE]
      .filter((path) => existsSync(path))
      .flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...['--remount-ro', '/proc', '--dir', '/dev'],
    ...DEVICES.flatMap((path) => ['--dev-bind', path, path]),
    ...['--symlink', '/proc/self/fd', '/dev/fd', '--symlink', '/proc/self/fd/0', '/dev/stdin'],
    ...['--symlink', '/proc/self/fd/1', '/dev/stdout', '--symlink', '/proc/self/fd/2', '/dev/stderr'],
    ...[
      '--bind',
      '/dev/shm/shm',
      '/dev/shm',
      '--bind',
      '/dev/shm/work',
      '/work',
      '--bind',
      '/dev/shm/tmp',
      '/tmp',
    ],
    ...(egress === null ? [] : egressArguments(egress)),
    ...['--remount-ro', '/'],
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}

const ENVIRONMENT = {
  PATH: '/usr/bin:/bin:/usr/sbin:/sbin',
  HOME: '/work',
  TMPDIR: '/tmp',
  USER: 'nobody',
  LANG: 'C.UTF-8',
  SHELL: '/bin/bash',
  PYTHONDONTWRITEBYTECODE: '1',
}

/** Port of the sandbox's loopback on which programs find the proxy. */
export const PROXY_PORT = 3128

function egressArguments({ socketPath, node, programPath }: EgressRelay): string[] {
  const proxy = `http://127.0.0.1:${PROXY_PORT}`
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'all_proxy']
  return [
    ...['--ro-bind', node, '/opt/egress/node', '--ro-bind', programPath, '/opt/egress/relay.cjs'],
    ...['--bind', socketPath, '/opt/egress/socket'],
    ...names.flatMap((name) => ['--setenv', name, proxy]),
  ]
}
