/** contract/directory 4: who is deactivated calls no more from the answer on, on every worker. */
import tap, { type Test, test } from 'tap'
import { type HttpClient, httpClient } from '../../support/clients/http-client.js'
import {
  CANARY_PROMPT,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

const server = await startGateway({ env: { SLUICE_WORKERS: '2' } })
const clients = Array.from({ length: 8 }, () => httpClient(server.baseUrl, 1))
tap.teardown(async () => {
  for (const client of clients) client.close()
  await server.stop()
})

const CHAT = JSON.stringify({ model: 'sim/instant', messages: [{ role: 'user', content: CANARY_PROMPT }] })

async function asked(method: string, path: string, body: unknown, key = MANAGEMENT_KEY): Promise<Json> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const url = `${server.apiUrl}${path}`
  const response = await fetch(url, { method, headers, ...(body !== null && { body: JSON.stringify(body) }) })
  const text = await response.text()
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === '' ? null : JSON.parse(text)
}

interface Call {
  /** Whether it began after the answer to the change. */
  readonly late: boolean
  readonly status: number
}

/** Calls without a pause over all connections, before and after a change, until enough began after its answer. */
async function callsAround(key: string, change: () => Promise<unknown>): Promise<Call[]> {
  const calls: Call[] = []
  let isAnswered = false
  let lateCalls = 0
  const enough = (): boolean => lateCalls >= 100
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const keepCalling = async (client: HttpClient): Promise<void> => {
    while (!enough()) {
      const late = isAnswered
      const { status } = await client.send({
        method: 'POST',
        path: '/api/v1/chat/completions',
        headers,
        body: CHAT,
      })
      calls.push({ late, status })
      if (late) lateCalls++
    }
  }
  const untilChanged = async (): Promise<void> => {
    while (calls.length < 40) await new Promise(setImmediate)
    await change()
    isAnswered = true
  }
  await Promise.all([untilChanged(), ...clients.map(keepCalling)])
  return calls
}

async function refusedFromTheAnswerOn(
  t: Test,
  memberId: string,
  workspaceId: string,
  active: (is: boolean) => Promise<unknown>,
): Promise<void> {
  await asked('PUT', `/members/${memberId}/roles/${workspaceId}`, { role: 'member' })
  const wish = { name: 'own', creator_user_id: memberId, workspace_id: workspaceId }
  const { key } = await asked('POST', '/keys', wish)
  const statuses = (calls: readonly Call[], late: boolean): number[] => [
    ...new Set(calls.filter((call) => call.late === late).map(({ status }) => status)),
  ]
  const ended = await callsAround(key, () => active(false))
  t.ok(statuses(ended, false).includes(200), 'it worked before')
  t.same(statuses(ended, true), [401], 'no call that began after the answer succeeds')
  const revived = await callsAround(key, () => active(true))
  t.ok(statuses(revived, false).includes(401))
  t.same(statuses(revived, true), [200], 'and each one does after the reactivation')
}

test('a member that was added by hand', async (t) => {
  const [{ id: workspace }] = (await asked('GET', '/workspaces', null)).data
  const { id } = (await asked('POST', '/members', { user_name: 'ada' })).data
  await refusedFromTheAnswerOn(t, id, workspace, (active) => asked('PATCH', `/members/${id}`, { active }))
})

test('a user of a directory', async (t) => {
  const [{ id: workspace }] = (await asked('GET', '/workspaces', null)).data
  const connection = (await asked('POST', '/scim-connections', { name: 'directory' })).data.id
  const { token } = await asked('POST', `/scim-connections/${connection}/tokens`, {})
  const { id } = await asked('POST', '/scim/v2/Users', { userName: 'bob' }, token)
  await refusedFromTheAnswerOn(t, id, workspace, (value) => {
    const Operations = [{ op: 'replace', path: 'active', value }]
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp']
    return asked('PATCH', `/scim/v2/Users/${id}`, { schemas, Operations }, token)
  })
})
