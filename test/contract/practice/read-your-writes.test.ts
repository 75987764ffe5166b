/** contract/practice 3: a change is seen by every worker from its acknowledgement on. */
import { after, test } from 'tap'
import { type HttpClient, httpClient } from '../../support/clients/http-client.js'
import { clientPerWorker, identifyWorker } from '../../support/clients/worker-connections.js'
import { startPracticeServer } from '../../support/servers/practice-server.js'

const server = await startPracticeServer()
const workers = await clientPerWorker(server.baseUrl)
after(async () => {
  for (const client of workers) client.close()
  await server.stop()
})

interface Item {
  readonly id: number
  readonly name: string
}

/** Changes by one worker, each looked at by both workers right after. */
const ROUNDS = 750

test('what one worker has acknowledged the other shows at once, thousands of times', async (t) => {
  const stale: string[] = []
  let changes = 0
  const see = async (
    about: string,
    path: string,
    right: (status: number, text: string) => boolean,
  ): Promise<void> => {
    const replies = await Promise.all(workers.map((worker) => worker.get(path)))
    for (const [worker, { status, text }] of replies.entries()) {
      if (!right(status, text)) stale.push(`${about}, worker ${worker}: ${status} ${text}`)
    }
    changes++
  }
  for (let round = 0; round < ROUNDS; round++) {
    const writer = workers[round % 2]!
    const made = await writer.write('POST', '/api/v1/items', { name: `made ${round}` })
    const path = `/api/v1/items/${(made.json as Item).id}`
    await see(`creation ${round}`, path, (_, text) => text === made.text)
    const changed = await writer.write('PUT', path, { name: `changed ${round}` })
    await see(`update ${round}`, path, (_, text) => text === changed.text)
    if (round % 10 === 0) {
      await see(`update ${round}, listed`, '/api/v1/items', (_, text) => text === `[${changed.text}]`)
      await see(
        `update ${round}, found`,
        '/api/v1/search?q=changed',
        (_, text) => text === `[${changed.text}]`,
      )
    }
    await writer.send({ method: 'DELETE', path })
    await see(`deletion ${round}`, path, (status) => status === 404)
    if (round % 10 === 0) await see(`deletion ${round}, listed`, '/api/v1/items', (_, text) => text === '[]')
  }
  t.strictSame(stale.slice(0, 10), [], `${changes} changes, each seen by both workers`)
})

/** A fresh connection: which worker it met, and what that worker showed of the item before. */
async function glance(path: string): Promise<{ worker: number; text: string }> {
  const fresh: HttpClient = httpClient(server.baseUrl, 1)
  try {
    const { text } = await fresh.get(path)
    return { worker: await identifyWorker(fresh), text }
  } finally {
    fresh.close()
  }
}

test('connections opened after a change see it, whichever worker they meet', async (t) => {
  for (let round = 0; round < 60; round++) {
    const made = await workers[round % 2]!.write('POST', '/api/v1/items', { name: `fresh ${round}` })
    const path = `/api/v1/items/${(made.json as Item).id}`
    const seenBy = new Set<number>()
    const wrong: string[] = []
    while (seenBy.size < 2) {
      const { worker, text } = await glance(path)
      seenBy.add(worker)
      if (text !== made.text) wrong.push(`worker ${worker}: ${text}`)
    }
    t.strictSame(wrong, [], `round ${round}`)
  }
})

test('two workers that write at once both see everything that was acknowledged', async (t) => {
  const missing: string[] = []
  await Promise.all(
    workers.map(async (writer, worker) => {
      const reader = workers[1 - worker]!
      for (let i = 0; i < 300; i++) {
        const made = await writer.write('POST', '/api/v1/items', { name: `crossing ${i}` })
        const path = `/api/v1/items/${(made.json as Item).id}`
        for (const each of [writer, reader]) {
          const { text } = await each.get(path)
          if (text !== made.text) missing.push(`${path}: ${text}`)
        }
      }
    }),
  )
  t.strictSame(missing, [])
})
