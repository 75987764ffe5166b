/**
 * `sluice drill`: lets a provider fail as each scenario says, and tells what the gateway makes of it. The gateway is
 * one of the drill's own, or one that runs and was configured for it.
 */
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { createBehaviourSelector, findSetupProblem, runDrill } from '../drill/drill.js'
import { drillConfiguration } from '../drill/drill-configuration.js'
import { FaultyProvider } from '../drill/faulty-provider.js'
import type { GatewayAddress } from '../drill/gateway-client.js'
import type { ScenarioResult } from '../drill/judge.js'
import { DEAD_PORT } from '../drill/roles.js'
import type { DrillScenario } from '../drill/scenario.js'
import { SCENARIOS } from '../drill/scenarios.js'
import { type CommandFailure, commandFailure, usageError } from './command-result.js'
import { startDrillGateway } from './drill-gateway.js'
import { createDrillReport, formatDrillReport, haveAllPassed } from './drill-report.js'

const PROVIDER_PORT = 9377

const DRILL_USAGE = `usage: sluice drill [--only S01,S02] [--json]

Starts a faulty provider on loopback and a gateway of its own before it, plays sixteen scenarios in both modes, whole and
streamed, and tells what became of each:

  pass     a rescue wherever the contract allows one (nothing answered yet, nothing that may be billed already), else the
           contract's clean and bounded error; metadata and ledger tell the truth about it
  partial  the right outcome, but metadata or ledger are not true
  safe     bounded and clean, but not what the contract asks for
  fail     anything else: no end, a part passed off as a whole, an answer no client can read, a call billed twice

Exit code 0 when all pass, 1 when not, 2 when it was no command. Takes about 25 seconds.

  --only NAMES          these scenarios alone
  --json                as JSON; progress goes to standard error either way
  --against URL         drill the gateway that runs there, which must have been started with what --print-config prints;
                        its API key is taken from SLUICE_API_KEY
  --provider-port PORT  where the faulty provider listens for --against and --print-config (${PROVIDER_PORT} when absent)
  --print-config        print that configuration and leave
  --list                tell the scenarios and leave
`

interface DrillPorts {
  readonly print: (fd: 1 | 2, text: string) => void
  /** The API key of the settings; asked only for a gateway that runs already. */
  readonly apiKey: () => string
}

/** Somebody wants the drill to end. */
const EXIT_INTERRUPTED = 130

/** @returns the exit code: 0 when all scenarios pass, 1 when not or when it could not be done, 2 when it was no command */
export async function drillCommand(args: readonly string[], { print, apiKey }: DrillPorts): Promise<number> {
  const words = parseDrillArgs(args)
  if ('complaint' in words) {
    print(2, `sluice: ${words.complaint}\n\n${DRILL_USAGE}`)
    return words.code
  }
  if (words.kind !== 'drill') {
    print(
      1,
      words.kind === 'list'
        ? formatScenarioList()
        : `${JSON.stringify(drillConfiguration(words.port), null, 2)}\n`,
    )
    return 0
  }
  const leaving = new AbortController()
  const leave = (): void => leaving.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, leave)
  try {
    const told = await runDrillCommand(words, apiKey, leaving.signal, (line) => print(2, `${line}\n`))
    if (leaving.signal.aborted) return EXIT_INTERRUPTED
    if ('complaint' in told) {
      print(2, `sluice: ${told.complaint}\n`)
      return told.code
    }
    const { url, results } = told
    print(
      1,
      words.json
        ? `${JSON.stringify(createDrillReport(url, results), null, 2)}\n`
        : formatDrillReport(url, results),
    )
    return haveAllPassed(results) ? 0 : 1
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, leave)
  }
}

// ── Words ───────────────────────────────────────────────────────────────────

interface DrillRunArgs {
  readonly kind: 'drill'
  readonly scenarios: readonly DrillScenario[]
  readonly json: boolean
  /** Null for a gateway of the drill's own. */
  readonly against: string | null
  readonly port: number
}

type DrillArgs = DrillRunArgs | { readonly kind: 'list' } | { readonly kind: 'config'; readonly port: number }

function parseDrillArgs(args: readonly string[]): DrillArgs | CommandFailure {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string' },
        json: { type: 'boolean' },
        against: { type: 'string' },
        'provider-port': { type: 'string' },
        'print-config': { type: 'boolean' },
        list: { type: 'boolean' },
      },
    })
    const port = parseProviderPort(values['provider-port'])
    const scenarios = parseScenarioNames(values.only)
    const against = values.against === undefined ? null : parseGatewayOrigin(values.against)
    for (const read of [port, scenarios, against]) if (isCommandFailure(read)) return read
    if (values.list) return { kind: 'list' }
    if (values['print-config']) return { kind: 'config', port: port as number }
    return {
      kind: 'drill',
      scenarios: scenarios as readonly DrillScenario[],
      json: values.json === true,
      against: against as string | null,
      port: port as number,
    }
  } catch (error) {
    return usageError((error as Error).message)
  }
}

function isCommandFailure(value: unknown): value is CommandFailure {
  return typeof value === 'object' && value !== null && 'complaint' in value
}

function parseProviderPort(text: string | undefined): number | CommandFailure {
  if (text === undefined) return PROVIDER_PORT
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  return port > DEAD_PORT && port <= 65_535
    ? port
    : usageError('--provider-port must be a port from 2 to 65535')
}

function parseScenarioNames(text: string | undefined): readonly DrillScenario[] | CommandFailure {
  if (text === undefined) return SCENARIOS
  const ids = new Set(text.toUpperCase().split(','))
  const unknown = [...ids].find((id) => !SCENARIOS.some((scenario) => scenario.id === id))
  if (unknown !== undefined) return usageError(`--only: there is no scenario ${JSON.stringify(unknown)}`)
  return SCENARIOS.filter(({ id }) => ids.has(id))
}

function parseGatewayOrigin(text: string): string | CommandFailure {
  const url = URL.canParse(text) ? new URL(text) : null
  const known = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return known ? url.origin : usageError('--against must be an http or https URL without a credential')
}

function formatScenarioList(): string {
  return SCENARIOS.map(({ id, name, about }) => `${id}  ${name}\n     ${about}\n`).join('')
}

// ── Work ────────────────────────────────────────────────────────────────────

interface DrillOutcome {
  readonly url: string
  readonly results: readonly ScenarioResult[]
}

type ReportProgress = (line: string) => void

async function runDrillCommand(
  { scenarios, against, port }: DrillRunArgs,
  apiKey: () => string,
  left: AbortSignal,
  tell: ReportProgress,
): Promise<DrillOutcome | CommandFailure> {
  const key = against === null ? '' : apiKey()
  if (against !== null && key === '')
    return commandFailure('SLUICE_API_KEY is needed to drill a gateway that runs')
  if (await isPortOpen(DEAD_PORT))
    return commandFailure(`something listens on port ${DEAD_PORT} of 127.0.0.1, where nobody may`)
  const provider = await startProvider(scenarios, against === null ? 0 : port)
  if ('complaint' in provider) return provider
  try {
    if (against !== null) return await drillGateway({ url: against, key }, scenarios, provider, left, tell)
    return await drillOwnGateway(scenarios, provider, left, tell)
  } finally {
    await provider.close()
  }
}

async function startProvider(
  scenarios: readonly DrillScenario[],
  port: number,
): Promise<FaultyProvider | CommandFailure> {
  try {
    return await FaultyProvider.start(port, createBehaviourSelector(scenarios))
  } catch (error) {
    return commandFailure(
      `the faulty provider cannot listen on port ${port} of 127.0.0.1: ${(error as Error).message}`,
    )
  }
}

async function drillOwnGateway(
  scenarios: readonly DrillScenario[],
  provider: FaultyProvider,
  left: AbortSignal,
  tell: ReportProgress,
): Promise<DrillOutcome | CommandFailure> {
  tell('starting a gateway …')
  let own: Awaited<ReturnType<typeof startDrillGateway>>
  try {
    own = await startDrillGateway(drillConfiguration(provider.port), left)
  } catch (error) {
    return commandFailure((error as Error).message)
  }
  try {
    return await drillGateway(own.address, scenarios, provider, left, tell)
  } finally {
    await own.stop()
  }
}

async function drillGateway(
  gateway: GatewayAddress,
  scenarios: readonly DrillScenario[],
  provider: FaultyProvider,
  left: AbortSignal,
  tell: ReportProgress,
): Promise<DrillOutcome | CommandFailure> {
  const inTheWay = await findSetupProblem(scenarios, gateway, left)
  if (inTheWay !== null) return commandFailure(inTheWay)
  const all = 2 * scenarios.length
  let done = 0
  tell(`${all} plays against ${gateway.url}, all at once`)
  const onResult = ({ scenario: { id, name }, mode, verdict }: ScenarioResult): void =>
    tell(`${String(++done).padStart(2)}/${all}  ${verdict.padEnd(7)}  ${id} ${mode}, ${name}`)
  const results = await runDrill(scenarios, { gateway, provider, signal: left, onResult })
  return { url: gateway.url, results }
}

/** Whether somebody listens there. */
function isPortOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const done = (found: boolean): void => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
  })
}
