/** Where and with what a run was made. Paths of the machine are left out on purpose: reports get published. */
import { spawnSync } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'

export type MachineRecord = ReturnType<typeof describeMachine>

export type SourceRecord = ReturnType<typeof describeSource>

/** Describes the machine; what cannot be found out is `unknown`. */
export function describeMachine(dataFolder: string) {
  return {
    cpu: processorName(),
    cores: availableParallelism(),
    /** `on`, `off` or `unknown`: two logical cores of one physical core share its speed. */
    smt:
      ({ '0': 'off', '1': 'on' } as Record<string, string>)[
        readTextOrUnknown('/sys/devices/system/cpu/smt/active')
      ] ?? 'unknown',
    frequencyPolicy: readTextOrUnknown('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'),
    virtualMachine: detectVirtualMachine(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    node: process.version,
    /** What the server's data folder lies on: a durable write on tmpfs costs nothing. */
    dataFileSystem: fileSystemName(dataFolder),
    loadAverageBefore: readTextOrUnknown('/proc/loadavg').split(' ').slice(0, 3).join(' '),
  }
}

/** The machine in a line of a report. */
export function machineLine(machine: MachineRecord): string {
  const { cpu, cores, smt, frequencyPolicy, virtualMachine, memoryGiB, kernel, loadAverageBefore } = machine
  const about = `SMT ${smt}, frequency policy ${frequencyPolicy}, virtual machine ${virtualMachine}`
  return `machine: ${cpu}, ${cores} cores, ${about}, ${memoryGiB} GiB, ${kernel}; load before the run ${loadAverageBefore}`
}

/** What was measured in a line of a report. */
export function sourceLine({ revision, libraries }: SourceRecord, machine: MachineRecord): string {
  const versions = Object.entries(libraries).map(([name, version]) => `${name} ${version}`)
  return `revision ${revision}; node ${machine.node}; ${versions.join(', ')}`
}

/** Describes what was measured: the commit and the installed version of every run-time library. */
export function describeSource(projectFolder: string) {
  return {
    /** Short commit, with `-dirty` when files were changed; `unknown` outside a checkout. */
    revision: gitRevision(projectFolder),
    libraries: libraryVersions(projectFolder),
  }
}

function gitRevision(folder: string): string {
  const git = spawnSync('git', ['describe', '--always', '--dirty', '--abbrev=10'], {
    cwd: folder,
    encoding: 'utf8',
  })
  return git.status === 0 ? git.stdout.trim() : 'unknown'
}

function libraryVersions(folder: string): Record<string, string> {
  const { dependencies = {}, devDependencies = {} } = readJson(join(folder, 'package.json'))
  const names = [
    ...Object.keys(dependencies),
    ...Object.keys(devDependencies).filter((name) => name === 'autocannon'),
  ]
  return Object.fromEntries(
    names.map((name) => [
      name,
      readJson(join(folder, 'node_modules', name, 'package.json')).version ?? 'unknown',
    ]),
  )
}

interface PackageFile {
  readonly version?: string
  readonly dependencies?: Record<string, string>
  readonly devDependencies?: Record<string, string>
}

function readJson(path: string): PackageFile {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as PackageFile
  } catch {
    return {}
  }
}

/**
 * The name that the processor gives itself, with its family where it has one: virtual machines say "AMD EPYC" for
 * generations that are eight years apart.
 */
function processorName(): string {
  const name = cpus()[0]?.model.trim() ?? 'unknown'
  const family = /^cpu family\s*:\s*(\d+)$/m.exec(readTextOrUnknown('/proc/cpuinfo'))?.[1]
  return family === undefined ? name : `${name}, family ${family}`
}

function detectVirtualMachine(): string {
  const flags = readTextOrUnknown('/proc/cpuinfo')
  if (flags === 'unknown') return 'unknown'
  return /^flags\s*:.*\bhypervisor\b/m.test(flags) ? 'yes' : 'no'
}

/** Magic numbers of statfs(2). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  16914836: 'tmpfs',
  1481003842: 'xfs',
  2035054128: 'overlay',
  2435016766: 'btrfs',
  26985: 'nfs',
}

function fileSystemName(folder: string): string {
  const { type: magic } = statfsSync(folder)
  return FILE_SYSTEMS[magic] ?? `0x${magic.toString(16)}`
}

function readTextOrUnknown(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return 'unknown'
  }
}

const LIMIT_FILES: Readonly<Record<string, string>> = {
  'local port range': '/proc/sys/net/ipv4/ip_local_port_range',
  'listen backlog': '/proc/sys/net/core/somaxconn',
  'SYN backlog': '/proc/sys/net/ipv4/tcp_max_syn_backlog',
}

/** Limits of the system that bound a run. */
export function systemLimits(): Record<string, string> {
  const { stdout, status } = spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })
  const limits = Object.entries(LIMIT_FILES).map(([name, file]) => [
    name,
    readTextOrUnknown(file).replaceAll(/\s+/g, ' '),
  ])
  return { 'open files': status === 0 ? stdout.trim() : 'unknown', ...Object.fromEntries(limits) }
}
