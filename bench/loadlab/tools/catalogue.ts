/** Every load tool the comparison knows, and which of them are here. */
import { spawnSync } from 'node:child_process'
import { UsageError } from '../../harness/option-values.js'
import { autocannon } from './autocannon.js'
import { bombardier, fortio, oha, siege, vegeta } from './json-tools.js'
import { k6 } from './k6.js'
import { drive } from './own-drivers.js'
import { ab, h2load, hey, httperf, loadtest, locust } from './text-tools.js'
import type { Tool } from './tool.js'
import { wrk, wrk2 } from './wrk.js'

export const TOOLS: readonly Tool[] = [
  drive,
  autocannon,
  wrk,
  wrk2,
  h2load,
  hey,
  k6,
  oha,
  vegeta,
  fortio,
  bombardier,
  loadtest,
  siege,
  locust,
  httperf,
  ab,
]

/** A tool that is here. */
export interface InstalledTool {
  readonly tool: Tool
  /** What it says of itself. */
  readonly version: string
  /** How to start it; empty for what comes with this project. */
  readonly program: string
}

const PROBE_LIMIT_MS = 10_000

/** What a program prints when it is asked with `args`; an empty text when it cannot be started. */
type ProgramProbe = (program: string, args: readonly string[]) => string

const askProgram: ProgramProbe = (program, args) => {
  const { stdout, stderr } = spawnSync(program, [...args], {
    encoding: 'utf8',
    timeout: PROBE_LIMIT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return `${stdout ?? ''}\n${stderr ?? ''}`
}

/** Looks for a tool by what programs of its name say, because names lie: null when it is not here. */
export function findTool(tool: Tool, ask: ProgramProbe = askProgram): InstalledTool | null {
  if (typeof tool.probe === 'string') return { tool, version: tool.probe, program: '' }
  for (const program of tool.probe.programs) {
    const version = tool.probe.version(ask(program, tool.probe.args))
    if (version !== null) return { tool, version, program }
  }
  return null
}

/** `npm run bench -- tools`: what the comparison would find here. */
export async function toolsCommand(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new UsageError(`tools takes no options, not '${args[0]}'`)
  for (const tool of TOOLS) {
    const found = findTool(tool)
    const state = found === null ? 'not installed' : (tool.unusable ?? found.version)
    process.stdout.write(`${tool.name.padEnd(14)} ${state}\n`)
    if (found === null) continue
    for (const { name, says } of tool.variants) process.stdout.write(`  ${name.padEnd(20)} ${says}\n`)
  }
  return 0
}
