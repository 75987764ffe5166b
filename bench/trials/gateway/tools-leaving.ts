import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processTree } from '../../harness/machine/proc.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import { createOrganization } from '../storage/ledger-stage.js'
import { atMost, exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'
import { COMMAND_LABEL, SILENT_MODEL, TOOLS_IN_USE, type ToolInUse, WAITING_SERVER } from './leaving-tools.js'

const WAVES = 20
/** As many as their key may have under way: one place that stays taken refuses a caller of the next wave. */
const CALLERS = 25
const LONGEST_STAY_MS = 400
const ENDED_WITHIN_MS = 1_000
const POLL_MS = 20

/** Settings of a server that has every tool in use, with a store of containers of its own. */
function environmentFor({ staging }: TrialContext): Record<string, string> {
  const folder = staging.freshFolder()
  const program = join(folder, 'server.mjs')
  writeFileSync(program, WAITING_SERVER)
  const simulation = { tokens: { constant: 4 }, first_token_ms: { constant: 60_000 } }
  const config = {
    models: { [SILENT_MODEL]: { endpoints: [{ provider: 'sim', simulation }] } },
    mcp_servers: { [COMMAND_LABEL]: { command: process.execPath, args: [program], concurrent_calls: 200 } },
    tools: { bash: { enabled: true } },
  }
  const file = join(folder, 'sluice.json')
  writeFileSync(file, JSON.stringify(config))
  return { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT }
}

interface Answer {
  readonly status: number
  readonly generationId: string | null
  readonly text: string
}

/** Asks for a stream, and leaves after `stayMs`; what had come by then. Status 0: no head. */
function ask(
  port: number,
  key: string,
  { tools, lines }: Omit<ToolInUse, 'name'>,
  stayMs: number,
): Promise<Answer> {
  const messages = [{ role: 'user', content: `say Let me look.\n${lines}` }]
  const body = JSON.stringify({ model: 'sim/agent', stream: true, tools, messages })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return new Promise((resolve) => {
    let status = 0
    let generationId: string | null = null
    let text = ''
    const options = { host: '127.0.0.1', port, path: '/api/v1/chat/completions', method: 'POST', headers }
    const call = request({ ...options, agent: false }, (answer) => {
      status = answer.statusCode!
      generationId = String(answer.headers['x-generation-id'] ?? '') || null
      answer.on('data', (piece: Buffer) => {
        text += String(piece)
      })
      answer.on('error', () => {})
    })
    call.on('error', () => {})
    const timer = setTimeout(() => call.destroy(), stayMs)
    call.on('close', () => {
      clearTimeout(timer)
      resolve({ status, generationId, text })
    })
    call.end(body)
  })
}

/** Calls of the command that nobody has cancelled. */
async function callsLeft(port: number, key: string): Promise<number> {
  const tools = [{ type: 'service:mcp', parameters: { server_label: COMMAND_LABEL } }]
  const { text } = await ask(port, key, { tools, lines: `call ${COMMAND_LABEL}__left` }, 5_000)
  return Number(/left=(\d+)\./.exec(text)?.[1] ?? Number.NaN)
}

/** Those that are there: bash needs a machine that has sandboxes. Each has been used once. */
async function toolsThere(port: number, key: string): Promise<readonly ToolInUse[]> {
  const there: ToolInUse[] = []
  for (const tool of TOOLS_IN_USE) if ((await ask(port, key, tool, 1_000)).status === 200) there.push(tool)
  await sleep(ENDED_WITHIN_MS)
  return there
}

/** Milliseconds until neither a process nor a call at a server is left of those who have gone; infinite where one stays. */
async function msUntilEnded(server: SluiceServer, key: string, processes: number): Promise<number> {
  const begin = performance.now()
  const isEnded = async () =>
    processTree(server.pid).length <= processes && (await callsLeft(server.port, key)) === 0
  while (!(await isEnded())) {
    if (performance.now() - begin > 5 * ENDED_WITHIN_MS) return Number.POSITIVE_INFINITY
    await sleep(POLL_MS)
  }
  return performance.now() - begin
}

type ToolsRound = Awaited<ReturnType<typeof playRound>>

async function playRound(context: TrialContext) {
  const server = await context.staging.start({ environment: environmentFor(context) })
  const { port } = server
  const { admin, key: watching } = await createOrganization(server.origin, 1_000)
  const limited = await admin.newKey({ rate_limit: { concurrent: CALLERS } })
  const tools = await toolsThere(port, watching)
  const processes = processTree(server.pid).length
  const answers: Answer[] = []
  let longestMs = 0
  for (let wave = 0; wave < WAVES; wave++) {
    const callers = Array.from({ length: CALLERS }, (_, at) => {
      const number = wave * CALLERS + at
      return ask(port, limited.key, tools[number % tools.length]!, (number * 37) % LONGEST_STAY_MS)
    })
    answers.push(...(await Promise.all(callers)))
    longestMs = Math.max(longestMs, await msUntilEnded(server, watching, processes))
  }
  const ids = answers.flatMap(({ generationId }) => generationId ?? [])
  let settled = 0
  for (const id of ids) {
    const { status, text } = await admin.request('GET', `/generation?id=${id}`)
    if (status === 200 && JSON.parse(text).data.cancelled === true) settled++
  }
  await server.stop()
  return {
    longestMs,
    refused: answers.filter(({ status }) => status >= 400).length,
    begun: ids.length,
    unsettled: ids.length - settled,
    missing: TOOLS_IN_USE.filter((tool) => !tools.includes(tool)).map(({ name }) => name),
  }
}

export const toolsLeaving: Trial = {
  name: 'tools-leaving',
  summary: `${WAVES * CALLERS} callers leave while tools run: all end within 1 s, every row is settled, no place stays taken`,
  rounds: 1,
  roundLimitS: 120,
  run: async (context) => {
    const line = ({ longestMs, begun }: ToolsRound) =>
      `${begun} had begun to read, all ended after ${longestMs.toFixed(0)} ms`
    const all = await playRounds(context, () => playRound(context), line)
    return {
      bars: [
        atMost(
          'the slowest wave until its tools had ended',
          over(all).max('longestMs'),
          ENDED_WITHIN_MS,
          'ms',
        ),
        exactly('callers refused, as when a place stays taken', over(all).sum('refused'), 0),
        exactly('generations without a settled row', over(all).sum('unsettled'), 0),
      ],
      figures: [figure('callers who had begun to read', over(all).sum('begun'))],
      notes: all.flatMap(({ missing }) => missing.map((name) => `not there on this machine: ${name}`)),
    }
  },
}
