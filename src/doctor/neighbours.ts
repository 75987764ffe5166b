/** Whom the server needs beside providers: the database that machines share, and the sandbox. */
import { systemClock, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { missingForLocalSandbox } from '../compose/bash.js'
import { withFleet } from '../compose/fleet-commands.js'
import { type Config, InvalidConfigError } from '../config/config.js'
import { type Finding, fail, ok, warn } from './finding.js'
import { examineReach } from './providers.js'

const SKEW_MS = 1_000

/** Its schema beside that of this release, and its clock beside ours. */
export async function examineDatabase(config: Pick<Config, 'databaseUrl'>): Promise<readonly Finding[]> {
  if (config.databaseUrl === '') return []
  try {
    return await withFleet(config, async ({ schema, clock }) => {
      const { applied, pending } = await schema.read()
      const before = unixMs(systemClock)
      const there = await clock()
      const after = unixMs(systemClock)
      return [judgeSchema(applied, pending), judgeSkew(there, before, after)]
    })
  } catch (error) {
    if (error instanceof InvalidConfigError) {
      return [fail('database', error.faults[0]!.problem, 'name a database that this release may use')]
    }
    if (!(error instanceof Fault)) throw error
    const found = error.detail ?? error.kind
    return [fail('database', found, 'see that PostgreSQL runs, and that SLUICE_DATABASE_URL leads there')]
  }
}

function judgeSchema(applied: readonly string[], pending: readonly string[]): Finding {
  const newest = applied.at(-1) ?? 'empty'
  if (pending.length === 0) return ok('database', `its schema is that of this release (${newest})`)
  const found = `its schema is ${newest}; ${pending.length} migrations are pending`
  return warn('database', found, 'run "sluice migrate", or let the next start do it')
}

/** @param there what the database said between `before` and `after` of our clock; all in milliseconds */
export function judgeSkew(there: number, before: number, after: number): Finding {
  const middle = (before + after) / 2
  const skew = Math.round(middle - there)
  // What the way took cannot be told from a difference.
  const isCertain = Math.abs(skew) - (after - before) / 2 > SKEW_MS
  if (!isCertain) return ok('database clock', 'it goes with the clock of this machine')
  const found = `this machine is ${Math.abs(skew)} ms ${skew > 0 ? 'ahead of' : 'behind'} it`
  return warn('database clock', found, 'let chrony or systemd-timesyncd keep both')
}

const REMOTE = 'images and hardened units need a remote sandbox (tools.bash.url)'

/** The tool `service:bash`: whether this machine can hold its sandboxes, where it has to. One is started to see that. */
export async function examineSandbox(config: Config, signal: AbortSignal): Promise<Finding> {
  const { enabled, url } = config.gateway.tools.bash
  if (enabled !== true) return ok('sandbox', `tools.bash is off; for it ${REMOTE}`)
  if (url !== null) return examineReach('sandbox', url)
  return judgeSandbox(await missingForLocalSandbox({ config, clock: systemClock }, signal))
}

/** @param missing what the machine lacks for a sandbox of its own */
export function judgeSandbox(missing: readonly string[]): Finding {
  if (missing.length === 0) return ok('sandbox', 'bubblewrap works here')
  return fail('sandbox', `tools.bash is on, and ${missing.join('; ')}`, REMOTE)
}
