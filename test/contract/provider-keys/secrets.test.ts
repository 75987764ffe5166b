/** A key that a caller brings is seen by its provider and by nobody else (contract/gateway 1.5, contract/decisions 61). */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { ownKeyWorld, refusing } from './own-key-world.js'

const { server, manage, tenant, bring, ask, one, two, claude, seen } = await ownKeyWorld(tap)

/** In no form that anything recognises as a credential. */
const CANARY = 'zebra-crossing-at-dawn'

test('the key is in no answer, error, log, metric, file or other provider', async (t) => {
  const ours = await tenant()
  const record = await bring(ours, CANARY)
  const said: string[] = []
  const note = async (status: number): Promise<void> => {
    for (const stream of [false, true]) {
      one.script = refusing([CANARY], status)
      const { text } = await ask(ours.key, 'acme/both', { stream, provider: { order: ['one'] } })
      said.push(text)
    }
  }
  await manage(ours.management, 'PATCH', `/provider-keys/${record.id}`, { allow_fallback: false })
  for (const status of [400, 401, 403, 404, 422, 429, 500]) await note(status)
  await ask(ours.key, 'acme/claude')
  one.script = (peer) => peer.answer(200, `{"error":{"message":"bad key ${CANARY}","code":"${CANARY}"}}`)
  said.push((await ask(ours.key)).text)
  for (const path of ['/provider-keys', `/provider-keys/${record.id}`, '/models', '/providers'])
    said.push(JSON.stringify((await manage(ours.management, 'GET', path)).json))
  const wrong = { provider: 'nobody', name: 'x', key: CANARY }
  said.push(JSON.stringify((await manage(ours.management, 'POST', '/provider-keys', wrong)).json))
  said.push(await (await fetch(`${server.baseUrl}/metrics`)).text())
  said.push(server.log())
  t.ok(seen(one).includes(CANARY), 'its provider has seen it')
  t.notOk([...seen(two), ...seen(claude)].includes(CANARY))
  for (const [at, text] of said.entries()) t.notOk(text.includes(CANARY), `${at}: ${text.slice(0, 300)}`)
  const files = filesIn(server.dataDir)
  t.ok(files.some((path) => path.endsWith('data.mdb')))
  for (const path of files) t.notOk(readFileSync(path).includes(CANARY), path)
})

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
