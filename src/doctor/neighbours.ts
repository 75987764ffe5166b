/** What the server listens on and whom it asks: ports, providers, the database, the sandbox. */
import { systemClock, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { parseHostPort } from '../base/host-port.js'
import { missingForLocalSandbox } from '../compose/bash.js'
import { withFleet } from '../compose/fleet-commands.js'
import { type Config, InvalidConfigError } from '../config/config.js'
import type { ProviderConfig } from '../gateway/catalog/configuration.js'
import { folderHolder } from '../process/folder-lock.js'
import { probePort } from '../process/port-probe.js'
import { type Finding, fail, ok, warn } from './finding.js'
import { listProviderModels } from './model-listing.js'

const REACH_MS = 10_000
const SKEW_MS = 1_000

type PortSettings = Pick<Config, 'host' | 'port' | 'consoleListen' | 'metrics' | 'lab' | 'dataDir'>

/** Each address that the server would listen on. */
export async function examinePorts(config: PortSettings): Promise<readonly Finding[]> {
  const others = [config.consoleListen, config.metrics, config.lab].map(parseHostPort)
  const places = [{ host: config.host, port: config.port }, ...others].filter((place) => place !== null)
  const holder = folderHolder(config.dataDir)
  return Promise.all(
    places.map(async ({ host, port }) => {
      try {
        await probePort(host, port)
        return ok('port', port === 0 ? `a free one of ${host}` : `${host}:${port} is free`)
      } catch (error) {
        const found = (error as Error).message
        if (holder === null)
          return fail('port', found, 'end the other program, or choose another port or host')
        return ok('port', `${found}: a server (process ${holder}) works in this data folder`)
      }
    }),
  )
}

type Served = Exclude<ProviderConfig, { readonly kind: 'simulated' }>

/** Asks each provider which models it has, which costs nothing; an inference is never sent. */
export function examineProviders(
  providers: Readonly<Record<string, ProviderConfig>>,
): Promise<readonly Finding[]> {
  const served = Object.entries(providers).filter(
    (entry): entry is [string, Served] => entry[1].kind !== 'simulated',
  )
  return Promise.all(
    served.map(([slug, provider]) =>
      provider.kind === 'openai' || provider.kind === 'anthropic'
        ? examineListing(slug, { ...provider, kind: provider.kind })
        : examineReach(`provider ${slug}`, provider.baseUrl),
    ),
  )
}

type Listed = Pick<Served, 'baseUrl' | 'apiKey' | 'headers'> & { readonly kind: 'openai' | 'anthropic' }

async function examineListing(slug: string, provider: Listed): Promise<Finding> {
  const check = `provider ${slug}`
  const { ids, problem, status } = await listProviderModels(provider, provider.apiKey)
  const at = new URL(provider.baseUrl).host
  if (problem === null) return ok(check, `${at} lists ${ids.length} models`)
  if (status === null)
    return fail(check, `${at}: ${problem}`, 'see to its name, its certificate and the way there')
  if (status === 401 || status === 403)
    return fail(check, `${at} answered ${status}`, 'give it a credential that it takes')
  if (status >= 500 || status === 429)
    return warn(check, `${at} answered ${status}`, 'look at its status page')
  return ok(check, `${at} answers; it lists no models (${status}), so its credential was not tried`)
}

/** Whether anything answers there; nothing of a credential is sent. */
async function examineReach(check: string, url: string): Promise<Finding> {
  const { host } = new URL(url)
  try {
    const signal = AbortSignal.timeout(REACH_MS)
    const { status, body } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal })
    await body?.cancel()
    return ok(check, `${host} answers (${status}); its credential was not tried`)
  } catch (error) {
    const { cause, message } = error as Error
    const reason = cause instanceof Error ? cause.message || message : message
    return fail(check, `${host}: ${reason}`, 'see to its name, its certificate and the way there')
  }
}

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
