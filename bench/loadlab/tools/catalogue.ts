/** Every load tool the comparison knows, and which of them are here. */
import { spawnSync } from 'node:child_process'
import { installNpmProgram, npmProgramPath } from '../../harness/npm-program.js'
import { readFlags } from '../../harness/option-values.js'
import { ab } from './ab.js'
import { artillery } from './artillery.js'
import { autocannon } from './autocannon.js'
import { bombardier, fortio, oha, siege, vegeta } from './json-tools.js'
import { k6 } from './k6.js'
import { drive } from './own-drivers.js'
import { h2load, hey, httperf, loadtest, locust } from './text-tools.js'
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
  artillery,
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

/** artillery takes seconds to say who it is. */
const PROBE_LIMIT_MS = 20_000

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
  for (const program of [...tool.probe.programs, ...(tool.npm ? [npmProgramPath(tool.npm)] : [])]) {
    const version = tool.probe.version(ask(program, tool.probe.args))
    if (version !== null) return { tool, version, program }
  }
  return null
}

const toolsUsage = `npm run bench -- tools [--install]

The load tools that the comparison knows, and which are here.

  --install  put those that npm has into this project's cache of downloads, in the versions that were tried and without
             their install scripts: ${TOOLS.flatMap(({ npm }) => (npm ? [`${npm.name} ${npm.version}`] : [])).join(', ')}
`

/** `npm run bench -- tools`: what the comparison would find here. */
export async function toolsCommand(args: readonly string[]): Promise<number> {
  const { help, install } = readFlags(args, '', 'install help')
  if (help) process.stdout.write(toolsUsage)
  else for (const tool of TOOLS) process.stdout.write(toolLines(tool, install ?? false))
  return 0
}

function toolLines(tool: Tool, install: boolean): string {
  if (install && tool.npm && findTool(tool) === null) installNpmProgram(tool.npm)
  const found = findTool(tool)
  const absent = tool.npm ? 'not installed; npm run bench -- tools --install' : 'not installed'
  const state = found === null ? absent : (tool.unusable?.() ?? found.version)
  const variants = found === null ? [] : tool.variants
  return [
    `${tool.name.padEnd(14)} ${state}\n`,
    ...variants.map(({ name, says }) => `  ${name.padEnd(20)} ${says}\n`),
  ].join('')
}
