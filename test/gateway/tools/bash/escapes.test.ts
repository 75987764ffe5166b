/**
 * Ways out of a sandbox, each of which prints `held` where it is closed and anything else where it is not. They are
 * tried with what every Debian has: bash, coreutils, util-linux, perl.
 */
import { createServer, type Server } from 'node:net'
import { test } from 'tap'
import type { Lifetime } from '../../../support/data/temp-folder.js'
import { listen } from '../../../support/servers/listen.js'
import {
  leftProcesses,
  openSandboxStage,
  ownMounts,
  type SandboxStage,
  whyNoSandbox,
} from '../../../support/tools/local-sandbox.js'

const CANARY = 'canary-of-the-environment-51b155bd'
process.env.SLUICE_TEST_CANARY = CANARY

/** Numbers of system calls of this machine, by x86_64 and aarch64. */
const number = (x64: number, arm64: number): number => (process.arch === 'x64' ? x64 : arm64)
/** Prints held when the call fails with one of these errors: EPERM, ENOSYS, EAFNOSUPPORT. */
const calling = (...words: (number | string)[]): string =>
  `perl -e '$r = syscall(${words.join(', ')}); $e = $! + 0; print $r == -1 && ($e == 1 || $e == 38 || $e == 97) ? "held" : "open $r $e"'`
/** Prints held when the command fails. */
const failing = (command: string): string =>
  `if ${command} >/dev/null 2>&1; then echo open; else echo held; fi`
/** Prints held when no line of what the command says matches. */
const without = (pattern: string, command: string): string =>
  `if ${command} 2>/dev/null | grep -aqE '${pattern}'; then echo open; else echo held; fi`

/** Each of them has to fail. */
const failingEach = (command: string, ...items: string[]): string =>
  items.map((item) => failing(`${command} ${item}`)).join('; ')

interface Outside {
  readonly tcpPort: number
  readonly abstractName: string
  readonly folder: string
}

const NEW_USER = 0x10000000
const dialTcp = (host: string, port: number | string): string =>
  failing(`timeout 3 bash -c '</dev/tcp/${host}/${port}'`)
const pairOf = (family: number): string => calling(number(53, 199), family, 1, 0, 0)
const socketOf = (family: number): string => calling(number(41, 198), family, 1, 0)

const ESCAPES: Readonly<Record<string, (outside: Outside) => string>> = {
  'its own environment': () => without('SLUICE|canary', 'env'),
  'the environment of every process': () => without(CANARY, 'cat /proc/[0-9]*/environ'),
  'processes of the machine': () => without('^[0-9]{4,}$', 'ls /proc'),
  'a signal to the server': () => failing(`kill -0 ${process.pid}`),
  'a signal to all, which must not end the packing': () => 'kill -9 1; echo held',
  'memory of the machine': () =>
    failingEach('grep -qm1 .', '/dev/mem', '/dev/kmem', '/dev/port', '/proc/kcore'),
  'the log of the kernel': () => `${failing('dmesg')}; ${failing('cat /dev/kmsg')}`,
  'tables of the kernel': () => without('.', 'cat /proc/kallsyms /proc/keys /proc/modules /proc/cmdline'),
  'the folder of the server': ({ folder }) => failingEach('ls', folder, process.cwd()),
  'files of the machine': () =>
    failingEach('ls', '/etc/shadow', '/etc/passwd', '/root', '/home', '/var', '/srv', '/opt', '/boot'),
  'more than programs below /usr': () => failingEach('ls', '/usr/local', '/usr/src'),
  'writing where programs are': () =>
    failingEach('touch', '/usr/bin/x', '/usr/lib/x', '/etc/x', '/x', '/dev/x', '/proc/x'),
  'making programs writable': () => failing('chmod 777 /usr/bin/true'),
  'the file systems of the machine': () =>
    failingEach('ls', '/sys', '/sys/kernel', '/sys/fs/cgroup', '/mnt', '/media'),
  'writing to cgroups': () => without('[a-z0-9]', 'cut -d: -f3 /proc/self/cgroup'),
  'settings of the kernel': () => failing('bash -c "echo x >/proc/sys/kernel/core_pattern"'),
  'keys of the magic system request': () => failing('bash -c "echo b >/proc/sysrq-trigger"'),
  'who is ended first': () => failing('bash -c "echo -1000 >/proc/self/oom_score_adj"'),
  'a larger share of the processor': () =>
    `${failing('renice -n -5 $$')}; ${failing('chrt -o -p 0 $$')}; ${failing('bash -c "echo 0 >/proc/self/autogroup"')}; ${failing('setsid true')}`,
  'larger limits': () =>
    `${failing('ulimit -u 10000')}; ${failing('prlimit --pid 1 --nproc=1')}; ${failing('ulimit -c 1')}`,
  'a core of memory': () => `${without('^core', 'bash -c "kill -SEGV \\$\\$"; ls')}`,
  'namespaces by a program': () => failing('unshare --user --map-root-user true'),
  'namespaces by clone': () => calling(number(56, 220), NEW_USER | 17, 0, 0, 0, 0),
  'namespaces by clone3': () => calling(435, 0, 0),
  'namespaces of others': () => calling(number(308, 268), 0, 0),
  mounts: () => `${failing('mount -t tmpfs none /work')}; ${calling(number(165, 40), 0, 0, 0, 0, 0)}`,
  'mounts by descriptors': () =>
    `${calling(430, 0, 0)}; ${calling(428, -100, 0, 0)}; ${calling(429, 0, 0, 0, 0, 0)}`,
  unmounting: () => `${failing('umount /proc')}; ${calling(number(166, 39), 0, 2)}`,
  'a root of its own': () => `${failing('chroot / true')}; ${calling(number(155, 41), 0, 0)}`,
  'debugging others': () => calling(number(101, 117), 16, 1, 0, 0),
  'memory of others': () =>
    `${calling(number(310, 270), 1, 0, 0, 0, 0, 0)}; ${calling(number(311, 271), 1, 0, 0, 0, 0, 0)}`,
  'files of others': () => calling(438, 3, 0, 0),
  'the descriptors of the shell that packs': () => failing('bash -c "echo forged >/proc/1/fd/4"'),
  'descriptors of the server': () =>
    without(
      '^([3-9]|[0-9]{2,})$',
      'bash -c "cd /proc/\\$\\$/fd; echo *" | tr " " "\\n" | grep -v 255 | grep -v "^3$"',
    ),
  'the keyring': () =>
    `${calling(number(250, 219), 0, -3, 0)}; ${calling(number(248, 217), 0, 0, 0, 0, -3)}; ${calling(number(249, 218), 0, 0, 0, 0)}`,
  'programs in the kernel': () => calling(number(321, 280), 0, 0, 0),
  'counters of the processor': () => calling(number(298, 241), 0, 0, -1, -1, 0),
  'page faults in user space': () => calling(number(323, 282), 0),
  'rings of requests': () => `${calling(425, 1, 0)}; ${calling(426, 0, 0, 0, 0)}`,
  'modules and kernels': () =>
    `${calling(number(175, 105), 0, 0, 0)}; ${calling(number(313, 273), 0, 0, 0)}; ${calling(number(246, 104), 0, 0, 0, 0)}; ${calling(number(169, 142), 0, 0, 0)}`,
  'files by handles': () => calling(number(304, 265), 0, 0, 0),
  'memory of nobody': () =>
    `${calling(number(319, 279), 0, 0)}; ${calling(number(29, 194), 0, 4096, 0o1600)}; ${calling(number(68, 186), 0, 0o1600)}; ${calling(number(64, 190), 0, 1, 0o1600)}`,
  'calls that are newer than the filter': () => calling(462, 0, 0, 0),
  devices: () =>
    `${failing('mknod sda b 8 0')}; ${failing('mknod mem c 1 1')}; ${without('sd|vd|nvme|mem', 'ls /dev')}`,
  'programs that change their user': () => without('uid=0', 'su -c id; passwd --status; id'),
  'becoming root': () => `perl -e '$> = 0; $< = 0; print $> == 0 || $< == 0 ? "open" : "held"'`,
  capabilities: () => without('[1-9a-f]', 'grep ^Cap /proc/self/status | cut -f2'),
  'the clock': () =>
    `${failing('date -s 2001-01-01')}; ${calling(number(227, 112), 0, 0)}; ${calling(number(159, 171), 0)}`,
  'the name of the machine': () => failing('hostname other'),
  'input of a terminal': () =>
    `perl -e '$c = "x"; print ioctl(STDIN, 0x5412, $c) ? "open" : $! == 1 ? "held" : "other $!"'`,
  'loopback of the machine': ({ tcpPort }) => dialTcp('127.0.0.1', tcpPort),
  'loopback of the machine, by IPv6': ({ tcpPort }) => dialTcp('::1', tcpPort),
  'the address of metadata': () => dialTcp('169.254.169.254', 80),
  'private and public addresses': () => `${dialTcp('10.0.0.1', 80)}; ${dialTcp('1.1.1.1', 443)}`,
  names: () => failing('timeout 5 getent hosts example.com'),
  'sockets of the machine, by name': ({ abstractName }) =>
    `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, pack_sockaddr_un("\\0${abstractName}")) ? "open" : "held"'`,
  'sockets of other families': () => [40, 17, 16, 38, 44].map(socketOf).join('; '),
  'pairs of sockets of other families': () => [40, 30, 16].map(pairOf).join('; '),
  'sockets for which the kernel would load modules': () =>
    [[2, 6, 0] as const, [10, 5, 132] as const, [2, 1, 262] as const, [2, 2, 136] as const]
      .map((words) => calling(number(41, 198), ...words))
      .join('; '),
  'rings of the old kind': () => calling(number(206, 0), 1, 0),
  'the group of processes that the server is in': () => `perl -e 'print getpgrp(0) ? "held" : "open"'`,
  'devices of the network': () => without('eth|ens|enp|wlan', 'cat /proc/net/dev'),
}

async function openOutside(
  t: Lifetime,
  stage: SandboxStage,
): Promise<Outside & { readonly dials: () => number }> {
  let dials = 0
  const counting = (): Server => createServer(() => dials++)
  const tcpPort = await listen(t, counting())
  const abstractName = `sluice-test-${process.pid}`
  const named = counting()
  await new Promise<void>((resolve) => named.listen(`\0${abstractName}`, resolve))
  t.after(() => named.close())
  return { tcpPort, abstractName, folder: stage.folder, dials: () => dials }
}

const why = await whyNoSandbox()

test('no way out of a sandbox is open, and nothing is left of those who tried', {
  skip: why ?? false,
}, async (t) => {
  const stage = await openSandboxStage()
  t.teardown(() => stage.close())
  const outside = await openOutside(t, stage)
  const mounts = ownMounts()
  const attempts = Object.entries(ESCAPES)
  const scripts = attempts.map(
    ([, script], index) => `echo; echo "#${index}"; ( ${script(outside)} ) 2>/dev/null`,
  )
  const { stdout, exitCode, ended } = await stage.run(scripts.join('\n'), { timeoutMs: 120_000 })
  t.same({ exitCode, ended }, { exitCode: 0, ended: undefined })
  const told = new Map(
    stdout.split(/\n#/).map((part) => [Number.parseInt(part, 10), part.replace(/^\d+/, '')]),
  )
  for (const [index, [what]] of attempts.entries()) {
    const said = told.get(index) ?? 'nothing'
    t.ok(/^(?:\s*held)+\s*$/.test(said), what, { said })
  }
  t.ok(attempts.length >= 40)
  t.equal(outside.dials(), 0, 'nobody was reached')
  t.same(leftProcesses(), [], 'no process is left')
  t.same(ownMounts(), mounts, 'no mount is left')
})
