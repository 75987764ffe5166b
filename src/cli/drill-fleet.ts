/** `sluice drill --fleet`: three machines on a PostgreSQL of their own, which fail one after the other under load. */
import { builtProgram } from '../base/built-files.js'
import { type FleetResult, playFleetScenario } from '../drill/fleet/fleet-drill.js'
import { DRILL_ENVIRONMENT, DRILL_MACHINES, type FleetScenario } from '../drill/fleet/fleet-scenario.js'
import { FLEET_SCENARIOS } from '../drill/fleet/fleet-scenarios.js'
import { POSTGRES_PROGRAMS } from '../drill/fleet/postgres-cluster.js'
import { FleetStage } from '../drill/fleet/stage.js'
import { DRILL_VERDICTS, scoreResults } from '../drill/verdict.js'
import {
  CommandFailure,
  type CommandOutput,
  failCommand,
  failUsage,
  formatTable,
  sanitizeForTerminal,
} from './command.js'

const COMMAND = [process.execPath, builtProgram('src/main.js'), 'serve']

interface FleetDrillOptions {
  readonly scenarios: readonly FleetScenario[]
  readonly json: boolean
  readonly signal: AbortSignal
  /** Tells a line about how far it is. */
  readonly report: (line: string) => void
}

/** What `--list` prints. */
export function listFleetScenarios(): string {
  return FLEET_SCENARIOS.map(({ id, name, about }) => `${id}  ${name}\n     ${about}\n`).join('')
}

/** The scenarios that `--only` names; all when it is absent. */
export function parseFleetScenarios(text: string | undefined): readonly FleetScenario[] {
  if (text === undefined) return FLEET_SCENARIOS
  const ids = new Set(text.toUpperCase().split(','))
  const unknown = [...ids].find((id) => !FLEET_SCENARIOS.some((scenario) => scenario.id === id))
  if (unknown !== undefined) failUsage(`--only: there is no scenario ${JSON.stringify(unknown)}`)
  return FLEET_SCENARIOS.filter(({ id }) => ids.has(id))
}

/** Starts the fleet, plays the scenarios and tells what became of them; nothing of it is left afterwards. */
export async function drillFleet({
  scenarios,
  json,
  signal,
  report,
}: FleetDrillOptions): Promise<CommandOutput> {
  if (POSTGRES_PROGRAMS === null) {
    failCommand(
      'the programs of PostgreSQL 14 or newer are needed below /usr/lib/postgresql (package postgresql)',
    )
  }
  report(`starting PostgreSQL and ${DRILL_MACHINES} machines …`)
  const opening = FleetStage.open({
    command: COMMAND,
    size: DRILL_MACHINES,
    environment: DRILL_ENVIRONMENT,
    left: signal,
  })
  const stage = await opening.catch((error: Error) => failCommand(`the fleet of the drill ${error.message}`))
  // What is under way when it is interrupted waits for machines that are gone: it is not waited for.
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new CommandFailure('interrupted', 1)))
  })
  interrupted.catch(() => {})
  try {
    const results: FleetResult[] = []
    for (const scenario of scenarios) {
      const result = await Promise.race([playFleetScenario(stage, scenario), interrupted])
      results.push(result)
      const { recoveryMs, verdict } = result
      const back = recoveryMs === null ? 'not back' : `back after ${recoveryMs} ms`
      const count = `${String(results.length).padStart(2)}/${scenarios.length}`
      report(`${count}  ${verdict.padEnd(7)}  ${scenario.id} ${scenario.name}, ${back}`)
    }
    return { text: json ? formatJson(results) : formatReport(results), code: hasPassed(results) ? 0 : 1 }
  } finally {
    await stage.close()
  }
}

const hasPassed = (results: readonly FleetResult[]): boolean =>
  results.length > 0 && results.every(({ verdict }) => verdict === 'pass')

function formatJson(results: readonly FleetResult[]): string {
  const rows = results.map(({ scenario: { id, name }, ...rest }) => ({ scenario: id, name, ...rest }))
  const report = { score: scoreResults(results), passed: hasPassed(results), results: rows }
  return `${JSON.stringify(report, null, 2)}\n`
}

/** A line per scenario, a line per thing that is not as it has to be, and what it comes to. */
function formatReport(results: readonly FleetResult[]): string {
  const rows = results.map(({ scenario, verdict, recoveryMs, served, refused }) => [
    scenario.id,
    verdict,
    recoveryMs === null ? 'never' : `${recoveryMs} ms`,
    String(served),
    String(refused),
    scenario.name,
  ])
  const table = formatTable([['', 'verdict', 'back after', 'served', 'not', 'what failed'], ...rows])
  const complaints = results.flatMap(({ scenario, complaints: all }) =>
    all.map((sentence) => `  ${scenario.id}: ${sanitizeForTerminal(sentence)}\n`),
  )
  const counts = DRILL_VERDICTS.map(
    (verdict) => `${verdict} ${results.filter((result) => result.verdict === verdict).length}`,
  ).join(', ')
  return `${table}${complaints.join('')}${counts}. Score: ${scoreResults(results)} %\n`
}
