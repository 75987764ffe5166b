/**
 * Microsoft's public Postman collections for SCIM, run by newman. They are not part of this project: `SLUICE_SCIM_POSTMAN`
 * names the files, with `:` between them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { type Test, test } from 'tap'
import { runShell } from '../../support/clients/shell.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import type { Json } from '../../support/servers/gateway-server.js'
import { SCIM, type ScimServer, scimServer } from '../../support/servers/scim-server.js'

const PATHS = (process.env.SLUICE_SCIM_POSTMAN ?? '').split(':').filter((path) => path !== '')
const SKIP = PATHS.length > 0 ? {} : { skip: 'SLUICE_SCIM_POSTMAN names no collection' }
const NEWMAN = 'newman@6.2.2'
const LIMIT_MS = 180_000
/** Between two requests, so that a collection stays below the rate of a connection. */
const DELAY_MS = 25

/** Items that are not run, by their names, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'Get Token': "fetches a token of the authors' sample server or of Entra; here a connection has its own",
}

interface Item {
  readonly name: string
  readonly item?: Item[]
  readonly request?: { url: { raw: string } | string }
}

/** The items without those left out, asked of this server whatever path they are written for. */
function adapted(items: readonly Item[], scimUrl: string): Item[] {
  const kept = items.filter(({ name, item }) => item !== undefined || !(name in LEFT_OUT))
  for (const { request } of kept) {
    if (request === undefined || typeof request.url === 'string') continue
    request.url = request.url.raw.replace(/^.*?(?:\{\{Api\}\}|\}\}\/scim)(?=\/)/, scimUrl)
  }
  return kept.map((each) => (each.item === undefined ? each : { ...each, item: adapted(each.item, scimUrl) }))
}

/** Runs a collection and asserts what its scripts assert; a request without a script has to succeed. */
async function runCollection(t: Test, server: ScimServer, path: string): Promise<void> {
  const { token, user } = await server.directory()
  const scimUrl = server.baseUrl + SCIM
  const collection: Json = JSON.parse(readFileSync(path, 'utf8'))
  const folder = tempFolder(t)
  const file = join(folder, 'collection.json')
  writeFileSync(file, JSON.stringify({ ...collection, item: adapted(collection.item, scimUrl) }))
  // One of the collections asks for a user that none of its own requests has made.
  const mayNeedUser = !JSON.stringify(collection).includes('environment.set(\\"id1\\"')
  const known = mayNeedUser ? (await user({ userName: 'known' })).id : ''
  const command = `npx --yes ${NEWMAN} run ${file} --env-var token=${token} --env-var id1=${known} \
    --delay-request ${DELAY_MS} --reporters json --reporter-json-export report.json >newman.log 2>&1 || true`
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, npm_config_ignore_scripts: 'true', npm_config_cache: join(HOME, '.npm') }
  await runShell(command, { folder, env, limitMs: LIMIT_MS })
  const { run }: Json = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))
  for (const { item, response, assertions = [], requestError } of run.executions) {
    t.notOk(requestError, `${item.name}: is answered`)
    t.ok(assertions.length > 0 || response?.code < 300, `${item.name}: ${response?.code}`)
    for (const { assertion, error } of assertions)
      t.notOk(error, `${item.name}: ${assertion}`, { found: error?.message, body: textOf(response) })
  }
  t.equal(run.stats.requests.failed, 0)
  t.ok(run.stats.assertions.total > 0)
}

const textOf = (response: Json): string => Buffer.from(response?.stream?.data ?? []).toString()

test("Microsoft's collections", { timeout: PATHS.length * LIMIT_MS + 60_000, ...SKIP }, async (t) => {
  const server = await scimServer()
  for (const path of PATHS) await t.test(path.split('/').at(-1)!, (sub) => runCollection(sub, server, path))
})

tap.comment(
  `left out: ${Object.entries(LEFT_OUT)
    .map((each) => each.join(', '))
    .join('; ')}`,
)
