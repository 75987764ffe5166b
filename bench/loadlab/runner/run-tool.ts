/** One run of one tool: started on its core, bounded in time and output, its CPU measured, its output read. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pinnedCommand } from '../../harness/machine/pinning.js'
import { reapedCpuMs } from '../../harness/machine/proc.js'
import type { ChildProcesses } from '../../harness/server/child-processes.js'
import {
  type ToolCommand,
  type ToolFigures,
  type ToolJob,
  type ToolOutput,
  type ToolVariant,
  UnreadableOutput,
} from '../tools/tool.js'

export interface ToolRun {
  readonly argv: readonly string[]
  /** Null: there are no figures, and `failure` says why. */
  readonly figures: ToolFigures | null
  readonly failure: string | null
  /** Cores it kept busy over its whole life; null where that cannot be read. */
  readonly cpuShare: number | null
  readonly wallS: number
}

export interface ToolPlace {
  readonly cores: readonly number[] | null
  readonly children: ChildProcesses
  readonly tempFolder: string
  /** Ends the tool that runs, when it is aborted. */
  readonly signal?: AbortSignal
  /** What a tool may take beyond its job to start and to end; 20 s unless a test is shorter of patience. */
  readonly startingS?: number
}

/** More than any tool prints; beyond it the rest is thrown away. */
const MOST_OUTPUT = 32 * 1024 * 1024
const STARTING_S = 20

/** Longest a tool may take that was told to run for `seconds`. */
export const longestSeconds = (seconds: number, startingS = STARTING_S): number => seconds * 1.5 + startingS

/**
 * Runs `variant` of the tool that `program` starts. Never rejects: a tool that crashes, hangs, prints nothing or is
 * killed gives a `failure`, one sentence.
 */
export async function runTool(
  variant: ToolVariant,
  program: string,
  job: Omit<ToolJob, 'folder'>,
  place: ToolPlace,
): Promise<ToolRun> {
  const folder = mkdtempSync(join(place.tempFolder, 'tool-'))
  try {
    const whole: ToolJob = { ...job, folder }
    const command = variant.command(whole, program)
    for (const [name, text] of Object.entries(command.files ?? {})) writeFileSync(join(folder, name), text)
    return await measureProcess(variant, whole, command, place)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureProcess(variant: ToolVariant, job: ToolJob, command: ToolCommand, place: ToolPlace) {
  const before = reapedCpuMs()
  const began = performance.now()
  const ended = await runProcess(command.argv, command, job, place)
  const wallS = (performance.now() - began) / 1000
  const after = reapedCpuMs()
  const cpuShare = before === null || after === null || wallS === 0 ? null : (after - before) / 1000 / wallS
  const failedRun = (failure: string): ToolRun => ({
    argv: command.argv,
    figures: null,
    failure,
    cpuShare,
    wallS,
  })
  if (ended.failure !== null) return failedRun(ended.failure)
  let { stdout, stderr } = ended
  if (command.reportedBy !== undefined) {
    const reported = await runProcess(command.reportedBy, command, job, place)
    if (reported.failure !== null) return failedRun(reported.failure)
    stdout += reported.stdout
    stderr += reported.stderr
  }
  try {
    const figures = variant.parse({ stdout, stderr, file: (name) => readJobFile(job.folder, name) }, job)
    if (figures.done === 0) return failedRun(`it got no answer at all${countedFailures(figures)}`)
    return { argv: command.argv, figures, failure: null, cpuShare, wallS }
  } catch (error) {
    if (!(error instanceof UnreadableOutput)) throw error
    return failedRun(`it ended with code ${ended.code} and ${error.message}`)
  }
}

interface ProcessEnd extends Pick<ToolOutput, 'stdout' | 'stderr'> {
  readonly code: number | null
  readonly failure: string | null
}

/** Waits for the end of a process, at most half as long again as its job and some time for its start. */
async function runProcess(
  argv: readonly string[],
  command: ToolCommand,
  job: ToolJob,
  { cores, children, signal, startingS = STARTING_S }: ToolPlace,
): Promise<ProcessEnd> {
  const child = children.start(pinnedCommand(cores, argv), {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: job.folder,
    env: { ...process.env, ...command.environment },
    // A Ctrl-C of the terminal is for the runner, which then ends the tool by itself.
    detached: true,
  })
  const stop = () => void children.stop(child)
  signal?.addEventListener('abort', stop, { once: true })
  const stdout = collectOutput(child.stdout)
  const stderr = collectOutput(child.stderr)
  child.stdin?.on('error', () => {})
  child.stdin?.end(command.stdin ?? '')
  const limitS = longestSeconds(job.seconds, startingS)
  let hung = false
  const timer = setTimeout(() => {
    hung = true
    stop()
  }, limitS * 1000)
  const { code, killedBy, error } = await untilClosed(child)
  clearTimeout(timer)
  signal?.removeEventListener('abort', stop)
  const failure =
    error !== null
      ? `it could not be started: ${error.message}`
      : hung
        ? `it did not end within ${limitS.toFixed(0)} s and was stopped`
        : killedBy !== null
          ? `it was killed by ${killedBy}`
          : null
  return { stdout: stdout(), stderr: stderr(), code, failure }
}

function untilClosed(
  child: ChildProcess,
): Promise<{ code: number | null; killedBy: NodeJS.Signals | null; error: Error | null }> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, killedBy: null, error }))
    child.once('close', (code, killedBy) => resolve({ code, killedBy, error: null }))
  })
}

/** Reads a pipe to its end; what is beyond the bound is read and thrown away, so that the tool never blocks. */
function collectOutput(stream: NodeJS.ReadableStream | null): () => string {
  const parts: Buffer[] = []
  let length = 0
  stream?.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length <= MOST_OUTPUT) parts.push(chunk)
  })
  return () => Buffer.concat(parts).toString('utf8')
}

function readJobFile(folder: string, name: string): string | null {
  try {
    return readFileSync(join(folder, name), 'utf8')
  } catch {
    return null
  }
}

function countedFailures({ errors }: ToolFigures): string {
  const counted = Object.entries(errors).map(([name, count]) => `${name} ${count}`)
  return counted.length === 0 ? '' : ` (${counted.join(', ')})`
}
