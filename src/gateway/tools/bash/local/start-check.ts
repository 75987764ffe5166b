/**
 * Whether this machine can hold a sandbox. One is started with all that a command gets, and tells what it finds; what
 * promises less than contract/tools 6.1 is not used at all.
 */
import { existsSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { type SandboxLimits, sandboxCommandLine, visiblePaths } from './bubblewrap.js'
import { runSandbox } from './sandbox-process.js'
import { seccompProgram } from './seccomp.js'

interface StartCheckOptions {
  readonly uid: number | null
  readonly limits: SandboxLimits
  /** Folders of this server that no sandbox may see. */
  readonly hidden: readonly string[]
  /** Ends the look: nobody wants its answer any more. */
  readonly signal?: AbortSignal
  /** For trials: the machine's programs are looked for as usual, and the sandbox is started by these. */
  readonly commandLine?: readonly string[]
}

const PROGRAMS = ['bwrap', 'unshare', 'nice', 'chrt', 'prlimit', 'timeout', 'tar', 'mount', 'bash', 'mkdir']
const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin']
const CHECK_MS = 20_000
const REPORT_BYTES = 64 * 1024

const REPORT = `
for name in /proc/self/ns/*; do echo "ns \${name##*/} $(readlink $name)"; done
compgen -e | while read -r name; do echo "env $name"; done
while read -r line; do echo "status $line"; done </proc/self/status
while read -r line; do echo "mount $line"; done </proc/self/mounts
while read -r line; do echo "limit $line"; done </proc/self/limits
if unshare --user true 2>/dev/null; then echo nested; fi
`

/** What is missing, a sentence each; none where a sandbox may be started. Never rejects. */
export async function missingForSandbox(options: StartCheckOptions): Promise<readonly string[]> {
  const before = missingOnMachine(options)
  if (before.length > 0) return before
  try {
    return missingIn(await reportOf(options), options)
  } catch (error) {
    return [`the sandbox could not be started: ${(error as Error).message}`]
  }
}

function missingOnMachine({ uid, hidden }: StartCheckOptions): string[] {
  if (process.platform !== 'linux') return ['sandboxes need Linux']
  const missing = PROGRAMS.filter((name) => !FOLDERS.some((folder) => existsSync(`${folder}/${name}`))).map(
    (name) => `the program ${name} is missing${name === 'bwrap' ? ': install bubblewrap' : ''}`,
  )
  if (seccompProgram(process.arch) === null) missing.push(`no filter of system calls for ${process.arch}`)
  if (!existsSync('/proc/thread-self/children')) {
    missing.push(
      'no memory ceiling: the kernel does not list the children of processes (CONFIG_PROC_CHILDREN)',
    )
  }
  if (uid === null && process.getuid?.() === 0) missing.push('no uid of its own: set tools.bash.uid')
  const visible = visiblePaths().map((path) => `${realpathSync(path)}/`)
  for (const folder of hidden.filter((path) => existsSync(path))) {
    if (!visible.some((path) => `${realpathSync(folder)}/`.startsWith(path))) continue
    missing.push(`the folder ${folder} lies where sandboxes read the programs of the machine: move it`)
  }
  return missing
}

async function reportOf({ uid, limits, signal, commandLine }: StartCheckOptions): Promise<readonly string[]> {
  const { stdout, stderr, ended } = await runSandbox(
    {
      commandLine: commandLine ?? sandboxCommandLine(limits, CHECK_MS, null),
      filter: seccompProgram(process.arch)!,
      uid,
      command: REPORT,
      state: null,
      memoryBytes: limits.memoryBytes,
      limitMs: CHECK_MS,
      maxOutputBytes: REPORT_BYTES,
      signal: signal ?? new AbortController().signal,
    },
    async (packed) => {
      for await (const _ of packed);
    },
  )
  if (stdout === '')
    throw new Error(stderr.trim().split('\n')[0] || `it did not answer (${ended ?? 'it ended'})`)
  return stdout.split('\n')
}

function missingIn(lines: readonly string[], { limits }: StartCheckOptions): string[] {
  const of = (kind: string): string[] =>
    lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1))
  return [
    ...missingNamespaces(of('ns')),
    ...(lines.includes('nested') ? ['user namespaces can be made within (--disable-userns)'] : []),
    ...foreignVariables(of('env')),
    ...missingStatus(of('status')),
    ...unboundedMounts(of('mount')),
    ...missingLimits(of('limit'), limits),
  ]
}

/** Every kind of namespace that the kernel has. */
function missingNamespaces(lines: readonly string[]): string[] {
  const within = new Map(lines.map((line) => line.split(' ') as [string, string]))
  return readdirSync('/proc/self/ns')
    .filter(
      (name) => (within.get(name) ?? '') === '' || within.get(name) === readlinkSync(`/proc/self/ns/${name}`),
    )
    .map((name) => `the namespace ${name} is not its own`)
}

const VARIABLES = /^(?:PATH|HOME|TMPDIR|USER|LANG|SHELL|PWD|OLDPWD|SHLVL|_|PYTHONDONTWRITEBYTECODE)$/

function foreignVariables(names: readonly string[]): string[] {
  return names.every((name) => VARIABLES.test(name)) ? [] : ['the environment is not empty (--clearenv)']
}

function missingStatus(lines: readonly string[]): string[] {
  const status = new Map(lines.map((line) => line.split(/:\s+/) as [string, string]))
  const missing: string[] = []
  if (status.get('Seccomp') !== '2') missing.push('there is no filter of system calls (seccomp)')
  if (status.get('NoNewPrivs') !== '1') missing.push('programs may gain privileges (no_new_privs)')
  const sets = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']
  if (!sets.every((name) => /^0+$/.test(status.get(name) ?? ''))) missing.push('capabilities are left')
  if (!/^65534\s/.test(status.get('Uid') ?? '')) missing.push('it has no uid of its own')
  return missing
}

/** Everything that can be written is in memory, with room for so many bytes and files. */
function unboundedMounts(lines: readonly string[]): string[] {
  return lines
    .map((line) => line.split(' '))
    .filter(([, where = '', , options = '']) => options.startsWith('rw') && !DEVICE.test(where))
    .filter(([, , type, options = '']) => type !== 'tmpfs' || !/\bsize=.*\bnr_inodes=/.test(options))
    .map(([, where]) => `what is written to ${where} has no bound (--size)`)
}

const DEVICE = /^\/dev\/(?:null|zero|full|random|urandom)$/

function missingLimits(lines: readonly string[], limits: SandboxLimits): string[] {
  const wanted: readonly (readonly [string, number])[] = [
    ['Max cpu time', limits.cpuSeconds],
    ['Max processes', limits.processes],
    ['Max file size', limits.fileBytes],
    ['Max open files', limits.openFiles],
    ['Max data size', limits.memoryBytes],
  ]
  return wanted
    .filter(([name, value]) => {
      const line = lines.find((one) => one.startsWith(name)) ?? ''
      const [soft, hard] = line.slice(name.length).trim().split(/\s+/)
      return soft !== String(value) || hard !== String(value)
    })
    .map(([name]) => `the limit is not held: ${name.toLowerCase()}`)
}
