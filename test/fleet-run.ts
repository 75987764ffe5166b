/** What `--fleet` of the runner means: which tests run so, and the PostgreSQL that their machines share. */
import type { Lifetime } from './support/data/temp-folder.js'
import { startPgbouncer, WITHOUT_PGBOUNCER } from './support/servers/pgbouncer.js'
import { PostgresCluster, WITHOUT_POSTGRES } from './support/servers/postgres-cluster.js'

/** The suites that ask a server over the wire and have to find the same on a fleet. */
const FOLDERS = ['contract/', 'clients/', 'ledger/', 'limits/']

/** Those of them that read and write what the machines of a fleet share. By the beginnings of paths. */
const SHARED = [
  'clients/openai.test',
  'contract/chat/usage',
  'contract/conventions/limits',
  'contract/credits/',
  'contract/federation/',
  'contract/files/',
  'contract/messages/money',
  'contract/keys/',
  'contract/scim/',
  'contract/scim-provider/',
  'contract/practice/',
  'contract/tools/money',
]

/** Files of those that are about one machine alone, and why. The ends of paths, without `.test.js`. */
const ONE_MACHINE: Readonly<Record<string, string>> = {
  'clients/openai-files': 'opens the embedded store in the folder of the server, to lay files there',
  'clients/openrouter-files': 'opens the embedded store in the folder of the server, to lay files there',
  'contract/audio/leaving': 'counts what one worker holds open',
  'contract/chat/faults': 'simulated faults take turns in each process',
  'contract/chat/isolation': 'counts how soon one machine shuts out a caller; each finds out for itself',
  'contract/chat/routing':
    'counts how soon two workers learn of an endpoint; machines tell each other by hints',
  'contract/conventions/connection-ends': 'looks at the sockets of one process',
  'contract/conventions/raw-requests': 'asks on one connection what was run on another',
  'contract/files/crash':
    'looks into the folder of the machine; test/store/postgres kills uploads on a fleet',
  'contract/messages/faults': 'simulated faults take turns in each process',
  'contract/messages/open-blocks':
    'leaves a short stream, which may have ended by the time that this has come through the proxy',
  'contract/openapi/openapi': 'fills one machine until it refuses',
  'contract/openapi/openapi-gateway': 'fills one machine until it refuses',
  'contract/practice/durability': 'kills the processes of one machine; the drill kills those of a fleet',
  'contract/practice/health': 'watches one machine leave through several connections',
  'contract/routing/reload-permissions': 'waits for one machine to have read its configuration anew',
  'contract/routing/routing-explain': 'tells what one machine has measured',
  'contract/telemetry/inference-telemetry': '/metrics and spans are those of the machine that is asked',
  'contract/telemetry/metrics': '/metrics is that of the machine that is asked',
  'contract/tools/mcp': 'counts the servers that the workers of one machine have started',
  'ledger/full-disk': 'fills the disk of one machine; the drill does so on a fleet',
}

/** Suites that start a fleet of their own and take minutes: they run once, with all others. */
const LONG = ['drill/fleet/database-failures', 'drill/fleet/machine-failures']

/**
 * Whether a test, by its path below `test`, runs on a fleet; `asksServer` when it starts the built server, or serves
 * records of a fleet itself, `sharedOnly` to leave it at what machines share. Null for one that runs neither with those
 * that do nor with those that do not.
 */
export function isOfFleet(path: string, asksServer: boolean, sharedOnly: boolean): boolean | null {
  const name = path.replace(/\.test\.js$/, '')
  if (LONG.includes(name)) return null
  const begins = sharedOnly ? SHARED : FOLDERS
  return asksServer && begins.some((begin) => path.startsWith(begin)) && !Object.hasOwn(ONE_MACHINE, name)
}

/**
 * The PostgreSQL of a run: one that runs already, or a cluster that ends with `lifetime`; behind a pooler in transaction
 * mode where that is asked for. Rejects with a sentence where its programs are missing.
 * @returns a URL whose user may make databases
 */
export async function startFleetStore(lifetime: Lifetime, pooled: boolean): Promise<string> {
  const given = process.env.SLUICE_TEST_DATABASE_URL ?? ''
  const url = new URL(given === '' ? await startCluster(lifetime) : given)
  if (pooled) {
    if (WITHOUT_PGBOUNCER !== false) throw new Error(WITHOUT_PGBOUNCER)
    url.port = String(await startPgbouncer(lifetime, Number(url.port)))
  }
  return url.href
}

async function startCluster(lifetime: Lifetime): Promise<string> {
  if (WITHOUT_POSTGRES !== false) throw new Error(WITHOUT_POSTGRES)
  // Several test files at a time, three machines each, two processes each.
  const cluster = await PostgresCluster.start(lifetime, ['max_connections=400', 'shared_buffers=64MB'])
  return cluster.url()
}
