/** A load tool as data and three functions: how it is recognised, started, and read. */
import type { LoadToolReport } from '../../../src/lab/run-summary.js'
import type { NpmProgram } from '../../harness/npm-program.js'
import type { CurvePoint, HeatCells, StreamCurves } from '../report/repetition.js'

/** What a tool is told to do. */
export interface ToolJob {
  readonly url: URL
  readonly connections: number
  readonly seconds: number
  /** Requests per second; null for a loop that goes as fast as it can. */
  readonly rate: number | null
  readonly timeoutS: number
  readonly seed: number
  /** For operations that ask who calls. */
  readonly key?: string
  /** A folder of this job alone, for scripts and logs. */
  readonly folder: string
}

export interface ToolCommand {
  readonly argv: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Written into the job's folder before the start. */
  readonly files?: Readonly<Record<string, string>>
  /** Run when the first has ended; its output is appended. For tools that measure first and report later. */
  readonly reportedBy?: readonly string[]
}

/** What a tool left behind. */
export interface ToolOutput {
  readonly stdout: string
  readonly stderr: string
  /** A file of the job's folder, or null when the tool did not write it. */
  readonly file: (name: string) => string | null
}

/** What the tool itself says; who it was and what it cost is added by the runner. Latencies in milliseconds. */
export type ToolFigures = Partial<LoadToolReport> &
  Pick<LoadToolReport, 'durationS' | 'done' | 'errors' | 'statuses' | 'rps' | 'percentiles' | 'quantum'> & {
    /** More of the curve than the percentiles, where the tool gives it. */
    readonly curve?: readonly CurvePoint[]
    /** Work alone, without watching the clock: for a tool that spins between its requests. */
    readonly busyShare?: number
    readonly heat?: HeatCells
    /** Of a driver of event streams. */
    readonly streams?: StreamCurves
  }

/** One way to run a tool. A tool that behaves differently by its options has several. */
export interface ToolVariant {
  readonly name: string
  /** What it does, in a few words for the report. */
  readonly says: string
  readonly loop: 'open' | 'closed'
  /** `needed`: it is run at a rate only. `none`: it cannot keep one. */
  readonly rate: 'needed' | 'none'
  /** Run only in scenarios that ask for this variant by name. */
  readonly onlyWhenAsked?: true
  /** Longest patience it can be given, in seconds; null: that of the job. */
  readonly fixedTimeoutS?: number
  /** Shortest run it can be trusted with, in seconds. */
  readonly leastSeconds?: number
  /** What it takes besides to start and to end, in seconds, where that is more than a moment: a hold then waits for its first request. */
  readonly overheadS?: number
  readonly command: (job: ToolJob, program: string) => ToolCommand
  /** Throws UnreadableOutput. */
  readonly parse: (output: ToolOutput, job: ToolJob) => ToolFigures
}

export interface ToolProbe {
  /** Names under which it may be installed. */
  readonly programs: readonly string[]
  readonly args: readonly string[]
  /** The version in the text it prints, or null when this is another program. */
  readonly version: (text: string) => string | null
}

export interface Tool {
  readonly name: string
  /** A text: it comes with this project, in that version. */
  readonly probe: ToolProbe | string
  /** Why it is recognised but cannot be used here; null where it can. */
  readonly unusable?: () => string | null
  /** Where it comes from when it is not on the PATH: installed only when somebody asks. */
  readonly npm?: NpmProgram
  readonly variants: readonly ToolVariant[]
}

/** A tool that programs of this name are, when what they print for `args` holds a version: the match, or its group. */
export function probe(program: string, args: string, version: RegExp): ToolProbe {
  return { programs: [program], args: [args], version: (text) => version.exec(text)?.at(-1) ?? null }
}

type ToolUse = Pick<ToolVariant, 'command' | 'parse'>
type VariantDefinition = Omit<ToolVariant, keyof ToolUse> & Partial<ToolUse>
type VariantMore = Partial<Omit<VariantDefinition, 'name' | 'says' | 'loop' | 'rate'>>

/** A variant that is a closed loop and goes as fast as it can. */
export const closedLoop = (name: string, says: string, more: VariantMore = {}): VariantDefinition => {
  return { name, says, loop: 'closed', rate: 'none', ...more }
}

/** A variant that is a closed loop held to a rate. */
export const closedAtRate = (name: string, says: string, more: VariantMore = {}): VariantDefinition => {
  return { name, says, loop: 'closed', rate: 'needed', ...more }
}

/** A variant that is an open loop. */
export const openLoop = (name: string, says: string, more: VariantMore = {}): VariantDefinition => {
  return { name, says, loop: 'open', rate: 'needed', ...more }
}

interface ToolDefinition extends Omit<Tool, 'variants'>, ToolUse {
  readonly variants: readonly VariantDefinition[]
}

/** A tool whose variants are all started and read in one way, where a variant does not bring its own. */
export function defineTool({ command, parse, variants, ...tool }: ToolDefinition): Tool {
  return { ...tool, variants: variants.map((variant) => ({ command, parse, ...variant })) }
}

/**
 * A command as it would be typed, as arguments: spaces of the template part them, spaces of what is filled in do not, and
 * a list that is filled in stands for as many arguments.
 */
export function commandLine(
  texts: TemplateStringsArray,
  ...values: readonly (string | number | readonly string[])[]
): string[] {
  const argv = ['']
  for (const [index, text] of texts.entries()) {
    const [first = '', ...rest] = text.split(/\s+/)
    argv[argv.length - 1] += first
    argv.push(...rest)
    const value = values[index]
    if (typeof value === 'object') argv.push(...value, '')
    else if (value !== undefined) argv[argv.length - 1] += String(value)
  }
  return argv.filter((argument) => argument !== '')
}

/** A tool printed nothing, or nothing that its parser knows; the message is one sentence. */
export class UnreadableOutput extends Error {}
