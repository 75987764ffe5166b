/**
 * `sluice drill`: lets a provider fail as each scenario says, and tells what the gateway makes of it. The gateway is
 * one of the drill's own, or one that runs and was configured for it.
 */
import { connect } from 'node:net'
import { createBehaviourSelector, findSetupProblem, runDrill } from '../drill/drill.js'
import { drillConfiguration } from '../drill/drill-configuration.js'
import { type FaultyProvider, startFaultyProvider } from '../drill/faulty-provider.js'
import type { GatewayAddress } from '../drill/gateway-client.js'
import type { ScenarioResult } from '../drill/judge.js'
import { DEAD_PORT } from '../drill/roles.js'
import type { DrillScenario } from '../drill/scenario.js'
import { SCENARIOS } from '../drill/scenarios.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
} from './command.js'
import { drillFleet, listFleetScenarios, parseFleetScenarios } from './drill-fleet.js'
import { startDrillGateway } from './drill-gateway.js'
import { createDrillReport, formatDrillReport, haveAllPassed } from './drill-report.js'
import { untilSignal } from './until-signal.js'

const PROVIDER_PORT = 9377

const DRILL_USAGE = `usage: sluice drill [--fleet] [--only S01,S02] [--json]

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
  --fleet               drill machines instead: starts a PostgreSQL and three machines that share it, has each of them
                        killed, frozen and cut off under load, and holds every call against ledger and bank; takes about
                        three minutes
`

interface DrillPorts {
  readonly print: PrintOutput
  /** The API key of the settings; asked only for a gateway that runs already. */
  readonly apiKey: () => Promise<string>
}

/**
 * @returns the exit code: 0 when all scenarios pass, 1 when not or when it could not be done, 2 when it was no
 * command
 */
export function drillCommand(args: readonly string[], { print, apiKey }: DrillPorts): Promise<number> {
  return runCommand({ args, usage: DRILL_USAGE, print }, () => {
    const report = (line: string): void => print(2, `${line}\n`)
    const fleet = parseFleetArgs(args)
    if (fleet?.isList) return { text: listFleetScenarios() }
    if (fleet !== null) return untilSignal((signal) => drillFleet({ ...fleet, signal, report }))
    const drill = parseDrillArgs(args)
    if (drill.isList) {
      return { text: SCENARIOS.map(({ id, name, about }) => `${id}  ${name}\n     ${about}\n`).join('') }
    }
    if (drill.isConfiguration) {
      return { text: `${JSON.stringify(drillConfiguration(drill.port), null, 2)}\n` }
    }
    return untilSignal((signal) => {
      return runDrillCommand(drill, { apiKey, signal, report })
    })
  })
}

// ── Arguments ───────────────────────────────────────────────────────────────

type DrillArgs = ReturnType<typeof parseDrillArgs>

const OPTIONS = {
  only: { type: 'string' },
  json: { type: 'boolean' },
  against: { type: 'string' },
  'provider-port': { type: 'string' },
  'print-config': { type: 'boolean' },
  list: { type: 'boolean' },
} as const

const FLEET_OPTIONS = {
  fleet: { type: 'boolean' },
  only: { type: 'string' },
  json: { type: 'boolean' },
  list: { type: 'boolean' },
} as const

/** Null when it is the gateway that is to be drilled. */
function parseFleetArgs(args: readonly string[]) {
  if (!args.includes('--fleet')) return null
  const { values } = parseCommandArgs('drill --fleet', args, FLEET_OPTIONS, false)
  const { only, json = false, list = false } = values
  return { scenarios: parseFleetScenarios(only), json, isList: list }
}

function parseDrillArgs(args: readonly string[]) {
  const { values } = parseCommandArgs('drill', args, OPTIONS, false)
  return {
    isList: values.list === true,
    isConfiguration: values['print-config'] === true,
    port: parseProviderPort(values['provider-port']),
    scenarios: parseScenarioNames(values.only),
    /** Null for a gateway of the drill's own. */
    against: values.against === undefined ? null : parseGatewayOrigin(values.against),
    json: values.json === true,
  }
}

function parseProviderPort(text = String(PROVIDER_PORT)): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  const isPort = port > DEAD_PORT && port <= 65_535
  return isPort ? port : failUsage('--provider-port must be a port from 2 to 65535')
}

function parseScenarioNames(text: string | undefined): readonly DrillScenario[] {
  if (text === undefined) return SCENARIOS
  const ids = new Set(text.toUpperCase().split(','))
  const unknown = [...ids].find((id) => !SCENARIOS.some((scenario) => scenario.id === id))
  if (unknown !== undefined) failUsage(`--only: there is no scenario ${JSON.stringify(unknown)}`)
  return SCENARIOS.filter(({ id }) => ids.has(id))
}

function parseGatewayOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isPlain ? url.origin : failUsage('--against must be an http or https URL without a credential')
}

// ── Work ────────────────────────────────────────────────────────────────────

interface DrillRunOptions {
  readonly apiKey: () => Promise<string>
  readonly signal: AbortSignal
  /** Tells a line about how far it is. */
  readonly report: (line: string) => void
}

async function runDrillCommand(args: DrillArgs, run: DrillRunOptions): Promise<CommandOutput> {
  const { against, scenarios, port } = args
  const key = against === null ? '' : await run.apiKey()
  if (against !== null && key === '') failCommand('SLUICE_API_KEY is needed to drill a gateway that runs')
  if (await isPortOpen(DEAD_PORT)) {
    failCommand(`something listens on port ${DEAD_PORT} of 127.0.0.1, where nobody may`)
  }
  const provider = await startProvider(scenarios, against === null ? 0 : port)
  try {
    if (against !== null) return await drillGateway({ url: against, key }, args, provider, run)
    run.report('starting a gateway …')
    const own = await startDrillGateway(drillConfiguration(provider.port), run.signal).catch((error: Error) =>
      failCommand(error.message),
    )
    try {
      return await drillGateway(own.address, args, provider, run)
    } finally {
      await own.stop()
    }
  } finally {
    await provider.close()
  }
}

async function startProvider(scenarios: readonly DrillScenario[], port: number): Promise<FaultyProvider> {
  try {
    return await startFaultyProvider(port, createBehaviourSelector(scenarios))
  } catch (error) {
    const reason = (error as Error).message
    return failCommand(`the faulty provider cannot listen on port ${port} of 127.0.0.1: ${reason}`)
  }
}

async function drillGateway(
  gateway: GatewayAddress,
  { scenarios, json }: DrillArgs,
  provider: FaultyProvider,
  { signal, report }: DrillRunOptions,
): Promise<CommandOutput> {
  const problem = await findSetupProblem(scenarios, gateway, signal)
  if (problem !== null) failCommand(problem)
  const all = 2 * scenarios.length
  let done = 0
  report(`${all} plays against ${gateway.url}, all at once`)
  const onResult = ({ scenario: { id, name }, mode, verdict }: ScenarioResult): void =>
    report(`${String(++done).padStart(2)}/${all}  ${verdict.padEnd(7)}  ${id} ${mode}, ${name}`)
  const results = await runDrill(scenarios, { gateway, provider, signal, onResult })
  const text = json
    ? `${JSON.stringify(createDrillReport(gateway.url, results), null, 2)}\n`
    : formatDrillReport(gateway.url, results)
  return { text, code: haveAllPassed(results) ? 0 : 1 }
}

/** Whether something on this machine listens on a port. */
function isPortOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const finish = (found: boolean): void => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}
